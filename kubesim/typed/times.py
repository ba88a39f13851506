"""Times as the server reads and writes them: RFC 3339, to the second or to the microsecond, always in UTC.

A text that is no time is refused in the words of Go's parser, which names the part that it stumbled over.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

from kubesim.errors import quoted

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_ZERO = "0001-01-01T00:00:00Z"
_FIRST = datetime(1, 1, 1)  # noqa: DTZ001  all times here are in UTC
_plain = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z").fullmatch
_digits = re.compile(r"[0-9]*").match
_MICROS = 6
_REMEMBERED = 4096
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# What stands before each part in the layout, the part, the least and most digits, the largest value, and its name.
_PARTS = (
    ("", "2006", 4, 4, 9999, "year"),
    ("-", "01", 2, 2, 12, "month"),
    ("-", "02", 2, 2, 99, "day"),
    ("T", "15", 1, 2, 23, "hour"),
    (":", "04", 2, 2, 59, "minute"),
    (":", "05", 2, 2, 59, "second"),
)


@lru_cache(_REMEMBERED)
def seconds(text: str) -> str | None:
    """A time to the second; None for the zero time, which the server writes as null. ValueError says what is wrong."""
    if _plain(text):
        try:
            datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            return None if text == _ZERO else text
    moment, _ = _Parser(text, _LAYOUT).parsed()
    return None if moment == _FIRST else f"{_date(moment)}Z"


def micros(text: str) -> str | None:
    """A time to the microsecond."""
    moment, fraction = _Parser(text, _MICRO_LAYOUT).parsed()
    return None if moment == _FIRST and not int(fraction) else f"{_date(moment)}.{fraction}Z"


def _date(moment: datetime) -> str:
    return f"{moment.year:04}-{moment.month:02}-{moment.day:02}T{moment.hour:02}:{moment.minute:02}:{moment.second:02}"


def _leading(text: str) -> str:
    """The digits that a text begins with."""
    found = _digits(text)
    return found[0] if found else ""


class _Parser:
    """Reads a time part by part."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.rest = text
        self.layout = layout

    def parsed(self) -> tuple[datetime, str]:
        """The moment in UTC, and the digits of its fraction."""
        year, month, day, hour, minute, second = (self._part(*part) for part in _PARTS)
        fraction = self._micros() if self.layout == _MICRO_LAYOUT else self._fraction()
        offset = self._offset()
        if self.rest:
            raise self._refused(f": extra text: {quoted(self.rest)}")
        leap = month == 2 and not year % 4 and (bool(year % 100) or not year % 400)
        if not 1 <= day <= _DAYS[month - 1] + leap:
            raise self._refused(": day out of range")
        try:
            return datetime(year, month, day, hour, minute, second) - offset, fraction  # noqa: DTZ001
        except (ValueError, OverflowError):  # a year that no clock here knows
            raise self._refused(": year out of range") from None

    def _part(self, before: str, part: str, least: int, most: int, largest: int, name: str) -> int:
        if before and not self.rest.startswith(before):
            raise self._unfit(before)
        self.rest = self.rest[len(before) :]
        digits = _leading(self.rest[:most])
        if len(digits) < least:
            raise self._unfit(part)
        number = int(digits)
        self.rest = self.rest[len(digits) :]
        if number > largest or (name == "month" and not number):
            raise self._refused(f": {name} out of range")
        return number

    def _fraction(self) -> str:
        """Skips a fraction of a second, which the layout does not mention."""
        digits = _leading(self.rest[1:])
        if self.rest[:1] in (".", ",") and digits:
            self.rest = self.rest[1 + len(digits) :]
        return ""

    def _micros(self) -> str:
        digits = _leading(self.rest[1 : 1 + _MICROS])
        if self.rest[:1] not in (".", ",") or len(digits) < _MICROS:
            raise self._unfit(".000000")
        self.rest = self.rest[1 + _MICROS :]
        return digits

    def _offset(self) -> timedelta:
        if self.rest[:1] == "Z":
            self.rest = self.rest[1:]
            return timedelta()
        part = self.rest[:6]
        hours, minutes = part[1:3], part[4:6]
        if part[:1] not in ("+", "-") or part[3:4] != ":" or len(_leading(hours) + _leading(minutes)) < 4:
            raise self._unfit("Z07:00")
        for name, number, most in (("hour", int(hours), 24), ("minute", int(minutes), 60)):
            if number > most:
                raise self._refused(f": time zone offset {name} out of range")
        self.rest = self.rest[6:]
        found = timedelta(hours=int(hours), minutes=int(minutes))
        return -found if part[0] == "-" else found

    def _unfit(self, part: str) -> ValueError:
        return self._refused(f" as {quoted(self.layout)}: cannot parse {quoted(self.rest)} as {quoted(part)}")

    def _refused(self, why: str) -> ValueError:
        return ValueError(f"parsing time {quoted(self.text)}{why}")
