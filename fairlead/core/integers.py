"""The integers of the contracts: ASCII digits with an optional sign, and nothing else."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[+-]?[0-9]+")
_LONGEST_TEXT = 4000
"""Python refuses to convert longer runs of digits; any such number is out of range unless it is all leading zeros."""


def parse_integer(text: str, bits: int = 64) -> int:
    """The integer that fits into so many bits, signed; ValueError for spaces, underscores, other digits or overflow."""
    if not _INTEGER.fullmatch(text):
        raise ValueError(f'"{text}" is not a whole number')
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").lstrip("0") or "0"
    value = sign * int(digits) if len(digits) < _LONGEST_TEXT else None
    if value is None or not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise ValueError(f'"{text}" is too large: a number of {bits} bits is needed')
    return value
