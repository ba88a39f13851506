"""What the leader does for definitions of its own installation: what is stored in old versions moves (section 3.5).

One that failed is taken up again after six hours, or when it is another one; one that changed underneath, or that a
command is at work on, after a minute.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from fairlead.contracts.apiversions.decide.unconverted_writes import unconverted
from fairlead.contracts.apiversions.kinds import CRD_OWNER
from fairlead.contracts.apiversions.migration_metrics import MigrationMetrics
from fairlead.contracts.apiversions.settings import MigrationSettings
from fairlead.core.act import EventNote
from fairlead.core.decision import Decide, Decision
from fairlead.engine.decide.job import Passage
from fairlead.engine.decide.migration import mixes
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.decide.storage_migration.journal import MigrationPhase, StorageJournal, StorageView
from fairlead.engine.decide.storage_migration.steps import decide_of
from fairlead.engine.driver.effects import keys_of
from fairlead.engine.kinds.migrations import AGAIN_SECONDS, Migrations, MigrationTerms, MixedDefinition, RunEnd
from fairlead.engine.part import PartContext
from kubeloop.objects.meta import Meta, Ref

AFTER_CONFLICT_SECONDS = 60.0
NAME = "storage-migration"
decide = decide_of(unconverted)


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
        self._metrics = metrics
        self._share = context.caches.share(DEFINITIONS, OwnDefinition, optional=True)
        self._share.subscribe(lambda _: self._changed())
        terms = MigrationTerms(
            name=NAME,
            decide=decide,
            mixed=self._mixed,
            rests=_rests,
            view=StorageView(),
            qps=settings.qps,
            burst=settings.burst,
            heard=self._heard,
            ended=self._ended,
            audit=lambda line: context.log.debug("storage migration wrote", **keys_of(line)),
        )
        self._migrations = Migrations(context, terms)

    @property
    def jobs(self) -> Mapping[str, Decide[Any]]:
        """What decides its steps."""
        return self._migrations.jobs

    def ref(self, name: str) -> Ref | None:
        """The CRD of this name, where it belongs to this installation."""
        return next((_ref(each) for each in self._own() if each.metadata.name == name), None)

    def try_again(self) -> None:
        """What failed may succeed now."""
        self._migrations.try_again()

    async def run(self) -> None:
        await self._share.informer.settled.wait()
        self._changed()
        await self._migrations.run()

    def _changed(self) -> None:
        self._migrations.wake()
        self._metrics.show_stored({each.metadata.name: each.status.stored_versions for each in self._own()})

    def _own(self) -> list[OwnDefinition]:
        home, shared = self._context.home, self._context.conversion
        of_others = shared.kinds if shared is not None else {}  # the parts that register them move them
        return [
            each
            for each in self._share.store.items()
            if each.metadata.annotations.get(CRD_OWNER) == home and each.metadata.name not in of_others
        ]

    def _mixed(self) -> list[MixedDefinition]:
        return [
            MixedDefinition(_ref(each), each.metadata.generation, each.status.stored_versions)
            for each in self._own()
            if each.is_mixed
        ]

    def _ended(self, end: RunEnd, _: float) -> None:
        if end.was_excluded:  # a command is at work, most likely
            self._context.log.info("storage migration waits", crd=end.definition.name, reason=end.problem)
        elif end.problem and not _is_told(end.journal):
            self._tell(end.definition, "StorageMigrationIncomplete", end.problem, warning=True)

    def _heard(self, found: MixedDefinition, step: Passage[StorageJournal], decision: Decision) -> None:
        journal = step.after
        if journal is None:
            return
        self._metrics.show(found.name, journal)
        storage = journal.plan.resource.version if journal.plan is not None else ""
        match decision.rule:
            case "check":
                stored = ", ".join(found.stored)
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

    def _tell(self, found: MixedDefinition, reason: str, text: str, *, warning: bool = False) -> None:
        log = self._context.log.warning if warning else self._context.log.info
        log("storage migration", crd=found.name, reason=reason, text=text)
        self._context.tell(EventNote(found.ref, warning, reason, text))


def _is_told(journal: StorageJournal | None) -> bool:
    """Whether the last step has told why."""
    return journal is not None and journal.phase in (MigrationPhase.INCOMPLETE, MigrationPhase.CONFLICT)


def _rests(end: RunEnd) -> float:
    return AFTER_CONFLICT_SECONDS if end.was_excluded or end.is_conflict else AGAIN_SECONDS


def _ref(found: OwnDefinition) -> Ref:
    return Ref(DEFINITIONS, "", found.metadata.name, found.metadata.uid)


def _named(journal: StorageJournal) -> str:
    first = "; ".join(f"{each.object}: {each.cause}" for each in journal.failures[:3])
    return f"{journal.problem}: {first}" if first else journal.problem
