"""What the leader does for definitions of its own installation: what is stored in old versions moves (section 3.5).

Best effort: whatever fails is a warning, and the operator works on. Two definitions are migrated at a time. One that
failed is taken up again after six hours, or when it is another one; one that changed underneath after a minute.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from msgspec import Struct

from fairlead.contracts.apiversions.decide.unconverted_writes import unconverted
from fairlead.contracts.apiversions.kinds import CRD_OWNER, JOURNAL_LABELS, migration_name
from fairlead.contracts.apiversions.migration_metrics import MigrationMetrics
from fairlead.contracts.apiversions.settings import MigrationSettings
from fairlead.core.act import EventNote
from fairlead.core.decision import Decision
from fairlead.engine.command import Precondition
from fairlead.engine.decide.job import Passage
from fairlead.engine.decide.migration import mixes
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.decide.storage_migration.journal import Phase, StorageJournal, StorageView
from fairlead.engine.decide.storage_migration.steps import decide_of
from fairlead.engine.driver.effects import keys_of
from fairlead.engine.driver.request_pace import RequestPace
from fairlead.engine.job_run import CommandJob, JobStopped, RunTerms, run_job
from fairlead.engine.part import PartContext
from fairlead.engine.run_lease import LostLease, exclusively, identity
from kubeloop import clock
from kubeloop.config_map_records import ConfigMapRecords
from kubeloop.election import Election
from kubeloop.errors import KubeError
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Meta, Ref

AT_ONCE = 2
AGAIN_SECONDS = 6 * 3600.0
AFTER_CONFLICT_SECONDS = 60.0
JOURNAL = "journal"


class _Meta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}


class _Version(Struct, frozen=True):
    name: str
    storage: bool = False


class _Spec(Struct, frozen=True):
    versions: tuple[_Version, ...]


class _Status(Struct, frozen=True, rename="camel"):
    stored_versions: tuple[str, ...] = ()


class OwnDefinition(Struct, frozen=True):
    """Of a definition, what tells whose it is and what is stored."""

    metadata: _Meta
    spec: _Spec
    status: _Status = _Status()

    @property
    def is_mixed(self) -> bool:
        storage = tuple(each.name for each in self.spec.versions if each.storage)
        return mixes(self.status.stored_versions, storage)


class OwnMigrations:
    """Of one process; `run` is a task of the leader."""

    def __init__(self, context: PartContext, settings: MigrationSettings, metrics: MigrationMetrics) -> None:
        self._context = context
        self._settings = settings
        self._metrics = metrics
        self._share = context.caches.share(DEFINITIONS, OwnDefinition, optional=True)
        self._share.subscribe(lambda _: self._changed())
        self._woken = asyncio.Event()
        self._busy: set[str] = set()
        self._rests: dict[tuple[str, int], float] = {}
        """By name and generation: until when a definition is left alone."""

    def ref(self, name: str) -> Ref | None:
        """The CRD of this name, where it belongs to this installation."""
        found = next((each for each in self._own() if each.metadata.name == name), None)
        return None if found is None else Ref(DEFINITIONS, "", name, found.metadata.uid)

    def try_again(self) -> None:
        """What failed may succeed now."""
        self._rests.clear()
        self._woken.set()

    async def run(self) -> None:
        await self._share.informer.settled.wait()
        self._changed()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            found = self._due()
            if found is None:
                await self._wait()
                continue
            self._busy.add(found.metadata.name)
            try:
                rest = await self._migrated(found)
            finally:
                self._busy.discard(found.metadata.name)
            key = found.metadata.name, found.metadata.generation
            self._rests = {each: until for each, until in self._rests.items() if each[0] != found.metadata.name}
            self._rests[key] = clock.monotonic() + rest

    async def _wait(self) -> None:
        """Until a definition changes, or one has rested."""
        now = clock.monotonic()
        until = min((each for each in self._rests.values() if each > now), default=now + AGAIN_SECONDS)
        self._woken.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(until - now):
                await self._woken.wait()

    def _changed(self) -> None:
        self._woken.set()
        self._metrics.show_stored({each.metadata.name: each.status.stored_versions for each in self._own()})

    def _own(self) -> list[OwnDefinition]:
        home = self._context.home
        return [each for each in self._share.store.items() if each.metadata.annotations.get(CRD_OWNER) == home]

    def _due(self) -> OwnDefinition | None:
        now = clock.monotonic()
        for each in sorted(self._own(), key=lambda one: one.metadata.name):
            name, generation = each.metadata.name, each.metadata.generation
            if each.is_mixed and name not in self._busy and self._rests.get((name, generation), 0.0) <= now:
                return each
        return None

    async def _migrated(self, found: OwnDefinition) -> float:
        """One run; for how many seconds the definition is left alone then."""
        name = found.metadata.name
        lease = Ref(LEASES, self._context.home, migration_name(name))
        client = self._context.replica_client or self._context.client
        try:
            journal = await exclusively(client, lease, lambda election: self._walked(found, election))
        except Precondition as error:  # a command is at work, most likely
            self._context.log.info("storage migration waits", crd=name, reason=str(error))
            return AFTER_CONFLICT_SECONDS
        except (JobStopped, LostLease, KubeError) as error:
            self._tell(found, "StorageMigrationIncomplete", str(error), warning=True)
            return AGAIN_SECONDS
        if journal.problem and journal.phase not in (Phase.INCOMPLETE, Phase.CONFLICT):
            self._tell(found, "StorageMigrationIncomplete", journal.problem, warning=True)
        return AFTER_CONFLICT_SECONDS if journal.phase is Phase.CONFLICT else AGAIN_SECONDS

    async def _walked(self, found: OwnDefinition, election: Election) -> StorageJournal:
        name, context = found.metadata.name, self._context

        def heard(step: Passage[Any], decision: Decision) -> None:
            self._heard(found, step, decision)

        def gate() -> None:
            election.gate()

        job = CommandJob(
            name="storage-migration",
            record=f"{migration_name(name)}/{JOURNAL}",
            journal=StorageJournal,
            decide=decide_of(unconverted),
            world=StorageView(crd=name, run=identity()),
        )
        terms = RunTerms(
            client=context.client,
            records=ConfigMapRecords(context.client, context.home, JOURNAL_LABELS),
            pace=RequestPace(self._settings.qps, self._settings.burst),
            gate=gate,
            audit=lambda line: context.log.debug("storage migration wrote", **keys_of(line)),
            heard=heard,
        )
        return await run_job(job, terms)

    def _heard(self, found: OwnDefinition, step: Passage[StorageJournal], decision: Decision) -> None:
        journal = step.after
        if journal is None:
            return
        self._metrics.show(found.metadata.name, journal)
        storage = journal.plan.resource.version if journal.plan is not None else ""
        match decision.rule:
            case "check":
                stored = ", ".join(found.status.stored_versions)
                self._tell(
                    found, "StorageMigrationStarted", f"objects may be stored in {stored}; they move to {storage}"
                )
            case "clean" if journal.plan is not None:
                written = journal.rewritten.done
                self._tell(
                    found, "StorageMigrationSucceeded", f"every object is stored in {storage} ({written} written)"
                )
                self._tell(found, "StoredVersionsPruned", f"storedVersions is {storage} alone")
            case "incomplete":
                self._tell(found, "StorageMigrationIncomplete", _named(journal), warning=True)
            case "conflict":
                self._tell(found, "StorageMigrationConflict", journal.problem, warning=True)

    def _tell(self, found: OwnDefinition, reason: str, text: str, *, warning: bool = False) -> None:
        about = Ref(DEFINITIONS, "", found.metadata.name, found.metadata.uid)
        log = self._context.log.warning if warning else self._context.log.info
        log("storage migration", crd=found.metadata.name, reason=reason, text=text)
        self._context.tell(EventNote(about, warning, reason, text))


def _named(journal: StorageJournal) -> str:
    first = "; ".join(f"{each.object}: {each.cause}" for each in journal.failures[:3])
    return f"{journal.problem}: {first}" if first else journal.problem
