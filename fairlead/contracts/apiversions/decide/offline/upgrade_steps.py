"""The state machine of an offline upgrade: one pure step over its journal (section 3.7).

BackedUp → Stopped → Introduced → Converting → Converted → Pruned → Owned → Pointed → Unserved → Started → Done; and
back, from any of them but the last two: Reverting → Restoring → Disowned → Forgetting → Reverted → Restarted →
RolledBack.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import structs

from fairlead.contracts.apiversions.decide.offline.object_conversion import comparing, converting
from fairlead.contracts.apiversions.decide.offline.outcome_event import event_of
from fairlead.contracts.apiversions.decide.offline.ownership import own, point
from fairlead.contracts.apiversions.decide.offline.standstill import kept_stopped, start, stop
from fairlead.contracts.apiversions.decide.offline.step_context import DefinitionLost, StepContext
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import (
    FINAL,
    UpgradeEnd,
    UpgradeJournal,
    UpgradeOutcome,
    UpgradePhase,
    UpgradeSnapshot,
    entering,
    moving,
    stopped,
)
from fairlead.contracts.apiversions.decide.offline.upgrade_undo import restoring, revert, take_back
from fairlead.contracts.apiversions.decide.offline.upgraded_definitions import introduced, is_as_before, unserved
from fairlead.contracts.apiversions.decide.offline.walks import Interrupted, Unanswered, Unfit
from fairlead.core.ask import Need
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import JobSnapshot, StepResult, journaled
from fairlead.engine.decide.storage_migration.journal import MigrationPhase as Storage
from fairlead.engine.decide.storage_migration.journal import StorageView
from fairlead.engine.decide.storage_migration.steps import step_of

UNDOES = frozenset({UpgradePhase.BACKED_UP, UpgradePhase.STOPPED})
"""Phases that have touched neither the definition nor an object."""

_storage_step = step_of()


def step(seen: UpgradeSnapshot, now: datetime) -> UpgradeOutcome:
    journal = seen.journal or seen.world.begun
    if journal.run != seen.world.run:
        return _entered(journal, seen, now)
    if journal.phase in FINAL or journal.end is not None:
        return StepResult(journal, Decision("rest", Hold(Reason.COMPLETE)))
    try:
        context = StepContext(seen, now, journal)
        return (_guarded(context) if journal.phase in GUARDED else None) or PHASES[journal.phase](context)
    except Unanswered as lacking:
        return Need(((lacking.question,),))
    except Interrupted as error:
        return stopped(journal, str(error), UpgradeEnd.LOST)
    except DefinitionLost as error:
        if journal.goes_back:  # the operator and the freeze are all that is left to be undone
            return entering(structs.replace(journal, lost=str(error)), UpgradePhase.RESTARTED, now)
        return stopped(journal, f"{error}, so there is nothing left to convert", UpgradeEnd.STUCK)
    except Unfit as error:
        return stopped(journal, str(error), UpgradeEnd.STUCK)


def _entered(journal: UpgradeJournal, seen: UpgradeSnapshot, now: datetime) -> UpgradeOutcome:
    """A run begins, or goes on where another was, or turns round."""
    again = structs.replace(
        journal,
        run=seen.world.run,
        problem="",
        end=None,
        cursor="",
        place=0,
        passes=0,
        failures=(),
        leases={},
        frozen_at=None,
    )
    if not seen.world.back or journal.goes_back or journal.phase in FINAL:
        return moving(again, "go_on", now)
    forth = structs.replace(again, migration=None)
    return entering(forth, UpgradePhase.REVERTING if _has_defined(journal) else UpgradePhase.RESTARTED, now)


def _has_defined(journal: UpgradeJournal) -> bool:
    """Whether the definition may have been written."""
    is_before = journal.phase is UpgradePhase.INTRODUCED and journal.introduced_at is None
    return journal.phase not in UNDOES and not is_before


def _guarded(context: StepContext) -> UpgradeOutcome | None:
    """None while it is the definition of the beginning, and nobody else works with its objects."""
    context.definition()
    return kept_stopped(context)


def _introduce(context: StepContext) -> UpgradeOutcome:
    world, journal = context.world, context.journal
    if journal.introduced_at is None:  # written down before the first write: what is made later may be new
        if not is_as_before(context.definition(), world.before):
            text = (
                f"{journal.crd} was changed since the backup began, and its old versions would be written back as they"
                " were; nothing is converted yet, so undo this upgrade and begin another"
            )
            return stopped(journal, text, UpgradeEnd.CHANGED)
        return moving(structs.replace(journal, introduced_at=context.now), "introduce", context.now)
    context.define(lambda live: introduced(live, world.before, world.wanted, journal.new), "new storage")
    if not context.serves(journal.old, journal.new):
        return context.wait("await_new_version", about=context.lacks_versions)
    return context.enter(UpgradePhase.CONVERTING)


def _unserve(context: StepContext) -> UpgradeOutcome:
    world, new = context.world, context.journal.new
    removed = context.journal.remove
    context.define(lambda live: unserved(live, world.before, world.wanted, new, removed=removed), "old unserved")
    return context.enter(UpgradePhase.STARTED)


def _stored(context: StepContext, then: UpgradePhase) -> UpgradeOutcome:
    """A storage migration to its end: all objects are proven to be stored in the storage version."""
    journal, world = context.journal, context.world
    view = StorageView(
        crd=journal.crd, run=journal.phase.value, page_size=world.page, settle_seconds=world.settle_seconds
    )
    held = journal.migration
    if held is not None and held.problem and held.phase not in (Storage.INCOMPLETE, Storage.CONFLICT):
        held = structs.replace(held, problem="")  # it was stopped, and another run goes on
    if held is not None and held.phase in (Storage.INCOMPLETE, Storage.CONFLICT):
        held = None
    if held is not None and journal.freeze and not held.built_in_failed:
        # The cluster's own migration is somebody else, to whom writes are denied.
        held = structs.replace(held, built_in_failed="objects are frozen")
    turn = _storage_step(JobSnapshot(context.seen.record, context.seen.answers, view, held), context.now)
    if isinstance(turn, Need):
        return turn
    after = structs.replace(journal, migration=turn.journal)
    match turn.journal.phase:
        case Storage.CLEAN:
            return entering(structs.replace(after, migration=None), then, context.now)
        case Storage.INCOMPLETE | Storage.CONFLICT:
            return stopped(after, f"the migration did not end: {turn.journal.problem}", UpgradeEnd.FAILED)
    if turn.journal.problem:
        return stopped(after, turn.journal.problem, UpgradeEnd.STUCK)
    return StepResult(after, turn.decision)


def _finish(context: StepContext, phase: UpgradePhase) -> UpgradeOutcome:
    """People are told by an Event, and that nobody could be told stops nothing."""
    told = event_of(context, phase)
    if told not in context.seen.answers.known:
        raise Unanswered(told)
    done = structs.replace(context.journal, phase=phase, completed_at=context.now, cursor="")
    return StepResult(done, Decision("finish", Hold(Reason.COMPLETE)))


def _started(context: StepContext, phase: UpgradePhase) -> UpgradeOutcome:
    turn = start(context, phase)
    if isinstance(turn, Need):
        return turn
    return _finish(StepContext(context.seen, context.now, turn.journal), phase)


PHASES: dict[UpgradePhase, Callable[[StepContext], UpgradeOutcome]] = {
    UpgradePhase.BACKED_UP: lambda context: context.enter(UpgradePhase.STOPPED),
    UpgradePhase.STOPPED: stop,
    UpgradePhase.INTRODUCED: _introduce,
    UpgradePhase.CONVERTING: converting,
    UpgradePhase.CONVERTED: comparing,
    UpgradePhase.PRUNED: lambda context: _stored(context, UpgradePhase.OWNED),
    UpgradePhase.OWNED: own,
    UpgradePhase.POINTED: lambda context: point(context, context.world.new, context.enter(UpgradePhase.UNSERVED)),
    UpgradePhase.UNSERVED: _unserve,
    UpgradePhase.STARTED: lambda context: _started(context, UpgradePhase.DONE),
    UpgradePhase.REVERTING: revert,
    UpgradePhase.RESTORING: restoring,
    UpgradePhase.DISOWNED: lambda context: point(context, context.world.old, context.enter(UpgradePhase.FORGETTING)),
    UpgradePhase.FORGETTING: lambda context: _stored(context, UpgradePhase.REVERTED),
    UpgradePhase.REVERTED: take_back,
    UpgradePhase.RESTARTED: lambda context: _started(context, UpgradePhase.ROLLED_BACK),
}

GUARDED = frozenset(
    [*UpgradePhase][[*UpgradePhase].index(UpgradePhase.INTRODUCED) : [*UpgradePhase].index(UpgradePhase.RESTARTED)]
) - {UpgradePhase.STARTED, UpgradePhase.DONE}
"""Phases in which objects may be in two versions, which whoever works with them would take for one."""

decide = journaled(step, UpgradeJournal)
