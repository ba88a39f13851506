"""Three grammars of durations, as the contracts write them: Go's, Prometheus', and one with words.

All count whole nanoseconds in 64 bits, so a text is accepted or refused here exactly where those programs accept or
refuse it. Seconds are handed out because everything of ours reckons in seconds.
"""

from __future__ import annotations

import re

NANOSECONDS = 1_000_000_000
"""In a second."""

_MOST = 2**63
_LONGEST_FRACTION = (_MOST - 1) // 10

_GO_UNITS = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,  # the micro sign
    "\u03bcs": 1_000,  # the Greek letter
    "ms": 1_000_000,
    "s": NANOSECONDS,
    "m": 60 * NANOSECONDS,
    "h": 3600 * NANOSECONDS,
}
_GO_TERM = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]*)")

_PROMETHEUS_UNITS = {
    "y": 365 * 86400 * NANOSECONDS,
    "w": 7 * 86400 * NANOSECONDS,
    "d": 86400 * NANOSECONDS,
    "h": 3600 * NANOSECONDS,
    "m": 60 * NANOSECONDS,
    "s": NANOSECONDS,
    "ms": 1_000_000,
}
_PROMETHEUS_TERM = re.compile(r"([0-9]+)([^0-9]+)")

_DAY = 86400 * NANOSECONDS
_HUMAN_UNITS = {
    **dict.fromkeys(("ns", "nsec"), 1),
    **dict.fromkeys(("us", "usec", "\u00b5s", "\u03bcs"), 1_000),
    **dict.fromkeys(("ms", "msec"), 1_000_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), NANOSECONDS),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60 * NANOSECONDS),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600 * NANOSECONDS),
    **dict.fromkeys(("d", "day", "days"), _DAY),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), 7 * _DAY),
    **dict.fromkeys(("M", "month", "months"), 2_630_016 * NANOSECONDS),  # 30.44 days
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), 31_557_600 * NANOSECONDS),  # 365.25 days
}
_HUMAN_TERM = re.compile(r"([0-9]+)\s*([^0-9\s.]+)\s*")


def parse_go(text: str) -> float:
    """Seconds of a Go duration: optional sign, then numbers with units `h m s ms us ns`, fractions allowed."""
    return go_nanoseconds(text) / NANOSECONDS


def go_nanoseconds(text: str) -> int:
    """Nanoseconds of a Go duration; ValueError says what is wrong with the text."""
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f'"{text}" is not a duration: write for example 90s, 5m or 1h30m')
    total = 0
    at = 0
    while at < len(rest):
        found = _GO_TERM.match(rest, at)
        assert found is not None, "the pattern matches anything"  # noqa: S101
        total += _go_term(found, text)
        _refuse_above(total, _MOST, text)
        at = found.end()
    if negative:
        return -total
    _refuse_above(total, _MOST - 1, text)
    return total


def _go_term(found: re.Match[str], text: str) -> int:
    whole, _, fraction, unit = found.groups()
    if not whole and not fraction:
        raise ValueError(f'"{text}" is not a duration: write for example 90s, 5m or 1h30m')
    if not unit:
        raise ValueError(f'the duration "{text}" has no unit: write a duration such as {text}s')
    size = _GO_UNITS.get(unit)
    if size is None:
        raise ValueError(f'the duration "{text}" has the unknown unit "{unit}": use h, m, s, ms, us or ns')
    value = _whole(whole, text)
    _refuse_above(value, _MOST // size, text)
    return value * size + _fraction_of(size, fraction or "")


def _fraction_of(unit: int, digits: str) -> int:
    """Nanoseconds of `0.digits` units; Go reckons this one product in floating point and cuts what is below 1 ns.

    Digits beyond what fits into 64 bits are ignored: 0.5h = 5 * (3.6e12 / 10) = 1.8e12 ns.
    """
    value, scale = 0, 1.0
    for digit in digits:
        if value > _LONGEST_FRACTION or value * 10 + int(digit) > _MOST:
            break
        value = value * 10 + int(digit)
        scale *= 10
    return int(float(value) * (unit / scale))


def parse_prometheus(text: str) -> float:
    """Seconds of a Prometheus duration: whole numbers with units `y w d h m s ms`, largest first, each at most once."""
    return prometheus_nanoseconds(text) / NANOSECONDS


def prometheus_nanoseconds(text: str) -> int:
    """Nanoseconds of a Prometheus duration; ValueError says what is wrong with the text."""
    if text == "0":
        return 0
    total = 0
    at = 0
    order = list(_PROMETHEUS_UNITS)
    while at < len(text) or not text:
        found = _PROMETHEUS_TERM.match(text, at)
        if found is None and text.isdecimal():
            raise ValueError(f'the duration "{text}" has no unit: write a duration such as {text}s')
        if found is None:
            raise ValueError(f'"{text}" is not a duration: write for example 30s, 1h or 1d12h')
        value, unit = _whole(found[1], text), found[2]
        if unit not in _PROMETHEUS_UNITS:
            raise ValueError(f'the duration "{text}" has the unknown unit "{unit}": use y, w, d, h, m, s or ms')
        if unit not in order:
            raise ValueError(f'the duration "{text}" has its units out of order: write y, w, d, h, m, s, ms, each once')
        order = order[order.index(unit) + 1 :]
        total += value * _PROMETHEUS_UNITS[unit]
        _refuse_above(total, _MOST - 1, text)
        at = found.end()
    return total


def parse_human(text: str) -> float:
    """Seconds of whole numbers with units, with or without spaces: `90m`, `1h 30m`, `2 days`; or of a Go duration."""
    rest = text.strip()
    if not rest or not _HUMAN_TERM.match(rest):
        return parse_go(rest)
    total = 0
    at = 0
    while at < len(rest):
        found = _HUMAN_TERM.match(rest, at)
        if found is None or found[2] not in _HUMAN_UNITS:
            return parse_go(rest)  # which also says what is wrong with it
        total += _whole(found[1], text) * _HUMAN_UNITS[found[2]]
        _refuse_above(total, _MOST - 1, text)
        at = found.end()
    return total / NANOSECONDS


def _whole(digits: str, text: str) -> int:
    """The number; refused by its length first, because Python does not convert thousands of digits."""
    significant = digits.lstrip("0")
    _refuse_above(len(significant), len(str(_MOST)), text)
    return int(significant or "0")


def _refuse_above(value: int, most: int, text: str) -> None:
    if value > most:
        raise ValueError(f'the duration "{text}" is too long: at most about 292 years')


def format_go(seconds: float) -> str:
    """As Go prints it: `0s`, `1.5s`, `100ms`, `5m0s`, `1h0m0s`."""
    total = round(seconds * NANOSECONDS)
    if total == 0:
        return "0s"
    sign, total = ("-", -total) if total < 0 else ("", total)
    if total < NANOSECONDS:
        unit = next(unit for unit in ("ms", "\u00b5s", "ns") if total >= _GO_UNITS[unit])
        return f"{sign}{_decimal(total, _GO_UNITS[unit])}{unit}"
    minutes, rest = divmod(total, _GO_UNITS["m"])
    text = f"{_decimal(rest, NANOSECONDS)}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{minutes}m{text}"
        text = f"{hours}h{text}" if hours else text
    return sign + text


def _decimal(value: int, unit: int) -> str:
    """`value / unit` without trailing zeros; unit is a power of ten."""
    whole, part = divmod(value, unit)
    digits = str(part).rjust(len(str(unit)) - 1, "0").rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)
