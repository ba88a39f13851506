"""Pod names of StatefulSets: their natural order and their ordinals."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

NaturalKey: TypeAlias = tuple[tuple[str | tuple[int, str], ...], str]

NAMES_REMEMBERED = 1 << 15
"""The same names come back in every round; working them out anew was a third of a decision's cost."""

_DIGITS = re.compile(r"([0-9]+)")


@lru_cache(NAMES_REMEMBERED)
def natural_key(name: str) -> NaturalKey:
    """Sorts runs of digits as integers and all else as text: `x-2` before `x-10`.

    Digits are compared by length and then as text, which is their order as integers whatever their length. The name
    itself decides between `x-1` and `x-01`.
    """
    runs: list[str | tuple[int, str]] = [*_DIGITS.split(name)]  # text and digits take turns, text first
    for place in range(1, len(runs), 2):
        bare = str(runs[place]).lstrip("0")
        runs[place] = len(bare), bare
    return tuple(runs), name


@lru_cache(NAMES_REMEMBERED)
def ordinal_of(pod: str, owner: str) -> int | None:
    """The ordinal of a pod named `<owner>-<ordinal>`; None for any other name."""
    if len(pod) - len(owner) > 11 or not pod.startswith(owner + "-"):
        return None
    digits = pod[len(owner) + 1 :]
    if not (digits.isascii() and digits.isdigit()) or (digits[0] == "0" and digits != "0"):
        return None
    return int(digits)
