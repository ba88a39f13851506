"""Schedules of five fields and the names of time zones: which of them can be read, and why others cannot."""

from __future__ import annotations

import re
import zoneinfo

_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTHS = dict(zip(_MONTH_NAMES.split(), range(1, 13), strict=True))
_DAYS = dict(zip(["sun", "mon", "tue", "wed", "thu", "fri", "sat"], range(7), strict=True))
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_WORDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_DURATION = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


class _Unreadable(Exception):
    """A schedule that cannot be read, and why."""


def unreadable(schedule: str) -> str:
    """Why a schedule cannot be read; empty when it can."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    if schedule.startswith("@"):
        return _unknown_word(schedule)
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]"
    try:
        for text, field in zip(fields, _FIELDS, strict=True):
            for part in text.split(","):
                _read(part, *field)
    except _Unreadable as why:
        return str(why)
    return ""


def _unknown_word(schedule: str) -> str:
    if schedule in _WORDS:
        return ""
    if schedule.startswith("@every "):
        length = schedule.removeprefix("@every ")
        if re.fullmatch(f"({_DURATION.pattern})+", length):
            return ""
        return f'failed to parse duration {schedule}: time: invalid duration "{length}"'
    return f"unrecognized descriptor: {schedule}"


def _read(text: str, least: int, most: int, names: dict[str, int]) -> None:
    """Reads a number, a range or all, with a step or without."""
    span, *steps = text.split("/")
    ends = span.split("-")
    if ends[0] in ("*", "?"):
        start, end = least, most
    else:
        start = _number(ends[0], names)
        if len(ends) > 2:
            raise _Unreadable(f"too many hyphens: {text}")
        end = _number(ends[1], names) if len(ends) > 1 else start
    if len(steps) > 1:
        raise _Unreadable(f"too many slashes: {text}")
    step = _number(steps[0], {}) if steps else 1
    if steps and len(ends) == 1:
        end = most
    if start < least:
        raise _Unreadable(f"beginning of range ({start}) below minimum ({least}): {text}")
    if end > most:
        raise _Unreadable(f"end of range ({end}) above maximum ({most}): {text}")
    if start > end:
        raise _Unreadable(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if not step:
        raise _Unreadable(f"step of range should be a positive number: {text}")


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[-+]?[0-9]+", text):
        raise _Unreadable(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) < 0:
        raise _Unreadable(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)


def is_zone(name: str) -> bool:
    """Whether there is such a time zone."""
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
