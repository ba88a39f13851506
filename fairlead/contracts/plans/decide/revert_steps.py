"""Steps of an attempt that goes back (section 3.17): workloads and traffic, and then everything is released."""

from __future__ import annotations

from fairlead.contracts.plans.decide.notes import REVERTED, Note
from fairlead.contracts.plans.decide.traffic import shifts
from fairlead.contracts.plans.decide.turns import Pass, Turn, unfinished
from fairlead.contracts.plans.decide.workloads import reverts
from fairlead.contracts.plans.decide.workloads.answers import Done, Writes
from fairlead.contracts.plans.kinds import DELETING, FAILING
from fairlead.core.ask import Need


def is_back(given: Pass) -> bool:
    terms = _terms(given)
    found = given.found
    return terms is not None and isinstance(reverts.revert(found.attempt, found.kind.style, given.now, terms), Done)


def reverted(given: Pass) -> Turn | Need | None:
    """None where nothing goes back, and once everything is back and released."""
    found, state = given.found, given.status.rolling_state
    terms = _terms(given)
    if terms is None:
        return None
    step = reverts.revert(found.attempt, found.kind.style, given.now, terms)
    is_left = isinstance(step, reverts.Incomplete) and step.is_left
    done = Done() if is_left else step
    if isinstance(done, Done | Writes):
        back = shifts.returned(given, terms, done)
        if isinstance(back, Turn | Need):
            return back
        step = back or step
    status = shifts.weighed_back(given) if isinstance(step, Done) or is_left else given.status
    match step:
        case Done():
            freed, note = reverts.released(found.attempt), Note(REVERTED, "the workloads are as they were before")
        case reverts.Incomplete(text, is_left=True):
            freed, note = reverts.released(found.attempt), Note(REVERTED, text, warning=True)
        case reverts.Incomplete(text):
            freed = found.handler.finish(found.attempt, succeeded=False, keeps_original=state != DELETING)
            note = Note(REVERTED, text, warning=True)
        case _:
            return unfinished(given, step)
    if not isinstance(freed, Writes):
        return None
    return Turn(status=status, changes=freed.changes, notes=(note,))


def _terms(given: Pass) -> reverts.Terms | None:
    """How the attempt goes back; None where it does not."""
    attempt, is_scale = given.found.attempt, given.found.is_scale
    if given.status.rolling_state == DELETING and reverts.is_due_on_deletion(attempt):
        since = given.seen.rollout.metadata.deletion_timestamp or given.now
        return reverts.Terms(since, is_scale, attempt.plan.is_decrease_first)
    if given.status.rolling_state == FAILING and reverts.is_due_on_failure(attempt):
        return reverts.Terms(given.status.batch_start_time or given.now, is_scale)
    return None
