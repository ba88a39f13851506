"""Numbers as Go spells them, so that a series has the same labels as the contract's program gives it."""

from __future__ import annotations

import math
import re
from decimal import Decimal

_BOUND = re.compile(r'(?<=[{,])le="([^"]*)"')
_PLAIN_UP_TO = 6
"""Digits before the point from which on Go writes an exponent."""


def go_float(number: float) -> str:
    """The shortest spelling that means the number: 1 is `1`, 0.005 is `0.005`, a million is `1e+06`."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign, digits, scale = Decimal(repr(float(number))).normalize().as_tuple()
    if not isinstance(scale, int):
        raise TypeError(f"{number} is no number")
    minus, text = "-" * sign, "".join(map(str, digits))
    exponent = len(text) - 1 + scale
    if exponent < -4 or exponent >= _PLAIN_UP_TO:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        return f"{minus}{text[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if scale >= 0:
        return f"{minus}{text}{'0' * scale}" if text != "0" else f"{minus}0"
    whole, part = text[:scale] or "0", text[scale:].rjust(-scale, "0")
    return f"{minus}{whole}.{part}"


def with_go_bounds(exposition: str) -> str:
    """A page of metrics whose histograms have their bounds spelled so."""
    return _BOUND.sub(lambda found: f'le="{go_float(float(found[1]))}"', exposition)
