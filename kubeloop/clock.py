"""The seam of time and chance: both are asked of the running event loop, so that a run can be virtual and repeated.

A loop with methods `wall` and `draw` (the embedded cluster's) says what time of day it is and seeds whatever is left to
chance, and with `is_virtual` whether its time is virtual; others run on the machine's clock and its chance.
"""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from functools import lru_cache


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


def chance(seed: int | None = None) -> random.Random:
    """A source of jitter; it spreads load and guards nothing."""
    if seed is None:
        try:
            seed = getattr(asyncio.get_running_loop(), "draw", lambda: None)()
        except RuntimeError:  # made before its loop runs
            seed = None
    return random.Random(seed)  # noqa: S311
