"""Turns: what must not be judged at once is judged one after another in this process, in the order of coming.

Nothing rests on it but fairness: what two replicas do at once, compare-and-swap decides. Without it a storm of reviews
about one record would be decided by who is fastest, again and again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TooLong(Exception):
    """The turn did not come in time."""


class Turns:
    """Belongs to one process; names live as long as somebody has or awaits their turn."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._users: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def of(self, name: str, until: float) -> AsyncIterator[None]:
        """Open while it is the caller's turn; an empty name is nobody else's. `until` is the loop's time."""
        if not name:
            yield
            return
        lock = self._locks.setdefault(name, asyncio.Lock())
        self._users[name] = self._users.get(name, 0) + 1
        try:
            try:
                async with asyncio.timeout_at(until):
                    await lock.acquire()
            except TimeoutError:
                raise TooLong(name) from None
            try:
                yield
            finally:
                lock.release()
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name], self._locks[name]
