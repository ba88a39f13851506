"""Functions of text that the server adds to CEL: strings, patterns, formats of names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from msgspec import Struct

from kubeloop.schemas.patterns import BadPattern, Pattern, compiled
from kubesim.cel.types import Library
from kubesim.cel.values import (
    NONE,
    Failed,
    Opaque,
    Optional,
    TypeName,
    equal,
    moment_text,
    number_text,
    optional,
    period_text,
    type_name,
)
from kubesim.schema.formats import fits_format
from kubesim.schema.values import label, label_value, qualified, subdomain

# Strings


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise Failed(f"index out of range: {at}")
    return text[at : at + 1]


def _index_of(value: Any, part: Any, start: int = 0) -> int:
    if isinstance(value, list):
        return next((index for index, each in enumerate(value) if equal(each, part)), -1)
    if start < 0:
        raise Failed(f"index out of range: {start}")
    return int(value.find(part, start))


def _last_index_of(value: Any, part: Any, end: int | None = None) -> int:
    if isinstance(value, list):
        found = [index for index, each in enumerate(value) if equal(each, part)]
        return found[-1] if found else -1
    if end is not None and end < 0:
        raise Failed(f"index out of range: {end}")
    if end is not None and end >= len(value):
        return -1
    return int(value.rfind(part) if end is None else value.rfind(part, 0, end + len(part)))


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if start > end:
        if end == len(text):
            raise Failed(f"index out of range: {start}")
        raise Failed(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise Failed(f"index out of range: {index}")
    return text[start:end]


def _split(text: str, by: str, most: int = -1) -> list[str]:
    if not most:
        return []
    if not by:
        return list(text) if most < 0 else [*text[: most - 1], text[most - 1 :]]
    return text.split(by, most - 1 if most > 0 else -1)


def _join(items: list[Any], by: str = "") -> str:
    if not all(isinstance(each, str) for each in items):
        raise Failed("no such overload: join(list, string)")
    return by.join(items)


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    return text.replace(old, new, most)


def _ascii(text: str, change: Callable[[str], str]) -> str:
    return "".join(change(sign) if sign.isascii() else sign for sign in text)


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_CLAUSE = re.compile(r"%(%|(?:\.(\d+))?([sdfebxXo]))?")


def _format(text: str, args: list[Any]) -> str:
    """As `printf` does, with what CEL has to show."""
    made: list[str] = []
    last = used = 0
    for found in _CLAUSE.finditer(text):
        made.append(text[last : found.start()])
        last = found.end()
        if found[1] == "%":
            made.append("%")
            continue
        if found[3] is None:
            sign = text[last : last + 1]
            raise Failed(f'could not parse formatting clause: unrecognized formatting clause "{sign}"')
        if used >= len(args):
            raise Failed(f"index {used} out of range")
        made.append(_formatted(args[used], found[3], int(found[2]) if found[2] else 6))
        used += 1
    return "".join(made) + text[last:]


def _formatted(value: Any, clause: str, places: int) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    match clause:
        case "s":
            return _plain(value)
        case "d" if whole:
            return str(int(value))
        case "f" if whole or isinstance(value, float):
            return f"{float(value):,.{places}f}"
        case "e" if whole or isinstance(value, float):
            number, _, power = f"{float(value):.6e}".partition("e")
            return f"{number}\u00d710{power.removeprefix('+').translate(_RAISED)}"
        case "b" if whole or isinstance(value, bool):
            return f"{int(value):b}"
        case "o" if whole:
            return f"{value:o}"
        case "x" | "X" if whole:
            return f"{value:{clause}}"
        case "x" | "X" if isinstance(value, str | bytes):
            made = (value.encode() if isinstance(value, str) else value).hex()
            return made if clause == "x" else made.upper()
        case _:
            raise Failed(f"error during formatting: no formatting function for {type_name(value)}")


def _plain(value: Any) -> str:
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return number_text(value)
        case int():
            return str(int(value))
        case bytes():
            return value.decode(errors="replace")
        case datetime():
            return moment_text(value)
        case timedelta():
            return period_text(value)
        case TypeName():
            return value.name
        case list():
            return f"[{', '.join(map(_inside, value))}]"
        case dict():
            return f"{{{', '.join(sorted(f'{_inside(key)}:{_inside(item)}' for key, item in value.items()))}}}"
        case _:
            raise Failed(f"error during formatting: no formatting function for {type_name(value)}")


def _inside(value: Any) -> str:
    """A value as part of another one."""
    match value:
        case str() | bytes():
            return json.dumps(_plain(value), ensure_ascii=False)
        case datetime():
            return f'timestamp("{_plain(value)}")'
        case timedelta():
            return f'duration("{_plain(value)}")'
        case _:
            return _plain(value)


# Patterns


def _compiled(pattern: str) -> Pattern:
    try:
        return compiled(pattern)
    except BadPattern as error:
        raise Failed(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    return _compiled(pattern).first(text) or ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    return list(islice(_compiled(pattern).every(text), None if most < 0 else most))


# Formats of names


class Format(Opaque, Struct, frozen=True):
    """What a name must look like; `troubles` says what is wrong with one."""

    name: str
    troubles: Callable[[str], Sequence[str]]
    type_name = "kubernetes.NamedFormat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


_OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_OLD_LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_OLD_LABEL}')"
)
_LABEL_LENGTH = 63


def old_label(value: str) -> list[str]:
    """What is wrong with a name that begins with a letter."""
    longer = [f"must be no more than {_LABEL_LENGTH} characters"] if len(value.encode()) > _LABEL_LENGTH else []
    return longer + ([] if re.fullmatch(_OLD_LABEL, value) else [_OLD_LABEL_TEXT])


def _prefix(troubles: Callable[[str], Sequence[str]]) -> Callable[[str], Sequence[str]]:
    """The same for the beginning of a name, which may end with a hyphen."""
    return lambda text: troubles(text[:-1] + "a" if text.endswith("-") and len(text) > 1 else text)


def _like(name: str, text: str) -> Callable[[str], list[str]]:
    return lambda value: [] if fits_format(value, name) else [text]


def _uri(text: str) -> list[str]:
    return [] if fits_format(text, "uri") else [f"parse {json.dumps(text)}: invalid URI for request"]


_FORMATS = {
    each.name: each
    for each in (
        Format("dns1123Label", label),
        Format("dns1123Subdomain", subdomain),
        Format("dns1035Label", old_label),
        Format("qualifiedName", qualified),
        Format("dns1123LabelPrefix", _prefix(label)),
        Format("dns1123SubdomainPrefix", _prefix(subdomain)),
        Format("dns1035LabelPrefix", _prefix(old_label)),
        Format("labelValue", label_value),
        Format("uri", _uri),
        Format("uuid", _like("uuid", "does not match the UUID format")),
        Format("byte", _like("byte", "invalid base64")),
        Format("date", _like("date", "invalid date")),
        Format("datetime", _like("datetime", "invalid datetime")),
    )
}


def _validate(wanted: Format, text: str) -> Optional:
    found = wanted.troubles(text)
    return optional(list(found)) if found else NONE


_FIXED = """
string:charAt(int) -> string
string:indexOf(string) -> int
string:indexOf(string, int) -> int
string:lastIndexOf(string) -> int
string:lastIndexOf(string, int) -> int
string:lowerAscii() -> string
string:upperAscii() -> string
string:replace(string, string) -> string
string:replace(string, string, int) -> string
string:split(string) -> list(string)
string:split(string, int) -> list(string)
string:substring(int) -> string
string:substring(int, int) -> string
string:trim() -> string
string:format(list(dyn)) -> string
strings.quote(string) -> string
list(string):join() -> string
list(string):join(string) -> string
string:find(string) -> string
string:findAll(string) -> list(string)
string:findAll(string, int) -> list(string)
kubernetes.NamedFormat:validate(string) -> optional_type(list(string))
format.named(string) -> optional_type(kubernetes.NamedFormat)
"""
_DECLARED = (
    *_FIXED.splitlines(),
    *(f"format.{name}() -> kubernetes.NamedFormat" for name in _FORMATS),
)

STRINGS = Library(
    _DECLARED,
    {
        "charAt": _char_at,
        "indexOf": _index_of,
        "lastIndexOf": _last_index_of,
        "lowerAscii": lambda text: _ascii(text, str.lower),
        "upperAscii": lambda text: _ascii(text, str.upper),
        "replace": _replace,
        "split": _split,
        "substring": _substring,
        "trim": str.strip,
        "format": _format,
        "strings.quote": lambda text: json.dumps(text, ensure_ascii=False),
        "join": _join,
        "find": _find,
        "findAll": _find_all,
        "validate": _validate,
        "format.named": lambda name: optional(_FORMATS[name]) if name in _FORMATS else NONE,
        **{f"format.{name}": lambda each=each: each for name, each in _FORMATS.items()},
    },
)
