"""A client-side rate limit: one token bucket per API group, for writes, watches and the lists of caches.

Live reads, Events and notes of our own go without a token (`Client.uncounted`): a decision that waits for its facts
decides on older ones, and what is told to people, or kept for later, must not hold up what is done.

A request waits for its token in the order of asking. One whose token would come after its deadline is refused at once:
it takes no token, so those behind it are not held up by a request that is never sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kubeloop.clock import monotonic
from kubeloop.errors import RateLimited
from kubeloop.request import Request


def group_of(path: str) -> str:
    """API group that a path is counted under: `core`, the name of a group, or the first segment with its slash."""
    match path.strip("/").split("/"):
        case ["api", *_]:
            return "core"
        case ["apis", group, *_]:
            return group
        case [first, *_]:
            return f"/{first}"
        case _:
            return "/"


class Bucket:
    """Tokens of one API group; below zero as many as requests are waiting."""

    def __init__(self, qps: float, burst: int) -> None:
        self.qps = qps
        self.burst = burst
        self.tokens = float(burst)
        self.filled = monotonic()

    def reserve(self, deadline: float) -> float | None:
        """Seconds until the token that is now taken may be used; None, with nothing taken, when past the deadline."""
        now = monotonic()
        self.tokens = min(float(self.burst), self.tokens + (now - self.filled) * self.qps)
        self.filled = now
        # With 2 tokens per second and -3 left, the next request needs 4 more: 2 seconds.
        wait = max(0.0, (1 - self.tokens) / self.qps)
        if now + wait > deadline:
            return None
        self.tokens -= 1
        return wait


class Limiter:
    """At most `qps` requests a second per API group, `burst` at once; no limit when either is zero or less.

    `count` hears the group of each refused request.
    """

    def __init__(self, qps: float, burst: int, count: Callable[[str], None] | None = None) -> None:
        self.qps = qps
        self.burst = burst
        self._count = count
        self._buckets: dict[str, Bucket] = {}

    async def take(self, request: Request, deadline: float) -> None:
        """Returns when the request may be sent; raises RateLimited when that would be after the deadline."""
        if self.qps <= 0 or self.burst <= 0:
            return
        group = group_of(request.path)
        if group not in self._buckets:
            self._buckets[group] = Bucket(self.qps, self.burst)
        wait = self._buckets[group].reserve(deadline)
        if wait is None:
            if self._count is not None:
                self._count(group)
            raise RateLimited(
                f"{request.doing}: not sent, the client-side limit of {self.qps:g} requests per second for API group"
                f" {group} leaves no room before the deadline"
            )
        if wait > 0:
            await asyncio.sleep(wait)
