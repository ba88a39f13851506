"""Values in CEL beyond those of JSON, and what holds between values: equality, order, the names of their types.

Numbers, text, lists and maps are those of Python; so are times (`datetime`, in UTC or with an offset) and lengths of
time (`timedelta`), to the microsecond.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct


class Failed(Exception):
    """An evaluation that came to no value; the text is the server's."""


class NoOverload(Exception):
    """A function was given what it is not made for."""


class Uint(int):
    """A number that is never negative."""


class Optional(Struct, frozen=True, eq=False):
    """A value or none."""

    value: Any = None
    is_set: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Optional) or self.is_set != other.is_set:
            return False
        return not self.is_set or equal(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]


NONE = Optional()


def optional(value: Any) -> Optional:
    return Optional(value, True)


class TypeName(Struct, frozen=True):
    """A type as a value."""

    name: str


class Opaque:
    """A value of a type that only its own functions look into."""

    type_name = ""


class Broken:
    """What is not of the type that its schema says; nothing comes of an expression that uses it."""

    def __init__(self, expected: str, found: str) -> None:
        self.why = f"invalid data, expected {expected}, got {found}"


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    datetime: "google.protobuf.Timestamp",
    timedelta: "google.protobuf.Duration",
    Optional: "optional_type",
    TypeName: "type",
}
_NUMBERS = (int, Uint, float)
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
_LONGEST_UINT = 2**64 - 1
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_DURATION = re.compile(r"([-+]?)((?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|[hms]))+")
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|[hms])")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def type_name(value: Any) -> str:
    return value.type_name if isinstance(value, Opaque) else _NAMES.get(type(value), "map")


def equal(left: Any, right: Any) -> bool:
    """Numbers of all kinds are compared with each other; all else must be of one type."""
    kind, other = type(left), type(right)
    if kind is other:
        if kind is list:
            return len(left) == len(right) and all(map(equal, left, right))
        if kind is dict:
            return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
        return bool(left == right)
    return kind in _NUMBERS and other in _NUMBERS and bool(left == right)


def compared(left: Any, right: Any) -> int:
    """Less, equal or more; raises NoOverload for what has no order."""
    kind, other = type(left), type(right)
    if (kind in _NUMBERS and other in _NUMBERS) or (kind is other and kind in _ORDERED):
        return int(left > right) - int(left < right)
    raise NoOverload


_ORDERED = (bool, str, bytes, datetime, timedelta)


def integer(value: int) -> int:
    if _SMALLEST <= value <= _LARGEST:
        return value
    raise Failed("integer overflow")


def unsigned(value: int) -> Uint:
    if 0 <= value <= _LONGEST_UINT:
        return Uint(value)
    raise Failed("unsigned integer overflow")


def moment(text: str) -> datetime:
    """A time of its text; raises Failed."""
    if _RFC3339.fullmatch(text):
        try:
            return datetime.fromisoformat(text.upper())
        except ValueError:
            pass
    raise Failed("type conversion error from 'string' to 'google.protobuf.Timestamp'")


def period(text: str) -> timedelta:
    """A length of time of its text; raises Failed."""
    if text.lstrip("+-") == "0":
        return timedelta()
    if not _DURATION.fullmatch(text):
        raise Failed("type conversion error from 'string' to 'google.protobuf.Duration'")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)


def date(text: str) -> datetime:
    """The beginning of a day; raises Failed."""
    return moment(f"{text}T00:00:00Z")


def number_text(value: float) -> str:
    """As the server prints a number with a fraction."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return re.sub(r"e([+-])(\d)$", r"e\g<1>0\2", repr(value))


def moment_text(value: datetime) -> str:
    text = value.strftime("%Y-%m-%dT%H:%M:%S")
    if value.microsecond:
        text += f".{value.microsecond:06d}".rstrip("0")
    offset = value.utcoffset() or timedelta()
    if not offset:
        return f"{text}Z"
    minutes = int(offset.total_seconds()) // 60
    return f"{text}{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def period_text(value: timedelta) -> str:
    return f"{number_text(value.total_seconds())}s"


def in_utc(seconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError):
        raise Failed("timestamp overflow") from None
