"""Operators that die at their writes, one write a life."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import partial

from kubeloop.request import Request, Response, Stream, Transport
from tests.e2e.plan_play import Play

MOST_LIVES = 80
BESIDE = ("leases", "events")
"""What is written beside passes."""


class Mortal:
    """A transport whose process dies at a write: the answer to the first is lost, or the second is never sent."""

    def __init__(self, transport: Transport, dies: asyncio.Event, *, before: bool) -> None:
        self._transport, self._dies, self._before = transport, dies, before
        self._wrote = False

    async def send(self, request: Request) -> Response:
        is_write = request.verb in ("create", "patch", "delete") and not any(each in request.path for each in BESIDE)
        if self._dies.is_set() or (self._before and is_write and self._wrote):
            self._dies.set()
            await asyncio.Event().wait()
        response = await self._transport.send(request)
        if is_write:
            self._wrote = True
            if not self._before:
                self._dies.set()
                await asyncio.Event().wait()
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        if (close := getattr(self._transport, "close", None)) is not None:
            await close()


async def lives_until(play: Play, *ends: str, before: bool = False) -> int:
    """How many operators it took until the rollout was in one of these states, or gone where none is named."""
    for life in range(1, MOST_LIVES):
        await _one_life(play, ends, before=before)
        if _is_over(play, ends):
            return life
    raise AssertionError(f"it does not end: {play.at()}")


def _is_over(play: Play, ends: tuple[str, ...]) -> bool:
    return play.state() in ends if ends else not play.trait()


async def _one_life(play: Play, ends: tuple[str, ...], *, before: bool) -> None:
    dies = asyncio.Event()
    play.start(partial(Mortal, dies=dies, before=before))
    await play.until(lambda: dies.is_set() or _is_over(play, ends), every=0.02)
    await play.kill()
    await play.site.history.caught_up()
