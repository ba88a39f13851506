"""Those who watch: what reaches them, how late, and when they are too far behind."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextvars import Context, copy_context
from typing import Protocol

from kubeloop import clock
from kubesim.draws import Draws
from kubesim.store.versions import Event, Match, restamped

TICK = 0.001
"""Seconds; late events arrive at whole ticks, so that what happens at about the same time arrives at once."""


class Watched(Protocol):
    """What is watched."""

    @property
    def lost(self) -> int:
        """Everything up to this revision is forgotten."""

    def forget(self, watcher: Watcher) -> None:
        """Nothing more goes to this watcher."""


class Watcher:
    """Events of one table from a revision on, in order; iterate it, and close it when done.

    With a lag, each event becomes visible that long after the write, never before its predecessor.
    """

    def __init__(self, table: Watched, match: Match | None, lag: tuple[float, float], draws: Draws) -> None:
        self._table = table
        self._match = match
        self._lag = lag
        self._draws = draws
        self._queue: deque[tuple[float, Event]] = deque()
        self._latest_due = 0.0
        self._wake: asyncio.Future[None] | None = None
        """Of whoever waits for the next event."""
        self._timer: asyncio.TimerHandle | None = None
        """Wakes them."""
        self._context: Context | None = None
        """Theirs, so that the lots of their timers are their own."""
        self._closed = False
        self._ends = False
        """Whether it is closed when all that waits is handed out."""
        self.floor = 0
        """Nothing up to here is handed out."""
        self.revision = 0
        """Everything up to here has been handed out, or is part of the backlog."""
        self.backlog = 0
        """How many events there were when it was opened."""
        self.is_bounded = False
        """Whether it is ended when what it has not handed out is older than the history."""
        self._later = 0
        """How many events it was given since it is bounded."""
        self.heads_only = False
        """Whether it is spared changes that leave the head of an object as it was."""

    def push(self, event: Event, now: float | None) -> None:
        """Takes an event if it concerns this watcher, as what it means to it; what is past (None) has no lag."""
        if event.revision <= self.floor:
            return
        if self.heads_only and event.old is not None and event.old.head is event.new.head and event.type != "DELETED":
            return
        seen = event if self._match is None else self._translated(event, self._match)
        if seen is None or (self.is_bounded and self._is_behind()):
            return
        due = 0.0
        if now is not None and self._lag[1] > 0:
            due = ((now + self._draws.between(*self._lag)) // TICK + 1) * TICK
            if due < self._latest_due:
                due = self._latest_due
            else:
                self._latest_due = due
        self._queue.append((due, seen))
        if self._wake is not None and len(self._queue) == 1:  # else they wait for an earlier one
            self._wake_at(due)

    def _is_behind(self) -> bool:
        """Whether it is ended; the backlog, which is mostly older than the history, does not count."""
        queue = self._queue
        first = max(0, len(queue) - self._later)
        if first < len(queue) and queue[first][1].revision <= self._table.lost:
            self._closed = True
            queue.clear()
            self._notify()
        self._later += 1
        return self._closed

    @staticmethod
    def _translated(event: Event, match: Match) -> Event | None:
        """An object that starts or stops to match is added or deleted for this watcher."""
        now = event.type != "DELETED" and match(event.new)
        before = event.old is not None and match(event.old)
        if now and before:
            return event
        if now:
            return event if event.type == "ADDED" else Event("ADDED", event.revision, event.new)
        if before and event.old is not None:
            if event.type == "DELETED":
                return event
            return Event("DELETED", event.revision, restamped(event.old, event.revision), event.old)
        return None

    def _wake_at(self, moment: float) -> None:
        """At the latest."""
        if not moment:
            self._notify()
        elif self._timer is None or moment < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(moment, self._notify, context=self._context)

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def next(self, until: float | None = None) -> Event | None:
        """The next event; None at the loop time `until`, and when the watcher was closed."""
        while not self._closed:
            due = self._queue[0][0] if self._queue else None
            if due is None and self._ends:
                self.close()
                break
            if due is not None and due <= clock.monotonic():
                event = self._queue.popleft()[1]
                self.revision = max(self.revision, event.revision)
                return event
            if until is not None and clock.monotonic() >= until:
                return None
            await self._sleep(min((time for time in (due, until) if time is not None), default=None))
        return None

    async def arrived(self, until: float | None = None, most: int | None = None) -> list[Event]:
        """The events that have arrived and were not handed out, at least one and not more than asked for.

        None at the loop time `until`, and when the watcher was closed.
        """
        queue, now = self._queue, clock.monotonic()
        events: list[Event] = []
        if not queue or queue[0][0] > now:
            event = await self.next(until)
            if event is None:
                return events
            events.append(event)
            now = clock.monotonic()
        while queue and queue[0][0] <= now and len(events) != most:
            events.append(queue.popleft()[1])
        self.revision = max(self.revision, events[-1].revision)
        return events

    async def _sleep(self, until: float | None) -> None:
        self._wake = asyncio.get_running_loop().create_future()
        if self._context is None:
            self._context = copy_context()
        if until is not None:
            self._wake_at(until)
        try:
            await self._wake
        finally:
            self._wake = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self.next()) is not None:
            yield event

    def __len__(self) -> int:
        """How many events wait to be handed out."""
        return len(self._queue)

    def has_more(self) -> bool:
        """Whether something has arrived and was not handed out."""
        return bool(self._queue) and self._queue[0][0] <= clock.monotonic()

    @property
    def closed(self) -> bool:
        return self._closed

    def end(self) -> None:
        """Ends the iteration when what waits is handed out; nothing more comes."""
        self._ends = True
        self._table.forget(self)
        if not self._queue:
            self._notify()

    def close(self) -> None:
        """Ends the iteration; nothing more is kept for this watcher."""
        self._closed = True
        self._queue.clear()
        self._table.forget(self)
        self._notify()
