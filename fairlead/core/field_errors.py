"""Refusals of fields in the words of Kubernetes' own API: `spec.size: Invalid value: 0: must be greater than 0`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from kubeloop.go_json import go_json

_SHORT = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"}
_ESCAPED = _SHORT | {'"': r"\"", "\\": r"\\"}


class Encoded(Struct, frozen=True):
    """A value that is shown as JSON also where it is text, as Go shows those that encode themselves."""

    value: object


def invalid(path: str, value: object, detail: str) -> str:
    return f"{path}: Invalid value: {_shown(value)}: {detail}"


def required(path: str, detail: str = "") -> str:
    return f"{path}: Required value{f': {detail}' if detail else ''}"


def forbidden(path: str, detail: str) -> str:
    return f"{path}: Forbidden: {detail}"


def unsupported(path: str, value: object, supported: Iterable[str]) -> str:
    return f"{path}: Unsupported value: {_shown(value)}: supported values: {', '.join(map(_shown, supported))}"


def together(errors: Iterable[str]) -> str:
    """All of them as one text, each once; empty without any."""
    told = [*dict.fromkeys(errors)]
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]" if told else ""


def _shown(value: object) -> str:
    """As Go prints it: text quoted, and everything else as JSON."""
    if isinstance(value, str):
        return f'"{"".join(map(_character, value))}"'
    return go_json(value.value if isinstance(value, Encoded) else value).decode()


def _character(each: str) -> str:
    if each in _ESCAPED:
        return _ESCAPED[each]
    code = ord(each)
    if each.isprintable():
        return each
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
