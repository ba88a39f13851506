"""The seam of time and chance: both are asked of the running event loop, so that a run can be virtual and repeated.

A loop with methods `wall` and `draw` (the embedded cluster's) says what time of day it is and seeds whatever is left to
chance, and with `is_virtual` whether its time is virtual; others run on the machine's clock and its chance.
"""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from functools import lru_cache

SLEWED = timedelta(seconds=1)
"""By which the time of day may gain or lose on the loop's time without having been set."""


def now() -> datetime:
    """Time of day, aware and in UTC."""
    wall = getattr(asyncio.get_running_loop(), "wall", None)
    return wall() if wall is not None else datetime.now(UTC)


def is_virtual() -> bool:
    """Whether time passes only when nothing is left to do: hours take as long as what wakes up in them."""
    return bool(getattr(asyncio.get_running_loop(), "is_virtual", False))


@lru_cache(maxsize=64)
def seconds(moment: datetime) -> str:
    """A time of day in UTC as metadata carries it, in whole seconds."""
    return f"{moment.isoformat()[:19]}Z"


def monotonic() -> float:
    """Seconds that only grow; differences are meaningful, the value is not."""
    return asyncio.get_running_loop().time()


class Moment:
    """When something happened, remembered so that it stays true when the time of day is set afterwards."""

    __slots__ = ("_loop", "_wall")

    def __init__(self, wall: datetime | None = None) -> None:
        """Now, or a time of day of a little while ago."""
        present = now()
        self._wall = present if wall is None else wall
        self._loop = monotonic() - (present - self._wall).total_seconds()

    @property
    def at(self) -> datetime:
        """By the time of day as it is now; of a clock that was ahead by a day and is set right, a day earlier."""
        counted = now() - timedelta(seconds=monotonic() - self._loop)
        return self._wall if abs(counted - self._wall) < SLEWED else counted

    def __repr__(self) -> str:
        return f"Moment({self._wall.isoformat()})"


def chance(seed: int | None = None) -> random.Random:
    """A source of jitter; it spreads load and guards nothing."""
    if seed is None:
        try:
            seed = getattr(asyncio.get_running_loop(), "draw", lambda: None)()
        except RuntimeError:  # made before its loop runs
            seed = None
    return random.Random(seed)  # noqa: S311
