"""Several leases held at once: whoever acts holds all of them, so no operator that knows one of them acts beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from kubeloop.election import Election


class Leadership(Protocol):
    """What rounds need to know of leases."""

    @property
    def write_timeout(self) -> float:
        """Seconds within which every write must be given up."""

    @property
    def problem(self) -> str:
        """Why leadership cannot even be asked for, for a while already; empty when it can, be it that another leads."""

    @property
    def led_until(self) -> float:
        """Loop time until which another process was seen to lead; before all time where none was."""

    def gate(self) -> None:
        """Raises NotLeader unless writing is permitted at this moment."""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Waits for leadership and runs `lead` while it lasts; raises LostLease when it ends before `lead` does."""


class Elections:
    """Leases taken one after the other, always in the same order, and given back when one of them is lost.

    Whoever waits for the first looks at the others meanwhile, so that all leases of a process that died run out
    together, and not one after the other.
    """

    def __init__(self, elections: Sequence[Election]) -> None:
        if not elections:
            raise ValueError("leadership needs a lease")
        self._elections = tuple(elections)

    @property
    def write_timeout(self) -> float:
        return min(election.write_timeout for election in self._elections)

    @property
    def problem(self) -> str:
        return next(filter(None, (election.problem for election in self._elections)), "")

    @property
    def led_until(self) -> float:
        return max(election.led_until for election in self._elections)

    def gate(self) -> None:
        for election in self._elections:
            election.gate()

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        await _run(self._elections, lead)


async def _run(elections: tuple[Election, ...], lead: Callable[[], Awaitable[None]]) -> None:
    first, *rest = elections
    if not rest:
        await first.run(lead)
        return
    looking = [asyncio.create_task(each.look()) for each in rest]

    async def holding() -> None:
        await _ended(looking)
        await _run(tuple(rest), lead)

    try:
        await first.run(holding)
    finally:
        await _ended(looking)


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
