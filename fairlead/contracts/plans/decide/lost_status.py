"""An attempt whose status lacks what verification records is verified again, from the workloads as they are.

An operator of another release records less, and the API server forgets fields that the definition did not have yet
when they were written. Going on without them would take a pair for a workload that is scaled.
What such an attempt claimed is released first: a CloneSet in the middle of its update is paused then, and may be
verified; and the claim of another release, which has no guard, would let a rollout that is deleted take its workloads
along.
So would a verification that saw a workload updated in place as it was before its newest template: its claim would
let all pods have that template at once.
"""

from __future__ import annotations

from datetime import timedelta

from fairlead.contracts.plans.decide import conditions, modification, notes
from fairlead.contracts.plans.decide.notes import Note
from fairlead.contracts.plans.decide.turns import Pass, Turn, waits
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Retry, Writes
from fairlead.contracts.plans.decide.workloads.claims import is_claimed
from fairlead.contracts.plans.decide.workloads.handlers import starts_as_scale
from fairlead.contracts.plans.kinds import INITIALIZING, ROLLING

TEXT = "the status lacks what verification records: the workloads are verified again as they are"
NEW_TEMPLATE = "the workload has got another template: it is verified again as it is"
SPACING = timedelta(seconds=1)
"""A definition that was just written comes into force in about so long."""


def verify_again(given: Pass, _wrong: tuple[str, ...]) -> Turn | None:
    """Only of what every release stores; a status that lacks more is nobody's."""
    status = given.status
    if _is_upgrade_by_now(given):
        return _again(given, NEW_TEMPLATE)
    is_verified = status.target_generation and status.rollout_target_size >= 0 and status.current_batch >= 0
    if status.rolling_state not in (INITIALIZING, ROLLING) or status.effective_batches or not is_verified:
        return None
    kind = conditions.condition_type(status)
    since = conditions.said_since(status, kind)
    if since is None or conditions.message_of(status, kind) != TEXT or given.now < since + SPACING:
        return waits(given, Retry(Why.STATUS_LOST, TEXT, given.now + SPACING))
    return _again(given, TEXT)


def _is_upgrade_by_now(given: Pass) -> bool:
    """R-25: what was verified as a scale, and is not claimed yet, has pods of an older template."""
    attempt = given.found.attempt
    target = attempt.target
    if given.status.rolling_state != INITIALIZING or not given.found.is_scale or target is None:
        return False
    if is_claimed(target, attempt.owner) or not target.is_observed:
        return False
    return not starts_as_scale(target, given.found.kind.style, has_source=False)


def _again(given: Pass, text: str) -> Turn:
    again = modification.recorded(given.begun_again, given.spec)
    step = given.found.handler.finish(given.found.attempt, succeeded=False, keeps_original=True)
    freed = step.changes if isinstance(step, Writes) else ()
    return Turn(status=again, changes=freed, notes=(Note(notes.RESTARTED, text),))
