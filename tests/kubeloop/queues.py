"""Queues in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kubeloop import clock
from kubeloop.queue import Queue
from kubesim.time import run


def play(scenario: Callable[[], Awaitable[None]], seed: int = 0) -> None:
    async def whole() -> None:
        await scenario()

    run(whole(), seed=seed, steps=100_000)


async def drain(queue: Queue[str]) -> list[str]:
    """Everything that is ready now, worked off."""
    served = []
    while len(queue):
        served.append(await queue.get())
        queue.done(served[-1])
    return served


async def times(queue: Queue[str], count: int) -> list[float]:
    """When the next keys are given out."""
    given = []
    for _ in range(count):
        key = await queue.get()
        given.append(clock.monotonic())
        queue.done(key)
    return given


async def is_idle(queue: Queue[str]) -> bool:
    """Whether nothing at all comes out, however long one waits."""
    try:
        async with asyncio.timeout(3600):
            await queue.get()
    except TimeoutError:
        return True
    return False
