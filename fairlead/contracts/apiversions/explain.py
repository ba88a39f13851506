"""The explain document of what moves versions: a migration of stored objects, and an offline upgrade.

Each is what its journal says, beside whether somebody is at work on it now.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.apiversions.kinds import MIGRATION_NOUN, PART, UPGRADE_NOUN
from fairlead.core import outcome
from fairlead.core.explain import Block, Explain, Lane, Stands
from fairlead.core.reason import Reason
from fairlead.engine.decide.storage_migration.journal import MigrationPhase, ObjectFailure, StorageJournal

MOST_NAMED = 3
"""Failures that are told; the command names all."""
UNIT = "objects"
WAYS = ("resume", "rollback")
OVER = (Reason.DEFINITION_CHANGED, Reason.ROLLOUT_REVERTED)
"""Nothing more comes of it, whoever works on it."""


class Worker(Struct, frozen=True):
    """Who holds the Lease of a journal."""

    name: str = ""
    """Empty: nobody is at work on it."""
    until: datetime | None = None

    def is_at_work(self, now: datetime) -> bool:
        return bool(self.name) and self.until is not None and now < self.until


class Upgraded(Struct, frozen=True, kw_only=True):
    """What is stored of an offline upgrade."""

    crd: str
    state: str
    directory: str
    done: int
    failed: int
    problem: str
    is_over: bool
    is_back: bool
    """Everything is as it was before."""


def migration(namespace: str, journal: StorageJournal, worker: Worker, now: datetime) -> Explain:
    counts, plan = journal.counts, journal.plan
    done = counts.done + counts.skipped
    reason = _of_migration(journal, is_at_work=worker.is_at_work(now))
    waits = _waits(reason, journal.crd, _said(reason, journal), f"fairlead api migrate {journal.crd}")
    lane = Lane(
        name=journal.crd,
        phase=journal.phase.value,
        done=done,
        total=counts.total if counts.total is not None else done,
        from_revision=", ".join(each for each in plan.stored if each != plan.resource.version) if plan else "",
        to_revision=plan.resource.version if plan else "",
        waits=waits,
    )
    comes = ("every object is written and checked, then old versions are struck out",)
    return _document(namespace, MIGRATION_NOUN, lane, reason, comes if reason is Reason.MIGRATING else ())


def _of_migration(journal: StorageJournal, *, is_at_work: bool) -> Reason:
    match journal.phase:
        case MigrationPhase.CLEAN | MigrationPhase.REHEARSED:
            return Reason.COMPLETE
        case MigrationPhase.INCOMPLETE:
            return Reason.OBJECTS_FAILED
        case MigrationPhase.CONFLICT:
            return Reason.DEFINITION_CHANGED
    return Reason.MIGRATING if is_at_work else Reason.JOB_INTERRUPTED


def _said(reason: Reason, journal: StorageJournal) -> str:
    if reason is Reason.JOB_INTERRUPTED:
        return f"nobody works on it; it stopped at {journal.phase.value}: {journal.problem}".removesuffix(": ")
    return f"{journal.problem}{_named(journal.failures)}"


def upgrade(namespace: str, stored: Upgraded, worker: Worker, now: datetime) -> Explain:
    reason = _of_upgrade(stored, is_at_work=worker.is_at_work(now))
    ways = [f"fairlead api offline-upgrade {stored.crd} --{way} --backup {stored.directory}" for way in WAYS]
    text = f"nobody works on it; it stopped at {stored.state}: {stored.problem}".removesuffix(": ")
    waits = _waits(reason, stored.crd, text, *ways) if reason is Reason.JOB_INTERRUPTED else ()
    lane = Lane(name=stored.crd, phase=stored.state, done=stored.done, total=stored.done + stored.failed, waits=waits)
    return _document(namespace, UPGRADE_NOUN, lane, reason)


def _of_upgrade(stored: Upgraded, *, is_at_work: bool) -> Reason:
    if stored.is_over:
        return Reason.ROLLOUT_REVERTED if stored.is_back else Reason.COMPLETE
    return Reason.MIGRATING if is_at_work else Reason.JOB_INTERRUPTED


def _document(namespace: str, noun: str, lane: Lane, reason: Reason, comes: tuple[str, ...] = ()) -> Explain:
    return Explain(
        part=PART,
        noun=noun,
        namespace=namespace,
        rollout=lane.name,
        outcome=outcome.outcome_of(reason),
        ended=reason in OVER,
        stands=Stands(phase=lane.phase, done=lane.done, total=lane.total, unit=UNIT, lanes=(lane,)),
        next=comes,
        blocked_by=lane.waits,
    )


def _waits(reason: Reason, crd: str, text: str, *advice: str) -> tuple[Block, ...]:
    """None where it is done or somebody is at work on it."""
    if reason in (Reason.COMPLETE, Reason.MIGRATING):
        return ()
    block = Block(
        rule="journal",
        reason=reason.word,
        object=f"customresourcedefinition/{crd}",
        text=text,
        clears=reason.clears,
        kind=reason.kind.value,
        advice=advice,
    )
    return (block,)


def _named(failures: tuple[ObjectFailure, ...]) -> str:
    shown = "; ".join(f"{each.object}: {each.cause}" for each in failures[:MOST_NAMED])
    more = len(failures) - MOST_NAMED
    return f" ({shown}{f'; and {more} more' if more > 0 else ''})" if shown else ""
