"""The engine: informers, queue, rounds and leadership, run together until they are told to stop.

Informers run on every replica; rounds run only while the lease is held, if there is one. Nothing here knows what is
rolled, over which wire, or whether time is real.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.control.part import Key, Part
from fairlead.control.rounds import PassFailed, Rounds, Terms, Watcher
from fairlead.control.traces import Trace, untraced
from fairlead.control.webhooks import Webhooks
from fairlead.decide.act import Tell
from fairlead.drive.outside import Outside
from fairlead.kube import clock
from fairlead.kube.election import Election
from fairlead.kube.errors import KubeError
from fairlead.kube.events import Recorder
from fairlead.kube.queue import Queue
from fairlead.kube.worker import work

RESYNC = 300.0
"""Every rollout is looked at and everything is listed this often, even if nothing seems to change: a watch may lose
events."""

LEAST_PATIENCE = 5.0
USUAL_PATIENCE = 10.0
LONGEST_WRITE = 30.0
"""Seconds; without a lease a write may take as long as any call, but the rollout waits for it."""
LEAST_BACK_OFF = 0.1
"""Seconds until a failed round is tried again, however short the interval: what fails at once fills no loop."""
LESSER_BACK_OFF = 5.0
"""Seconds until a failed round of a part beside the main one is tried again, doubling up to RESYNC."""
WORKERS = 8


class Pace(Struct, frozen=True):
    """How quickly rounds follow one another."""

    interval: float | None = None
    """Least seconds between two rounds of a rollout, and until a failed one is tried again; None: as facts allow."""

    def queue(self) -> Queue[Key]:
        if self.interval is None:
            return Queue()
        back_off = max(self.interval, LEAST_BACK_OFF)
        return Queue(first_delay=back_off, longest_delay=back_off, spacing=max(self.interval, 0.0))

    @property
    def patience(self) -> float:
        """How long a watch may take to show an own write before a fresh list is asked for."""
        return USUAL_PATIENCE if self.interval is None else max(LEAST_PATIENCE, 2 * self.interval)


class _Lane:
    """The rounds of one part and what asks for them."""

    def __init__(self, part: Part[Any], rounds: Rounds[Any], queue: Queue[Key], workers: int) -> None:
        self.part = part
        self.rounds = rounds
        self.queue = queue
        self.workers = workers

    def wake(self, key: Key, initial: bool) -> None:
        self.queue.add(key, initial=initial)


class _Nobody:
    """Watches the rounds that no metric is about."""

    def started(self, key: Key) -> None: ...

    def ended(self, key: Key, seconds: float, *, failed: bool, at: float) -> None: ...

    def vanished(self, key: Key) -> None: ...


class Manager:
    """Runs one part against one cluster, and the lesser ones beside it."""

    def __init__(
        self,
        part: Part[Any],
        outside: Outside,
        *,
        log: FilteringBoundLogger,
        watcher: Watcher,
        recorder: Recorder,
        webhooks: Webhooks,
        pace: Pace,
        election: Election | None = None,
    ) -> None:
        self.trace: Trace = untraced
        """Opens a span for every round; set before `run`."""
        self.webhooks = webhooks
        """Answered whether or not this runs."""
        self.ready = asyncio.Event()
        """Set once the caches are filled."""
        self.leading = asyncio.Event()
        """Set once rounds run: with a lease, only when it is held."""
        self._part = part
        self._log = log
        self._recorder = recorder
        self._election = election
        timeout = min(outside.client.timeout, LONGEST_WRITE) if election is None else election.write_timeout
        terms = Terms(pace.patience, timeout)
        rounds: Rounds[Any] = Rounds(part, outside, terms, log, self._tell, watcher)
        self._lanes = [_Lane(part, rounds, pace.queue(), WORKERS)]
        for lesser in part.beside:
            limited = Terms(pace.patience, min(timeout, lesser.write_timeout))
            rounds = Rounds(lesser, outside, limited, log, self._tell, _Nobody())
            # One at a time: it shall not use up what the client may send while a rollout has something to do.
            queue: Queue[Key] = Queue(first_delay=LESSER_BACK_OFF, longest_delay=RESYNC)
            self._lanes.append(_Lane(lesser, rounds, queue, workers=1))

    async def run(self) -> None:
        """Until cancelled, until `stop`, or until the lease is lost."""
        for lane in self._lanes:
            lane.part.subscribe(lane.wake)
        async with asyncio.TaskGroup() as tasks:
            watched = (*self._part.informers, *self._part.optional)
            background = [tasks.create_task(informer.run()) for informer in watched]
            background.append(tasks.create_task(self._recorder.run()))
            for informer in self._part.informers:
                await informer.synced.wait()
            for optional in self._part.optional:
                await optional.settled.wait()
            self.ready.set()
            self._log.info("ready", part=self._part.name)
            try:
                if self._election is None:
                    await self._lead()
                else:
                    await self._election.run(self._lead_afresh)
            finally:
                for task in background:
                    task.cancel()

    async def _lead_afresh(self) -> None:
        """Leads with caches that show all that an earlier leader wrote, however late its last write was.

        A rollout waits for the lists that it reads and for no others.
        """
        for lane in self._lanes:
            lane.rounds.listed_since = clock.monotonic()
        self._ask_for_lists()
        await self._lead()

    def stop(self) -> None:
        """Ends `run` once the rounds under way are over."""
        for lane in self._lanes:
            lane.queue.close()

    async def _lead(self) -> None:
        self.leading.set()
        async with asyncio.TaskGroup() as tasks:
            resync = tasks.create_task(self._resync())
            async with asyncio.TaskGroup() as working:
                for lane in self._lanes:
                    failed, rounds = partial(self._failed, part=lane.part), partial(self._traced, lane)
                    working.create_task(work(lane.queue, rounds, workers=lane.workers, failed=failed))
            resync.cancel()

    async def _traced(self, lane: _Lane, key: Key) -> float | None:
        with self.trace("round") as span:
            span.set(part=lane.part.name, rollout=str(key))
            return await lane.rounds.run(key)

    async def _resync(self) -> None:
        while True:
            for lane in self._lanes:
                for key in lane.part.rollouts():
                    lane.wake(key, True)
            await asyncio.sleep(RESYNC)
            self._ask_for_lists()  # what they bring that is new wakes its rollouts

    def _ask_for_lists(self) -> None:
        for informer in (*self._part.informers, *self._part.optional):
            informer.ask_for_list()

    def _tell(self, tell: Tell) -> None:
        self._recorder.tell(tell.about, tell.warning, tell.reason, tell.text)

    def _failed(self, key: Key, error: Exception, part: Part[Any]) -> None:
        if part is not self._part and isinstance(error, KubeError):
            return  # the write that failed has its record, and no rollout waits for it
        if isinstance(error, PassFailed | KubeError):
            self._log.warning("reconcile failed", rollout=str(key), error=str(error))
        else:  # a mistake of ours: say all there is to say, and go on with the others
            self._log.error("reconcile failed", rollout=str(key), exc_info=error)
