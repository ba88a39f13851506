"""Refusals of fields in the words of Kubernetes' own API: `spec.size: Invalid value: 0: must be greater than 0`."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

_SHORT = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"}
_ESCAPED = _SHORT | {'"': r"\"", "\\": r"\\"}


def invalid(path: str, value: object, detail: str) -> str:
    return f"{path}: Invalid value: {_shown(value)}: {detail}"


def required(path: str, detail: str = "") -> str:
    return f"{path}: Required value{f': {detail}' if detail else ''}"


def together(errors: Iterable[str]) -> str:
    """All of them as one text, each once; empty without any."""
    told = [*dict.fromkeys(errors)]
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]" if told else ""


def _shown(value: object) -> str:
    """As JSON that could stand in a page; text as Go quotes it."""
    if isinstance(value, str):
        return f'"{"".join(map(_character, value))}"'
    text = msgspec.json.encode(value).decode()
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _character(each: str) -> str:
    if each in _ESCAPED:
        return _ESCAPED[each]
    code = ord(each)
    if each.isprintable():
        return each
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
