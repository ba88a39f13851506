"""Conversions of values in CEL from one type to another, and the parts of times."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kubesim.cel.values import (
    Failed,
    NoOverload,
    Uint,
    in_utc,
    integer,
    moment,
    moment_text,
    number_text,
    period,
    period_text,
    type_name,
    unsigned,
)

PARTS = (
    "getFullYear",
    "getMonth",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getHours",
    "getMinutes",
    "getSeconds",
    "getMilliseconds",
)


def _unconvertible(kind: str) -> Failed:
    return Failed(f"type conversion error from 'string' to '{kind}'")


def to_int(value: Any) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp() // 1)
    if isinstance(value, timedelta):
        return (value.days * 86_400 + value.seconds) * 1_000_000_000 + value.microseconds * 1_000
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?\d+", value):
            raise _unconvertible("int")
        return integer(int(value))
    if type(value) is float:
        if value != value or not abs(value) < 2**63:
            raise Failed("integer overflow")
        return int(value)
    if type(value) in (int, Uint):
        return integer(int(value))
    raise NoOverload


def to_uint(value: Any) -> Uint:
    if isinstance(value, str):
        if not re.fullmatch(r"\d+", value):
            raise _unconvertible("uint")
        return unsigned(int(value))
    if type(value) in (int, Uint, float):
        return unsigned(int(value))
    raise NoOverload


def to_double(value: Any) -> float:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise _unconvertible("double") from None
    if type(value) in (int, Uint, float):
        return float(value)
    raise NoOverload


def to_string(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return number_text(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise Failed("invalid UTF-8 in bytes, cannot convert to string") from None
        case datetime():
            return moment_text(value)
        case timedelta():
            return period_text(value)
        case _ if type_name(value) in ("net.IP", "net.CIDR"):
            return str(value)
        case _:
            raise NoOverload


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value in ("true", "True", "TRUE", "t", "1"):
            return True
        if value in ("false", "False", "FALSE", "f", "0"):
            return False
        raise _unconvertible("bool")
    raise NoOverload


def to_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise NoOverload


def to_timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        return moment(value)
    if type(value) is int:
        return in_utc(value)
    raise NoOverload


def to_duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        return period(value)
    if type(value) is int:
        return timedelta(microseconds=value // 1_000)
    raise NoOverload


# Times


def _zoned(value: datetime, zone: str) -> datetime:
    if not zone:
        return value.astimezone(UTC)
    found = re.fullmatch(r"([+-]?)(\d\d):(\d\d)", zone)
    if found:
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return value.astimezone(timezone(-offset if found[1] == "-" else offset))
    try:
        return value.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):
        raise Failed(f"unknown time zone {zone}") from None


_OF_MOMENT: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDate": lambda at: at.day,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
    "getMilliseconds": lambda at: at.microsecond // 1000,
}
_OF_PERIOD = {"getHours": 3600, "getMinutes": 60, "getSeconds": 1}


def part_of(name: str) -> Callable[..., int]:
    of_moment, seconds = _OF_MOMENT[name], _OF_PERIOD.get(name)

    def part(value: Any, zone: Any = "") -> int:
        if isinstance(value, datetime) and isinstance(zone, str):
            return of_moment(_zoned(value, zone))
        if isinstance(value, timedelta):
            return int(value.total_seconds() / seconds) if seconds else int(value / timedelta(milliseconds=1))
        raise NoOverload

    return part
