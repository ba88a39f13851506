"""What commands print: a result in the wanted form on standard output, and complaints on standard error."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import yaml

from fairlead.contracts.apiversions.commands import codes
from fairlead.core.printable import printable


def show(result: Any, form: str, text: str) -> None:
    """The result as `json` or `yaml`, or what people are told instead."""
    if form == "json":
        print(msgspec.json.format(msgspec.json.encode(msgspec.to_builtins(result, str_keys=True)), indent=2).decode())
    elif form == "yaml":
        print(yaml.safe_dump(msgspec.to_builtins(result, str_keys=True), sort_keys=False, allow_unicode=True), end="")
    elif text:
        print(printable(text))


def complain(text: str, code: int = codes.ERROR) -> int:
    print(f"fairlead: {printable(text)}", file=sys.stderr)
    return code
