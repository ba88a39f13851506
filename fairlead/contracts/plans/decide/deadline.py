"""The deadline of a plan (R-9): counted from the start of the batch, and not while somebody holds it."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from fairlead.contracts.plans.decide.turns import Pass, Turn
from fairlead.contracts.plans.kinds import (
    BATCH_READY,
    INITIALIZING,
    LOCATING,
    ROLLING,
    VERIFYING,
    RolloutPlan,
    RolloutStatus,
)

NEAR = 0.8
"""Of the time: from then on the deadline is near (R-33)."""
_TIMED = frozenset({LOCATING, VERIFYING, INITIALIZING, ROLLING})


def is_over(given: Pass) -> bool:
    return _has_passed(given, given.status, 1)


def noted(given: Pass, turn: Turn) -> Turn:
    """With the moment from which on the deadline of the batch is near, in the pass that finds it so."""
    if turn.status.deadline_near_time is not None or not _has_passed(given, turn.status, NEAR):
        return turn
    return replace(turn, status=replace(turn.status, deadline_near_time=given.now))


def end_of(plan: RolloutPlan, status: RolloutStatus, share: float = 1) -> datetime | None:
    """When this share of the time is over; None where it does not count, or never is."""
    seconds, start = plan.progress_deadline_seconds, status.batch_start_time
    if status.rolling_state not in _TIMED or not seconds or seconds < 0:
        return None
    if start is None or _is_held(plan, status) or status.paused_since is not None:
        return None
    try:
        return start + timedelta(seconds=share * seconds)
    except OverflowError:  # later than what a calendar holds
        return None


def _has_passed(given: Pass, status: RolloutStatus, share: float) -> bool:
    end = end_of(given.spec.rollout_plan, status, share)
    return end is not None and given.now >= end


def _is_held(plan: RolloutPlan, status: RolloutStatus) -> bool:
    if status.rolling_state != ROLLING:
        return False
    is_gated = plan.partition is not None and plan.partition <= status.current_batch
    return plan.paused or (status.batch_rolling_state == BATCH_READY and is_gated)
