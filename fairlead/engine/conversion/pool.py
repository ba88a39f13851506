"""A few processes that convert large reviews, each one at a time, by rules that are given as data.

A review goes to a process that has converted before, where one is free: those that are not needed end by themselves.
"""

from __future__ import annotations

import asyncio

from fairlead.engine.conversion.review import ConversionAnswer, Manner
from fairlead.engine.conversion.worker import RuleData, Worker


class Pool:
    """So many processes at most; a review gets `seconds`."""

    def __init__(self, most: int, manner: Manner, seconds: float) -> None:
        self._free = [Worker(manner=manner, seconds=seconds) for _ in range(most)]
        self._all = tuple(self._free)
        self._turns = asyncio.Semaphore(most)

    def by(self, rules: RuleData) -> Bound:
        return Bound(self, rules)

    async def convert(self, body: bytes, rules: RuleData) -> ConversionAnswer:
        """Raises as Worker does; waits its turn for as long as the caller lets it."""
        async with self._turns:
            worker = self._free.pop()
            try:
                return await worker.convert(body, rules)
            finally:
                self._free.append(worker)

    async def close(self) -> None:
        await asyncio.gather(*(worker.close() for worker in self._all))


class Bound:
    """The processes, with one set of rules."""

    def __init__(self, pool: Pool, rules: RuleData) -> None:
        self._pool = pool
        self._rules = rules

    async def convert(self, body: bytes) -> ConversionAnswer:
        return await self._pool.convert(body, self._rules)
