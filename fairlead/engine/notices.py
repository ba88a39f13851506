"""Notices: what goes elsewhere besides its Event, to the sinks that contracts bring.

A round gives a notice away and goes on. Each sink gets its notices to one addressee one at a time and in order, each of
them once; what it fails at is not brought to it again. An addressee that does not answer holds up no other, and however
much is to be told, little waits. That notices to one are lost is said once, and once more when they arrive again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from msgspec import Struct, field, structs
from structlog.types import FilteringBoundLogger

from fairlead.core.act import EventNote
from fairlead.core.ask import Answer, Bad, Good, Question
from fairlead.engine.controller import Sink
from fairlead.engine.driver.effects import audited, keys_of
from fairlead.engine.driver.perform import Round
from fairlead.engine.driver.questions import AskContext, asker
from kubeloop.queue import Queue
from kubeloop.worker import work

MOST_WAITING = 100
"""Notices that wait for one sink; those that come then are lost."""
LONGEST_SECONDS = 30.0
"""That a sink may take for one notice, tries and all."""
FLUSH_SECONDS = 3.0
WORKERS = 8


_Way: TypeAlias = tuple[Sink, str]
"""A sink, and whom it brings something to."""


class _Outlet(Struct, eq=False):
    waiting: deque[EventNote] = field(default_factory=deque)
    lost: int = 0
    """Since the last one that was delivered."""


class Notices:
    def __init__(self, outside: AskContext, log: FilteringBoundLogger) -> None:
        # What a notice is about has happened, whoever leads by the time that it is sent.
        self._outside = structs.replace(outside, gate=None)
        self._log = log
        self._outlets: dict[_Way, _Outlet] = {}
        """Of ways on which something waits, or was lost last."""
        self._queue: Queue[_Way] = Queue()
        """Ways on which something waits; none is given out twice at once."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._unsent = 0

    def send(self, sink: Sink, note: EventNote) -> None:
        """Returns at once."""
        way = sink, note.to
        outlet = self._outlets.setdefault(way, _Outlet())
        if len(outlet.waiting) >= MOST_WAITING:
            self._failed(outlet, note, f"{MOST_WAITING} others wait already")
            return
        outlet.waiting.append(note)
        self._unsent += 1
        self._idle.clear()
        self._queue.add(way)

    async def run(self) -> None:
        """Brings notices to their sinks until cancelled."""
        await work(self._queue, self._deliver, workers=WORKERS, failed=self._mistaken)

    async def flush(self) -> None:
        """Waits until all are brought, no longer than FLUSH_SECONDS."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._idle.wait()

    async def _deliver(self, way: _Way) -> float | None:
        """The oldest that waits; seconds until the next is looked at."""
        outlet = self._outlets.get(way)
        if outlet is None or not outlet.waiting:
            return None
        note = outlet.waiting.popleft()
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                answer = await way[0](note, asker(self._outside, heard=partial(self._heard, note)))
            if isinstance(answer, Bad):
                self._failed(outlet, note, answer.text or answer.kind)
            elif answer is not None:
                self._delivered(outlet)
        except TimeoutError:
            self._failed(outlet, note, f"no answer within {LONGEST_SECONDS:.0f} seconds")
        finally:
            self._unsent -= 1
            if not self._unsent:
                self._idle.set()
        if outlet.waiting:
            return 0.0
        if not outlet.lost:
            del self._outlets[way]
        return None

    def _heard(self, note: EventNote, question: Question, answer: Answer) -> None:
        """One record per call that was answered; what was not is said once."""
        if isinstance(answer, Good):
            line = audited(question, answer, Round("", _named(note), "", note.reason))
            self._log.debug("notice sent", **keys_of(line))

    def _failed(self, outlet: _Outlet, note: EventNote, why: str) -> None:
        if not outlet.lost:
            self._log.warning(
                "a notice was lost", about=_named(note), notice=note.text, error=why, help="no rollout waits for it"
            )
        outlet.lost += 1

    def _delivered(self, outlet: _Outlet) -> None:
        if outlet.lost:
            self._log.info("notices are delivered again", lost=outlet.lost)
        outlet.lost = 0

    def _mistaken(self, way: _Way, error: Exception) -> None:
        """A mistake of ours: say all there is to say, once, and go on with what waits."""
        outlet = self._outlets[way]
        if not outlet.lost:
            self._log.error("a notice was lost by a mistake of the operator", exc_info=error)
        outlet.lost += 1


def _named(note: EventNote) -> str:
    return "/".join(filter(None, (note.about.namespace, note.about.name)))
