"""The engine: informers, queue, rounds and leadership, run together until they are told to stop.

Informers run on every replica; rounds run only while the lease is held, if there is one. Nothing here knows what is
rolled, over which wire, or whether time is real.
"""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.control.part import Key, Part
from fairlead.control.rounds import PassFailed, Rounds, Terms, Watcher
from fairlead.decide.act import Tell
from fairlead.kube import clock
from fairlead.kube.client import Client
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


class Manager:
    """Runs one part against one cluster."""

    def __init__(
        self,
        part: Part[Any],
        client: Client,
        *,
        log: FilteringBoundLogger,
        watcher: Watcher,
        recorder: Recorder,
        pace: Pace,
        election: Election | None = None,
    ) -> None:
        self.ready = asyncio.Event()
        """Set once the caches are filled."""
        self.leading = asyncio.Event()
        """Set once rounds run: with a lease, only when it is held."""
        self._part = part
        self._log = log
        self._recorder = recorder
        self._election = election
        self._queue = pace.queue()
        timeout = min(client.timeout, LONGEST_WRITE) if election is None else election.write_timeout
        terms = Terms(pace.patience, timeout)
        self._rounds: Rounds[Any] = Rounds(part, client, terms, log, self._tell, watcher)

    async def run(self) -> None:
        """Until cancelled, until `stop`, or until the lease is lost."""
        self._part.subscribe(self._wake)
        async with asyncio.TaskGroup() as tasks:
            background = [tasks.create_task(informer.run()) for informer in self._part.informers]
            background.append(tasks.create_task(self._recorder.run()))
            for informer in self._part.informers:
                await informer.synced.wait()
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
        self._rounds.listed_since = clock.monotonic()
        self._ask_for_lists()
        await self._lead()

    def stop(self) -> None:
        """Ends `run` once the rounds under way are over."""
        self._queue.close()

    async def _lead(self) -> None:
        self.leading.set()
        async with asyncio.TaskGroup() as tasks:
            resync = tasks.create_task(self._resync())
            await work(self._queue, self._rounds.run, workers=WORKERS, failed=self._failed)
            resync.cancel()

    async def _resync(self) -> None:
        while True:
            for key in self._part.rollouts():
                self._wake(key, True)
            await asyncio.sleep(RESYNC)
            self._ask_for_lists()  # what they bring that is new wakes its rollouts

    def _ask_for_lists(self) -> None:
        for informer in self._part.informers:
            informer.ask_for_list()

    def _wake(self, key: Key, initial: bool) -> None:
        self._queue.add(key, initial=initial)

    def _tell(self, tell: Tell) -> None:
        self._recorder.tell(tell.about, tell.warning, tell.reason, tell.text)

    def _failed(self, key: Key, error: Exception) -> None:
        if isinstance(error, PassFailed | KubeError):
            self._log.warning("reconcile failed", rollout=str(key), error=str(error))
        else:  # a mistake of ours: say all there is to say, and go on with the others
            self._log.error("reconcile failed", rollout=str(key), exc_info=error)
