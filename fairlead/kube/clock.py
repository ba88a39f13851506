"""The clock seam: all time is asked of the running event loop, so that it can be virtual.

A loop with a method `wall` (the embedded cluster's) says what time of day it is; others run on the machine's clock.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime


def now() -> datetime:
    """Time of day, aware and in UTC."""
    wall = getattr(asyncio.get_running_loop(), "wall", None)
    return wall() if wall is not None else datetime.now(UTC)


def monotonic() -> float:
    """Seconds that only grow; differences are meaningful, the value is not."""
    return asyncio.get_running_loop().time()
