"""What the leader does about definitions whose objects may be stored in several versions: it moves them, each in turn.

One walk for everybody (`decide/storage_migration`), under a Lease that excludes commands and other leaders, with a
journal that the next leader goes on from. Best effort: whatever fails is told and tried again later, and nothing waits
for it. Whose definitions they are, how soon they are tried again and who hears of it is for whoever asks for it to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct, structs

from fairlead.core.audit import AuditLine
from fairlead.core.decision import Decide, Decision
from fairlead.engine.command import Precondition
from fairlead.engine.decide.job import JobSnapshot, Passage
from fairlead.engine.decide.storage_migration.journal import MigrationPhase, StorageJournal, StorageView
from fairlead.engine.decide.storage_migration.names import JOURNAL_LABELS, journal_entry, migration_name
from fairlead.engine.driver.request_pace import RequestPace
from fairlead.engine.job_run import CommandJob, JobStopped, RunTerms, run_job
from fairlead.engine.part import PartContext
from fairlead.engine.run_lease import LostLease, exclusively, identity
from kubeloop import clock
from kubeloop.config_map_records import ConfigMapRecords
from kubeloop.election import Election
from kubeloop.errors import KubeError, NotLeader
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref

AGAIN_SECONDS = 6 * 3600.0
"""Until a definition that ended well, and still looks as if it had not, is looked at again."""


class MixedDefinition(Struct, frozen=True):
    """A definition whose objects may be stored in several versions."""

    ref: Ref
    generation: int
    stored: tuple[str, ...]
    """These."""

    @property
    def name(self) -> str:
        return self.ref.name


class RunEnd(Struct, frozen=True):
    """How a run ended."""

    definition: MixedDefinition
    journal: StorageJournal | None
    """None: it did not begin, or nobody knows how far it came."""
    problem: str = ""
    """Why it did not come to its end; empty: it did."""
    failed: int = 0
    """Runs for this definition that failed one after the other, with this one."""
    was_excluded: bool = False
    """Whether another run is at work, or the Lease cannot be had."""

    @property
    def is_conflict(self) -> bool:
        return self.journal is not None and self.journal.phase is MigrationPhase.CONFLICT


class MigrationTerms(Struct, frozen=True, kw_only=True):
    """How definitions are migrated, and who hears of it."""

    name: str
    """Of the steps, in audit lines and where rounds are kept."""
    decide: Decide[JobSnapshot[StorageJournal, StorageView]]
    mixed: Callable[[], Iterable[MixedDefinition]]
    """Those that are to be migrated, as they were seen last."""
    rests: Callable[[RunEnd], float]
    """Seconds for which a definition is left alone after a run that failed; another generation of it is not."""
    view: StorageView
    """How, but for its definition and run."""
    spoiled: Callable[[str], str] = lambda _: ""
    """Why objects of the definition of this name are not written for now, as it was seen last; empty: they are."""
    labels: Mapping[str, str] = {}
    """Of journals and Leases, beside those of all journals: by them whoever removes the operator finds these."""
    qps: float = 5.0
    burst: int = 10
    definitions_at_once: int = 2
    objects_at_once: int = 8
    heard: Callable[[MixedDefinition, Passage[StorageJournal], Decision], None] = lambda *_: None
    """Told what came of each step."""
    ended: Callable[[RunEnd, float], None] = lambda *_: None
    """Told how each run ended, and for how many seconds the definition is left alone."""
    audit: Callable[[AuditLine], None] = lambda _: None


class Migrations:
    """Of one process; `run` is a task of the leader."""

    def __init__(self, context: PartContext, terms: MigrationTerms) -> None:
        self._context = context
        self._terms = terms
        self._woken = asyncio.Event()
        self._busy: set[str] = set()
        self._rests: dict[tuple[str, int], float] = {}
        """By name and generation: until when a definition is left alone."""
        self._failed: dict[str, int] = {}
        """By name: runs that failed one after the other."""

    @property
    def jobs(self) -> Mapping[str, Decide[Any]]:
        """What decides its steps."""
        return {self._terms.name: self._terms.decide}

    def wake(self) -> None:
        """A definition was seen that may have changed."""
        names = {each.name for each in self._terms.mixed()}
        self._rests = {key: until for key, until in self._rests.items() if key[0] in names}
        self._woken.set()

    def try_again(self) -> None:
        """What failed may succeed now."""
        self._rests.clear()
        self._woken.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._terms.definitions_at_once):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            found = self._due()
            if found is None:
                await self._wait()
                continue
            self._busy.add(found.name)
            try:
                end = await self._migrated(found)
            finally:
                self._busy.discard(found.name)
            self._rest(end)

    def _due(self) -> MixedDefinition | None:
        now = clock.monotonic()
        for each in sorted(self._terms.mixed(), key=lambda one: one.name):
            if each.name not in self._busy and self._rests.get((each.name, each.generation), 0.0) <= now:
                return each
        return None

    def _rest(self, end: RunEnd) -> None:
        name = end.definition.name
        self._failed[name] = failed = self._failed.get(name, 0) + 1 if end.problem else 0
        counted = structs.replace(end, failed=failed)
        seconds = self._terms.rests(counted) if end.problem else AGAIN_SECONDS
        self._rests = {key: until for key, until in self._rests.items() if key[0] != name}
        if any(each.name == name for each in self._terms.mixed()):  # what is clean by now is due as soon as it is not
            self._rests[name, end.definition.generation] = clock.monotonic() + seconds
        self._terms.ended(counted, seconds)

    async def _wait(self) -> None:
        """Until a definition changes, or one has rested."""
        now = clock.monotonic()
        until = min((each for each in self._rests.values() if each > now), default=now + AGAIN_SECONDS)
        self._woken.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(until - now):
                await self._woken.wait()

    async def _migrated(self, found: MixedDefinition) -> RunEnd:
        lease = Ref(LEASES, self._context.home, migration_name(found.name))
        client = self._context.replica_client or self._context.client
        try:
            journal = await exclusively(
                client, lease, lambda election: self._walked(found, election), labels=self._terms.labels
            )
        except Precondition as error:
            return RunEnd(found, None, str(error), was_excluded=True)
        except (JobStopped, LostLease, KubeError) as error:
            return RunEnd(found, None, self._terms.spoiled(found.name) or str(error))
        return RunEnd(found, journal, journal.problem)

    async def _walked(self, found: MixedDefinition, election: Election) -> StorageJournal:
        context, terms = self._context, self._terms

        def heard(step: Passage[Any], decision: Decision) -> None:
            terms.heard(found, step, decision)

        def gate() -> None:
            election.gate()
            if why := terms.spoiled(found.name):
                raise NotLeader(why)

        job = CommandJob(
            name=terms.name,
            record=journal_entry(found.name),
            journal=StorageJournal,
            decide=terms.decide,
            world=structs.replace(terms.view, crd=found.name, run=identity()),
        )
        return await run_job(
            job,
            RunTerms(
                client=context.client.gated(gate),
                records=ConfigMapRecords(context.client, context.home, {**JOURNAL_LABELS, **terms.labels}),
                pace=RequestPace(terms.qps, terms.burst),
                at_once=terms.objects_at_once,
                gate=election.gate,
                audit=terms.audit,
                heard=heard,
                record=context.record,
            ),
        )
