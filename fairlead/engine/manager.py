"""The engine: informers, queue, rounds and leadership, run together until they are told to stop.

Informers run on every replica; rounds run only while the lease is held, if there is one. Nothing here knows what is
rolled, over which wire, or whether time is real.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.core.explain import OperatorReport
from fairlead.engine.controller import BackOff, Controller, RolloutKey
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.driver.slow_writes import SlowWrites
from fairlead.engine.event_notes import Notes
from fairlead.engine.explain_endpoint import ExplainedController, reported, silent
from fairlead.engine.lane import ControllerLane
from fairlead.engine.part import GivesBack, Part, Task
from fairlead.engine.recording import RoundRecorder
from fairlead.engine.rounds import Rounds, RoundTerms
from fairlead.engine.traces import Trace, untraced
from fairlead.engine.webhooks.handlers import Webhooks
from kubeloop import clock
from kubeloop.caches import Caches
from kubeloop.election import LostLease
from kubeloop.elections import Leadership
from kubeloop.errors import NotLeader
from kubeloop.ledger import Ledger
from kubeloop.queue import Queue

RESYNC = 300.0
"""Every rollout is looked at and everything is listed this often, even if nothing seems to change: a watch may lose
events."""

LEAST_CATCH_UP_SECONDS = 5.0
CATCH_UP_SECONDS = 10.0
LONGEST_WRITE = 30.0
"""Seconds; without a lease a write may take as long as any call, but the rollout waits for it."""
LEAST_BACK_OFF = 0.1
"""Seconds until a failed round is tried again, however short the interval: what fails at once fills no loop."""
BACKGROUND_BACK_OFF = BackOff(5.0, RESYNC)
WORKERS = 8


class Pace(Struct, frozen=True):
    """How quickly rounds follow one another."""

    interval: float | None = None
    """Least seconds between two rounds of a rollout, and until a failed one is tried again; None: as facts allow."""

    resync: float | None = None
    """Seconds between two looks at everything; None: RESYNC, and never in virtual time."""

    def queue(self, back_off: BackOff | None) -> Queue[RolloutKey]:
        if back_off is not None:
            return Queue(first_delay=back_off.first, longest_delay=back_off.longest, jitter=back_off.jitter)
        if self.interval is None:
            return Queue()
        seconds = max(self.interval, LEAST_BACK_OFF)
        return Queue(first_delay=seconds, longest_delay=seconds, spacing=max(self.interval, 0.0))

    @property
    def resync_seconds(self) -> float | None:
        """How often everything is looked at; None: once."""
        if self.resync is None:
            return None if clock.is_virtual() else RESYNC
        return self.resync

    @property
    def catch_up_seconds(self) -> float:
        """How long a watch may take to show an own write before a fresh list is asked for."""
        return CATCH_UP_SECONDS if self.interval is None else max(LEAST_CATCH_UP_SECONDS, 2 * self.interval)


class Manager:
    """Runs parts against one cluster."""

    def __init__(
        self,
        parts: Sequence[Part],
        outside: AskContext,
        caches: Caches,
        *,
        log: FilteringBoundLogger,
        notes: Notes,
        webhooks: Webhooks,
        pace: Pace,
        election: Leadership | None = None,
        rejoins: bool = False,
        leads: Callable[[bool], None] = lambda _: None,
        registered: Callable[[], None] = lambda: None,
        leaves: Callable[[], str] = lambda: "",
        leader_tasks: Sequence[Task] = (),
        recording: RoundRecorder | None = None,
    ) -> None:
        """`rejoins`: when the lease is lost, rounds end and it is stood for again, instead of raising LostLease.

        `leads` hears when this replica takes the lead and when it gives it up, `registered` when all that comes before
        rounds is done; `leaves` says why a Lease that is free is left alone; `leader_tasks` are what the leader does
        beside those of the parts. `recording` keeps the rounds, and is closed with the end of `run`.
        """
        self.trace: Trace = untraced
        """Opens a span for every round; set before `run`."""
        self.webhooks = webhooks
        """Answered whether or not this runs."""
        self.servers = tuple(server for part in parts for server in part.servers)
        """The same holds for these."""
        self.shared_routes = tuple(each for part in parts for each in part.shared_routes)
        """And for these, where webhooks are served."""
        self.certificates = next((part.certificates for part in parts if part.certificates is not None), None)
        """What webhooks are served with, where a part keeps that."""
        self.ready = asyncio.Event()
        """Set once the caches are filled."""
        self.leading = asyncio.Event()
        """Set while rounds run: with a lease, only when it is held."""
        self._parts = tuple(parts)
        self._caches = caches
        self._pace = pace
        controllers = (each for part in parts for each in part.controllers)
        self._controllers = tuple(sorted(controllers, key=lambda each: each.background))
        self._log = log
        self._notes = notes
        self._recording = recording
        self._election = election
        self._rejoins = rejoins
        self._leads = leads
        self._registered = registered
        self._leaves = leaves
        self._given_back = ""
        """Why the Lease was, until it is stood for again."""
        self._unsettled: set[str] = set()
        """Parts whose rounds something still comes before, in this term."""
        self._leader_tasks = tuple(leader_tasks)
        self._late = tuple(part for part in parts if part.before_rounds)
        """Parts that begin by themselves, when what comes before their rounds is done."""
        self._beginning: dict[str, asyncio.Task[None]] = {}
        """Tasks of parts that have not begun."""
        late = {id(each) for part in self._late for each in part.controllers}
        timeout = min(outside.client.timeout, LONGEST_WRITE) if election is None else election.write_timeout
        ledger = Ledger(pace.catch_up_seconds, caches.covering)
        slow = None if election is None else SlowWrites(timeout, LONGEST_WRITE)
        self._lanes = [
            self._lane(each, outside, pace, RoundTerms(ledger, each.write_timeout))
            if each.write_timeout < timeout
            else self._lane(each, outside, pace, RoundTerms(ledger, timeout, slow))
            for each in self._controllers
        ]
        self._prompt = tuple(lane for lane in self._lanes if id(lane.controller) not in late)

    def _lane(self, controller: Controller[Any], outside: AskContext, pace: Pace, terms: RoundTerms) -> ControllerLane:
        record = self._recording.record if self._recording is not None else None
        rounds: Rounds[Any] = Rounds(
            controller,
            outside,
            terms,
            self._log,
            partial(self._notes.tell_event, controller.telling),
            notice=partial(self._notes.give_notice, controller.telling),
            record=record,
        )
        back_off = BACKGROUND_BACK_OFF if controller.background else None
        queue = pace.queue(controller.back_off or back_off)
        queue.watcher = controller.queue_watcher
        # In the background one at a time: they shall not use up what the client may send while a rollout has something
        # to do.
        workers = 1 if controller.background else controller.workers or WORKERS
        return ControllerLane(controller, rounds, queue, self._log, workers=workers, background=controller.background)

    async def run(self) -> None:
        """Until cancelled, until `stop`, or until the lease is lost."""
        for lane in self._lanes:
            lane.controller.subscribe(lane.wake)
        async with asyncio.TaskGroup() as tasks:
            background = [tasks.create_task(self._caches.run())]
            background += [tasks.create_task(_run(each)) for part in self._parts for each in part.replica_tasks]
            background.append(tasks.create_task(self._notes.run()))
            background.append(tasks.create_task(self._fill()))
            if self._election is not None:
                background.append(tasks.create_task(self._tidy()))
            try:
                if not any(part.before_leading for part in self._parts):
                    # Who cannot read what it decides about does not take the lease from one that can.
                    await self.ready.wait()
                await self._stand()
            finally:
                for task in background:
                    task.cancel()
                if self._recording is not None:
                    await self._recording.closed()

    async def _fill(self) -> None:
        for lane in self._prompt:
            await _filled(lane.controller)
        self.ready.set()
        names = [each.name for each in self._controllers if not each.background]
        self._log.info("ready", part=",".join(names or [each.name for each in self._controllers]))

    async def _tidy(self) -> None:
        """Changes ask for rounds on every replica, and only who leads has any."""
        while True:
            await asyncio.sleep(RESYNC)
            for lane in self._lanes:
                if self.ready.is_set() and not self.leading.is_set():
                    await lane.tidy()

    async def _stand(self) -> None:
        while True:
            try:
                return await (self._lead() if self._election is None else self._election.run(self._lead_afresh))
            except GivesBack as error:
                self._log.warning("lease given back", error=str(error), again_in=error.seconds)
                self._given_back = str(error)
                await asyncio.sleep(error.seconds)
                self._given_back = ""
            except (LostLease, NotLeader) as error:
                if self._election is None or not self._rejoins:
                    raise
                self._log.warning("lease lost", error=str(error), help="it is stood for again; webhooks go on")

    async def _lead_afresh(self) -> None:
        """Leads with caches that show all that an earlier leader wrote, however late its last write was.

        A rollout waits for the lists that it reads and for no others.
        """
        if self._election is not None:
            for part in self._parts:
                part.takes_over(self._election.led_until)
        for lane in self._lanes:
            lane.rounds.listed_since = clock.monotonic()
            lane.rounds.accounts.clear()
        self._ask_for_lists()
        await self._lead()

    async def report(self, process: str, namespaces: Sequence[str]) -> OperatorReport:
        """What this replica, started under that name, says of the rollouts in these namespaces, or in all."""
        if not self.leading.is_set():
            return silent(process, self.problem or self._given_back or self._leaves())
        told = (
            ExplainedController(lane.controller, lane.rounds.accounts, lane.queue.due, lane.rounds.behind)
            for lane in self._lanes
        )
        return await reported(told, process, namespaces)

    @property
    def problem(self) -> str:
        """Why this replica can neither lead nor stand by, for a while already; empty when it can."""
        return "" if self._election is None else self._election.problem

    @property
    def obstacle(self) -> str:
        """Why this replica does not answer what API servers ask, whoever leads; empty when it does."""
        return next(filter(None, (part.obstacle() for part in self._parts)), "")

    def remarks(self) -> Iterator[str]:
        """What there is to say of this replica although it is ready."""
        for part in self._parts:
            yield from part.remarks()

    def stop(self) -> None:
        """Ends `run` once the rounds under way are over."""
        for lane in self._lanes:
            lane.queue.close()
        for waiting in self._beginning.values():
            waiting.cancel()

    async def _lead(self) -> None:
        self._leads(True)
        try:
            await self._prepare()
            self.leading.set()
            await self._work()
            await self._notes.flush()  # while the Lease is still held
        except BaseExceptionGroup as errors:
            if (given := errors.subgroup(GivesBack)) is not None:
                await self._notes.flush()
                raise _first(given) from None
            raise
        finally:
            self.leading.clear()
            self._leads(False)

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(self._resync())]
            prompt = (task for part in self._parts if not part.before_rounds for task in part.leader_tasks)
            beside += [tasks.create_task(_run(task)) for task in (*prompt, *self._leader_tasks)]
            async with asyncio.TaskGroup() as working:
                for lane in self._prompt:
                    working.create_task(lane.work(self.trace))
                for part in self._late:
                    task = working.create_task(self._begin(part))
                    self._beginning[part.name] = task
            for task in beside:
                task.cancel()

    async def _begin(self, part: Part) -> None:
        """The rounds and tasks of a part that nobody else waits for."""
        try:
            for task in part.before_rounds:
                await task()
            self._settle(part)
            for informer in self._caches:
                informer.hurry()
            for controller in part.controllers:
                await _filled(controller)
        finally:
            self._beginning.pop(part.name, None)
        own = {id(each) for each in part.controllers}
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(_run(task)) for task in part.leader_tasks]
            async with asyncio.TaskGroup() as working:
                for lane in self._lanes:
                    if id(lane.controller) in own:
                        lane.wake_all()
                        working.create_task(lane.work(self.trace))
            for each in beside:
                each.cancel()

    def _settle(self, part: Part | None) -> None:
        """What comes before the rounds of the part is done; None: what comes before those of all of them."""
        self._unsettled = {each.name for each in self._late} if part is None else self._unsettled - {part.name}
        if not self._unsettled:
            self._registered()

    async def _prepare(self) -> None:
        """What must be there before the caches can be filled, by every leader anew, and then the caches."""
        first = [task for part in self._parts for task in part.before_leading]
        for task in first:
            await task()
        self._settle(None)
        if first:
            for informer in self._caches:
                informer.hurry()  # those that found nothing there wait a while before they look again
        await self.ready.wait()

    async def _resync(self) -> None:
        while True:
            for lane in self._lanes:
                lane.wake_all()
            seconds = self._pace.resync_seconds
            if seconds is None:
                return
            await asyncio.sleep(seconds)
            self._ask_for_lists()  # what they bring that is new wakes its rollouts

    def _ask_for_lists(self) -> None:
        for informer in self._caches:
            informer.ask_for_list()


async def _run(task: Task) -> None:
    await task()


async def _filled(controller: Controller[Any]) -> None:
    """Returns when the caches that its rounds read are filled."""
    for informer in controller.informers:
        await informer.synced.wait()
    for optional in controller.optional:
        await optional.settled.wait()


def _first(errors: BaseException) -> BaseException:
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors
