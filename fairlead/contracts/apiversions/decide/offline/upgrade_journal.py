"""What an offline upgrade remembers between its steps, and what it is told of the world (section 3.7).

A phase in the journal is under way: everything before it is done. So a run that was killed goes on with the phase that
it finds, and whatever a phase does may be done twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import TypeAlias

from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.offline.object_parts import Parts
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.ask import Need
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import JobSnapshot, StepResult
from fairlead.engine.decide.storage_migration.journal import StorageJournal
from kubeloop.objects.meta import Ref, Resource

MANAGER = "fairlead-offline-upgrade"
"""Whose fields are those that the upgrade writes: so a run that was killed knows its own writes again."""
MOST_NAMED = 100
MOST_PASSES = 20


class UpgradePhase(Enum):
    BACKED_UP = "BackedUp"
    STOPPED = "Stopped"
    INTRODUCED = "Introduced"
    CONVERTING = "Converting"
    CONVERTED = "Converted"
    PRUNED = "Pruned"
    OWNED = "Owned"
    """Of Pruned: who owns which field is told in the new version."""
    POINTED = "Pointed"
    """Of Pruned: ownerReferences of dependents name the new version."""
    UNSERVED = "Unserved"
    STARTED = "Started"
    DONE = "Done"
    REVERTING = "Reverting"
    """From here on everything is undone: the old version is the storage version again."""
    RESTORING = "Restoring"
    DISOWNED = "Disowned"
    FORGETTING = "Forgetting"
    REVERTED = "Reverted"
    RESTARTED = "Restarted"
    ROLLED_BACK = "RolledBack"


def goes_back(phase: UpgradePhase) -> bool:
    return [*UpgradePhase].index(phase) >= [*UpgradePhase].index(UpgradePhase.REVERTING)


FINAL = frozenset({UpgradePhase.DONE, UpgradePhase.ROLLED_BACK})


class UpgradeEnd(Enum):
    """Why a run ended before its end."""

    FAILED = "failed"
    """Some objects cannot be done."""
    LOST = "lost"
    """The server cannot be reached."""
    STUCK = "stuck"
    """Something else must be put right first."""
    CHANGED = "changed"
    """The definition is another one than it was."""


class UpgradeFailure(Struct, frozen=True):
    object: str
    cause: str


class UpgradeCounts(Struct, frozen=True):
    """Of the walk that is under way, or of the last one."""

    done: int = 0
    again: int = 0
    """Somebody wrote in between, or nobody answered: looked at again in the next walk."""
    left: int = 0
    """Of others: made or changed by somebody in the new version."""
    failed: int = 0

    def plus(self, other: UpgradeCounts) -> UpgradeCounts:
        return UpgradeCounts(
            self.done + other.done, self.again + other.again, self.left + other.left, self.failed + other.failed
        )


class StoppedWorkload(Struct, frozen=True):
    """The operator, which is stopped meanwhile."""

    ref: Ref
    replicas: int


class UpgradeJournal(Struct, frozen=True, kw_only=True):
    crd: str
    uid: str
    old: str
    new: str
    freeze: bool = False
    remove: bool = False
    operator: StoppedWorkload | None = None
    phase: UpgradePhase = UpgradePhase.BACKED_UP
    run: str = ""
    """Of whom it is: another one goes on."""
    cursor: str = ""
    passes: int = 0
    counts: UpgradeCounts = UpgradeCounts()
    failures: tuple[UpgradeFailure, ...] = ()
    total: int = 0
    """Objects in the backup."""
    introduced_at: datetime | None = None
    frozen_at: datetime | None = None
    stopped_in: str = ""
    """The run that has seen that nobody else works with the objects; another one sees to it again."""
    leases: dict[str, tuple[str, datetime]] = {}
    """Leases of the operator: their versions, and since when each is seen so."""
    migration: StorageJournal | None = None
    place: int = 0
    """Of the kind of dependents that is looked through."""
    notes: tuple[str, ...] = ()
    """What people should know at the end."""
    problem: str = ""
    lost: str = ""
    """Why nothing is left that could be undone; empty where something is."""
    end: UpgradeEnd | None = None
    completed_at: datetime | None = None

    @property
    def goes_back(self) -> bool:
        return goes_back(self.phase)


class UpgradeWorld(Struct, frozen=True, kw_only=True):
    run: str
    begun: UpgradeJournal
    """Where there is no journal yet."""
    kind: KindConversion
    before: Tree
    """The definition as the backup has it."""
    wanted: Tree
    """The definition that somebody gave."""
    old: Parts
    new: Parts
    caller: str
    """Who asks, as the API server calls them."""
    freeze_name: str
    kinds: tuple[Resource, ...] = ()
    """Of what the objects may own."""
    back: bool = False
    """Whether everything is to be undone."""
    page: int = 500
    settle_seconds: float = 10.0
    marks: Mapping[str, str] = {}
    """Labels of what is made."""


UpgradeSnapshot: TypeAlias = JobSnapshot[UpgradeJournal, UpgradeWorld]
UpgradeOutcome: TypeAlias = StepResult[UpgradeJournal] | Need


def moving(journal: UpgradeJournal, rule: str, now: datetime) -> StepResult[UpgradeJournal]:
    return StepResult(journal, Decision(rule, Hold(Reason.MIGRATING, now)))


def entering(journal: UpgradeJournal, phase: UpgradePhase, now: datetime) -> StepResult[UpgradeJournal]:
    """The next phase from its beginning."""
    begun = structs.replace(journal, phase=phase, cursor="", passes=0, counts=UpgradeCounts(), place=0, failures=())
    return moving(begun, f"enter_{phase.name.lower()}", now)


def stopped(journal: UpgradeJournal, problem: str, end: UpgradeEnd) -> StepResult[UpgradeJournal]:
    """The run ends here; the next one goes on with the same phase."""
    after = structs.replace(journal, problem=problem, end=end, cursor="")
    return StepResult(after, Decision("stop", Hold(Reason.MIGRATION_INCOMPLETE)))


def noted(journal: UpgradeJournal, text: str) -> UpgradeJournal:
    return journal if text in journal.notes else structs.replace(journal, notes=(*journal.notes, text))
