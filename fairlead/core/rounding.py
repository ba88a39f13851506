"""Shares of a whole in integers, with the direction of rounding stated by the caller."""

from __future__ import annotations

from enum import Enum


class Rounding(Enum):
    DOWN = "down"
    UP = "up"


def scaled(percent: int, of: int, rounding: Rounding) -> int:
    """`percent` of `of`: 25 % of 10 is 2 rounded down and 3 rounded up."""
    share = percent * of
    return -(-share // 100) if rounding is Rounding.UP else share // 100
