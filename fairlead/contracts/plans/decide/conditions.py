"""Conditions of a rollout (section 2.10): one of a type at most; a False one that says nothing new keeps its time."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from fairlead.contracts.plans.kinds import (
    ABANDONED,
    BATCH_CONDITIONS,
    DELETING,
    FAILED,
    FAILING,
    PAUSED_CONDITION,
    ROLLING,
    STATE_CONDITIONS,
    RolloutCondition,
    RolloutStatus,
)

TRUE, FALSE = "True", "False"
_GIVING_UP = frozenset(STATE_CONDITIONS[each] for each in (FAILING, ABANDONED, DELETING)) | {PAUSED_CONDITION}


def condition_type(status: RolloutStatus) -> str:
    """Of the present state; empty for a state that nobody knows."""
    if status.rolling_state == ROLLING:
        return BATCH_CONDITIONS.get(status.batch_rolling_state, "")
    return STATE_CONDITIONS.get(status.rolling_state, "")


def holds(status: RolloutStatus, kind: str, reason: str, message: str, now: datetime) -> RolloutStatus:
    """With this condition True; its time is now also where it was True before."""
    return _with(status, RolloutCondition(kind, TRUE, reason, message, _whole(now), status.observed_generation))


def still_holds(status: RolloutStatus, kind: str, reason: str, message: str, now: datetime) -> RolloutStatus:
    """With this condition True, since when it has been."""
    before = _found(status, kind)
    if before is not None and before.status == TRUE:
        return status
    return holds(status, kind, reason, message, now)


def fails(status: RolloutStatus, kind: str, reason: str, message: str, now: datetime) -> RolloutStatus:
    """With this condition False; what was said before in the same words keeps its time."""
    before = _found(status, kind)
    since = None
    if before is not None and (before.status, before.reason, before.message) == (FALSE, reason, message):
        since = before.last_transition_time
    return fails_anew(status, kind, reason, message, since or now)


def fails_anew(status: RolloutStatus, kind: str, reason: str, message: str, now: datetime) -> RolloutStatus:
    """With this condition False since now: an earlier attempt that ended in the same words did not end in this way."""
    return _with(status, RolloutCondition(kind, FALSE, reason, message, _whole(now), status.observed_generation))


def ended(status: RolloutStatus, kind: str, now: datetime) -> RolloutStatus:
    """With this condition False in the words that it had, where it was True."""
    before = _found(status, kind)
    if before is None or before.status != TRUE:
        return status
    return _with(status, replace(before, status=FALSE, last_transition_time=_whole(now)))


def is_true(status: RolloutStatus, kind: str) -> bool:
    before = _found(status, kind)
    return before is not None and before.status == TRUE


def said_since(status: RolloutStatus, kind: str) -> datetime | None:
    """Since when this condition has been False; None where it is not."""
    before = _found(status, kind)
    return before.last_transition_time if before is not None and before.status == FALSE else None


def reason_of(status: RolloutStatus, kind: str) -> str:
    before = _found(status, kind)
    return "" if before is None else before.reason


def message_of(status: RolloutStatus, kind: str) -> str:
    before = _found(status, kind)
    return "" if before is None else before.message


def cause(status: RolloutStatus) -> str:
    """What ended the attempt, as its condition says."""
    found = _cause(status)
    return "" if found is None else found.message


def cause_reason(status: RolloutStatus) -> str:
    """The word for what ended the attempt."""
    found = _cause(status)
    return "" if found is None else found.reason


def with_cause(status: RolloutStatus, reason: str) -> RolloutStatus:
    """With another word for what ended the attempt, because somebody has decided since how it goes on."""
    found = _cause(status)
    return status if found is None else _with(status, replace(found, reason=reason))


def ended_in(status: RolloutStatus, state: str) -> bool:
    """Whether it was in this state that the attempt came to its end; that it is deleted after a failure is none."""
    kept = tuple(each for each in status.conditions if each.type != STATE_CONDITIONS[FAILED])
    found = _cause(replace(status, conditions=kept))
    return found is not None and found.type == STATE_CONDITIONS[state]


def _cause(status: RolloutStatus) -> RolloutCondition | None:
    """The condition of a state at work that turned False last; waits while giving up are no cause."""
    failed = [
        (each.last_transition_time, place)
        for place, each in enumerate(status.conditions)
        if each.status == FALSE and each.last_transition_time is not None and each.type not in _GIVING_UP
    ]
    return status.conditions[max(failed)[1]] if failed else None


def _found(status: RolloutStatus, kind: str) -> RolloutCondition | None:
    return next((each for each in status.conditions if each.type == kind), None)


def _with(status: RolloutStatus, new: RolloutCondition) -> RolloutStatus:
    """Conditions keep their places, so that a status does not change by their order."""
    kept = list(dict.fromkeys(each.type for each in status.conditions))
    found = {each.type: each for each in reversed(status.conditions)} | {new.type: new}
    order = kept if new.type in kept else [*kept, new.type]
    return replace(status, conditions=tuple(found[each] for each in order))


def _whole(now: datetime) -> datetime:
    return now.replace(microsecond=0)
