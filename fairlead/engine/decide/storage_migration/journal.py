"""What a migration remembers between its steps, and what it is told of the world."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, structs

from fairlead.core.ask import Need
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import JobSnapshot, StepResult
from fairlead.engine.decide.migration import MigrationPlan

Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
"""What people may have edited: with a time of nowhere nothing could be compared."""
MOST_FAILURES = 100
"""Objects that are named; of the others only their number is."""
LONGEST_CAUSE = 2_000
"""Characters of what the server says of one: all of them stay far below what a ConfigMap holds."""
MOST_CONTESTED = 500
"""Objects that are remembered for a conflict; where there are more, all are proven by a write."""
MOST_ROUNDS = 5
"""Of proving and writing again, and of definitions that changed meanwhile."""


class MigrationPhase(Enum):
    CHECK = "Check"
    SETTLE = "Settle"
    CHECKPOINT = "Checkpoint"
    REFS = "Refs"
    CHOOSE = "Choose"
    BUILT_IN = "BuiltIn"
    REWRITE = "Rewrite"
    VERIFY = "Verify"
    PRUNE = "Prune"
    CLEAN = "Clean"
    REHEARSED = "Rehearsed"
    """A dry run that has come to its end, or one that may not prune."""
    INCOMPLETE = "Incomplete"
    CONFLICT = "Conflict"


FINAL = frozenset({MigrationPhase.CLEAN, MigrationPhase.REHEARSED, MigrationPhase.INCOMPLETE, MigrationPhase.CONFLICT})


class ObjectFailure(Struct, frozen=True):
    object: str
    """Namespace and name."""
    cause: str


class Counts(Struct, frozen=True, kw_only=True):
    """Of the walk that the phase is at, or of the last one."""

    done: int = 0
    skipped: int = 0
    """Gone, or written by somebody else meanwhile."""
    failed: int = 0
    unproven: int = 0
    total: int | None = None

    def plus(self, other: Counts) -> Counts:
        return Counts(
            done=self.done + other.done,
            skipped=self.skipped + other.skipped,
            failed=self.failed + other.failed,
            unproven=self.unproven + other.unproven,
            total=self.total if self.total is not None else other.total,
        )


class BuiltIn(Struct, frozen=True, rename="camel"):
    """The migration of the cluster itself that is waited for."""

    name: str
    version: str
    """Of its API."""
    is_ours: bool
    since: Moment
    was_running: bool = False


class StorageJournal(Struct, frozen=True, kw_only=True, rename="camel"):
    crd: str = ""
    run: str = ""
    """Of whom it is: another one goes on, or begins."""
    phase: MigrationPhase = MigrationPhase.CHECK
    plan: MigrationPlan | None = None
    """As the definition was at the beginning; its generation is that of the checkpoint."""
    scope: tuple[str, ...] = ()
    """Namespaces; empty: all."""
    list_version: str = ""
    """Resource version of a list at the checkpoint: whatever has a higher one was written since."""
    is_walked: bool = False
    """Whether all objects were written since the checkpoint: one with no higher version answered that there was nothing
    to write."""
    contested: tuple[str, ...] = ()
    """Objects whose write in this walk was refused as a conflict: one that nobody else wrote is not stored anew."""
    settled: Moment | None = None
    """When every API server has heard of the definition."""
    is_early: bool = False
    """Whether all objects are written before there is a checkpoint: then each is proven by a write after it."""
    place: int = 0
    """Which of the namespaces is walked."""
    cursor: str = ""
    """Namespace and name of the last object of the last page."""
    token: str = ""
    """Of the next page."""
    counts: Counts = Counts()
    rewritten: Counts = Counts()
    """Of the last walk that wrote."""
    untracked: int = 0
    """Objects without managedFields, which the cluster's own migration would begin to track."""
    repaired: int = 0
    """Objects whose managedFields named versions that are gone."""
    failures: tuple[ObjectFailure, ...] = ()
    truncated: bool = False
    """Whether more have failed than are named."""
    rounds: int = 0
    changes: int = 0
    """Of the definition since the checkpoint was first set."""
    built_in: BuiltIn | None = None
    built_in_failed: str = ""
    """Why the cluster's own migration is not used, or no longer."""
    problem: str = ""
    """Why the run ended where it is, or what a final phase says."""
    completed_at: Moment | None = None


class StorageView(Struct, frozen=True, kw_only=True):
    """What is migrated and how."""

    crd: str = ""
    run: str = ""
    force: bool = False
    dry_run: bool = False
    namespaces: tuple[str, ...] = ()
    """Empty: all, without which nothing is pruned."""
    page_size: int = 500
    settle_seconds: float = 10.0
    early: bool = False
    """Whether objects are written at once, and once more when every API server has heard of the storage version."""
    built_in: bool = True
    """Whether the cluster's own migration may do it."""
    via_status: bool = False
    loses: bool = False
    """Somebody has agreed to write where that drops what another version holds; then nothing is pruned."""


MigrationSnapshot: TypeAlias = JobSnapshot[StorageJournal, StorageView]
StepOutcome: TypeAlias = StepResult[StorageJournal] | Need


def moving(journal: StorageJournal, rule: str, now: datetime) -> StepResult[StorageJournal]:
    """On to the next step at once."""
    return StepResult(journal, Decision(rule, Hold(Reason.MIGRATING, now)))


def entering(journal: StorageJournal, phase: MigrationPhase, now: datetime) -> StepResult[StorageJournal]:
    """The next phase from its beginning."""
    contested = () if phase is MigrationPhase.REWRITE else journal.contested
    begun = structs.replace(journal, phase=phase, place=0, cursor="", token="", counts=Counts(), contested=contested)
    return moving(begun, f"enter_{phase.value.lower()}", now)


def stopped(journal: StorageJournal, problem: str) -> StepResult[StorageJournal]:
    """The run ends where it is; the next one goes on from there."""
    after = structs.replace(journal, problem=problem)
    return StepResult(after, Decision("stop", Hold(Reason.MIGRATION_INCOMPLETE)))


def ended(
    journal: StorageJournal, phase: MigrationPhase, now: datetime, problem: str = ""
) -> StepResult[StorageJournal]:
    after = structs.replace(journal, phase=phase, problem=problem, token="", completed_at=now)
    reason = (
        Reason.COMPLETE if phase in (MigrationPhase.CLEAN, MigrationPhase.REHEARSED) else Reason.MIGRATION_INCOMPLETE
    )
    return StepResult(after, Decision(phase.value.lower(), Hold(reason)))


def with_failures(journal: StorageJournal, failures: list[ObjectFailure]) -> StorageJournal:
    """And these, as far as they are named."""
    if not failures:
        return journal
    named = (*journal.failures, *failures)
    short = tuple(ObjectFailure(each.object, each.cause[:LONGEST_CAUSE]) for each in named[:MOST_FAILURES])
    return structs.replace(journal, failures=short, truncated=len(named) > MOST_FAILURES or journal.truncated)
