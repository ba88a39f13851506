"""What commands print: the result on standard output, sentences about trouble on standard error."""

from __future__ import annotations

import sys
from typing import Any

import msgspec


def show(result: Any, output: str, text: str) -> None:
    """The result as `-o` wants it; `text` is for people."""
    if output == "text":
        print(text, end="\n" if text else "")
        return
    plain = msgspec.to_builtins(result, str_keys=True)
    if output == "json":
        print(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())
        return
    import yaml  # noqa: PLC0415  (other forms do without it)

    print(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), end="")


def complain(text: str) -> None:
    print(f"fairlead: {text}", file=sys.stderr)
