"""Where a process is asked how it is, over plain HTTP."""

from __future__ import annotations

from msgspec import Struct

EVERYWHERE = "::"
"""The host that stands for all interfaces of both families."""


class PlainPaths(Struct, frozen=True, kw_only=True):
    """Paths by what they answer; a contract may know several, or none."""

    ready: tuple[str, ...] = ("/ready",)
    alive: tuple[str, ...] = ("/livez",)
    """Answered as long as the process does anything at all."""
    metrics: tuple[str, ...] = ("/metrics",)
    serving: tuple[str, ...] = ()
    """Answered 200 while this replica answers what API servers ask, whoever leads and whatever the caches show."""
