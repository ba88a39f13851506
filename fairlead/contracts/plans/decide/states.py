"""The state machine of a rollout as one table: from a state, by an event, to a state (sections 3.2 and 3.3 and 3.4).

Inside of `rollingInBatches` the state of the batch is the state. An event that a state does not list is our mistake or
a status that somebody wrote: it ends the attempt with a sentence and never the process (R-10).
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide import conditions
from fairlead.contracts.plans.kinds import (
    ABANDONED,
    ABANDONING,
    BATCH_FINALIZING,
    BATCH_INITIALIZING,
    BATCH_READY,
    BATCH_REFUSED,
    BATCH_ROLLING,
    BATCH_STATES,
    BATCH_VERIFYING,
    DELETING,
    FAILED,
    FAILING,
    FINALISING,
    INITIALIZING,
    LOCATING,
    NO_TARGET_SIZE,
    ROLLING,
    STATE_CONDITIONS,
    STATES,
    SUCCEEDED,
    TERMINAL,
    VERIFYING,
    Carried,
    RolloutStatus,
)
from fairlead.core.reason import Reason

MODIFIED_TEXT = "Rollout Spec is modified"
DELETED_TEXT = "Rollout is being deleted"


class Event(Enum):
    """Under the names that logs, messages and metrics show."""

    LOCATED = "AppLocatedEvent"
    SPEC_VERIFIED = "RollingSpecVerifiedEvent"
    INITIALIZED = "RollingInitializedEvent"
    BATCH_INITIALIZED = "InitializedOneBatchEvent"
    BATCH_ROLLED = "RolloutOneBatchEvent"
    BATCH_AVAILABLE = "OneBatchAvailable"
    CHECK_REFUSED = "BatchRolloutFailedEvent"
    BATCH_FINISHED = "FinishedOneBatchEvent"
    ALL_FINISHED = "AllBatchFinishedEvent"
    BATCH_APPROVED = "BatchRolloutApprovedEvent"
    FINALIZED = "RollingFinalizedEvent"
    MODIFIED = "RollingModifiedEvent"
    DELETED = "RollingDeletedEvent"


class Edge(Struct, frozen=True):
    """Where an event leads."""

    state: str
    batch: str = BATCH_INITIALIZING
    is_next: bool = False
    """Whether the batch after the present one begins."""
    resets: bool = False
    """Whether a new attempt begins."""
    by_itself: bool = True
    """Whether the state ends as it should, so that its condition becomes True."""


_RESET = Edge(VERIFYING, resets=True)
_BATCHES = tuple((state, Event.CHECK_REFUSED) for state in BATCH_STATES)
_MODIFIABLE = (LOCATING, VERIFYING, INITIALIZING, *BATCH_STATES, FINALISING, FAILING, ABANDONED)

TABLE: dict[tuple[str, Event], Edge] = {
    (LOCATING, Event.LOCATED): Edge(VERIFYING),
    (VERIFYING, Event.SPEC_VERIFIED): Edge(INITIALIZING),
    (INITIALIZING, Event.INITIALIZED): Edge(ROLLING),
    (BATCH_INITIALIZING, Event.BATCH_INITIALIZED): Edge(ROLLING, BATCH_ROLLING, by_itself=False),
    (BATCH_ROLLING, Event.BATCH_ROLLED): Edge(ROLLING, BATCH_VERIFYING),
    (BATCH_VERIFYING, Event.BATCH_AVAILABLE): Edge(ROLLING, BATCH_FINALIZING),
    **dict.fromkeys(_BATCHES, Edge(FAILING, BATCH_REFUSED, by_itself=False)),
    (BATCH_FINALIZING, Event.BATCH_FINISHED): Edge(ROLLING, BATCH_READY),
    (BATCH_FINALIZING, Event.ALL_FINISHED): Edge(FINALISING, BATCH_READY),
    (BATCH_READY, Event.BATCH_APPROVED): Edge(ROLLING, BATCH_INITIALIZING, is_next=True),
    (FINALISING, Event.FINALIZED): Edge(SUCCEEDED, BATCH_READY),
    (FAILING, Event.FINALIZED): Edge(FAILED),
    (DELETING, Event.FINALIZED): Edge(FAILED),
    (ABANDONED, Event.FINALIZED): _RESET,
    **{(state, Event.MODIFIED): replace(_RESET, by_itself=False) for state in TERMINAL},
    **{(state, Event.MODIFIED): Edge(ABANDONED, by_itself=False) for state in _MODIFIABLE},
    **{(state, Event.DELETED): Edge(DELETING, by_itself=False) for state in (*_MODIFIABLE, DELETING, FAILED)},
}
_SAID = {Event.MODIFIED: MODIFIED_TEXT, Event.DELETED: DELETED_TEXT}
"""What the condition of the state says that such an event ends."""
_TIMED = frozenset({LOCATING, VERIFYING, INITIALIZING})
UNCLAIMED = frozenset({LOCATING, VERIFYING})
"""States in which nothing is claimed yet: a failure has nothing to release."""


def known(status: RolloutStatus) -> RolloutStatus:
    """With the state under the name that we write."""
    return replace(status, rolling_state=ABANDONED) if status.rolling_state == ABANDONING else status


def place(status: RolloutStatus) -> str:
    """The state that the table goes by."""
    return status.batch_rolling_state if status.rolling_state == ROLLING else status.rolling_state


def is_known(status: RolloutStatus, first: str = VERIFYING) -> bool:
    """Of a kind whose attempts begin in the state `first`: one whose target is there before locates nothing."""
    if status.rolling_state == LOCATING:
        return first == LOCATING
    if status.rolling_state == ROLLING:
        return status.batch_rolling_state in BATCH_STATES
    return status.rolling_state in STATES


def after(
    status: RolloutStatus, event: Event, now: datetime, *, is_last: bool = False, first: str = VERIFYING
) -> RolloutStatus:
    """The status once the event has happened; `is_last` says whether no batch comes after the present one.

    A new attempt begins in the state `first`. A target is located once: said again, that changes nothing.
    """
    if event is Event.LOCATED and status.rolling_state != LOCATING:
        return status
    edge = TABLE.get((place(status), event))
    if edge is None or (event, is_last) in ((Event.ALL_FINISHED, False), (Event.BATCH_FINISHED, True)):
        return illegal(status, event, now)
    left = _left(status, event, edge, now)
    if edge.resets:
        return reset(left, now, first)
    return _entered(left, edge, now)


def failed(status: RolloutStatus, reason: str, message: str, now: datetime) -> RolloutStatus:
    """R-9: what is wrong is said first; then the attempt ends, or is first released where something was claimed."""
    said = _ended(status, reason, message, now)
    if status.rolling_state in UNCLAIMED:
        return _entered(said, Edge(FAILED), now, message)
    return _entered(said, Edge(FAILING), now)


def check_refused(status: RolloutStatus, reason: str, message: str, now: datetime) -> RolloutStatus:
    """The batch gets no approval: its state says so to the end, and the workloads are released."""
    return after(_ended(status, reason, message, now), Event.CHECK_REFUSED, now)


def retried(status: RolloutStatus, reason: str, message: str, now: datetime) -> RolloutStatus:
    """The state stays, and its condition says why."""
    return _refused(status, reason, message, now)


def illegal(status: RolloutStatus, event: Event, now: datetime) -> RolloutStatus:
    """R-10."""
    message = f"the state {place(status) or 'without a name'} cannot follow the event {event.value}"
    return _entered(_refused(status, "IllegalTransition", message, now), Edge(FAILED), now, message)


def unknown(status: RolloutStatus, now: datetime) -> RolloutStatus:
    """Of a state that somebody else wrote."""
    batch = f" with the batch state {status.batch_rolling_state}" if status.rolling_state == ROLLING else ""
    message = f"the status has the unknown state {status.rolling_state}{batch}: change the target to start again"
    return _entered(status, Edge(FAILED), now, message)


def reverted(status: RolloutStatus) -> RolloutStatus:
    """Of a failed attempt that took everything back: its condition says so, and why it failed."""
    kind = STATE_CONDITIONS[FAILED]
    told = (
        replace(each, reason=Reason.ROLLOUT_REVERTED.word) if each.type == kind else each for each in status.conditions
    )
    return replace(status, conditions=tuple(told))


def is_reverted(status: RolloutStatus) -> bool:
    kind = STATE_CONDITIONS[FAILED]
    reason = next((each.reason for each in status.conditions if each.type == kind), "")
    return status.rolling_state == FAILED and reason == Reason.ROLLOUT_REVERTED.word


def reset(status: RolloutStatus, now: datetime, first: str = VERIFYING) -> RolloutStatus:
    """R-11: as before the first attempt, except for what the one before leaves to it."""
    return RolloutStatus(
        conditions=status.conditions,
        rolling_state=first,
        batch_rolling_state=BATCH_INITIALIZING,
        observed_generation=status.observed_generation,
        batch_start_time=now,
        carried=_carried(status),
        last_action=status.last_action,
        last_target_ref=status.last_target_ref,
        last_source_ref=status.last_source_ref,
    )


def _carried(status: RolloutStatus) -> Carried | None:
    """The workloads of an attempt that was verified and did not succeed, the older ones first, and its size."""
    if status.rolling_state == SUCCEEDED:
        return None
    if not status.target_generation or status.rollout_target_size == NO_TARGET_SIZE:
        return status.carried
    target = status.last_target_ref
    refs = (*(each.ref for each in status.sources), *(() if target is None else (target,)))
    return Carried(refs, status.rollout_target_size)


def _left(status: RolloutStatus, event: Event, edge: Edge, now: datetime) -> RolloutStatus:
    if edge.by_itself:
        return conditions.holds(status, conditions.condition_type(status), event.value.removesuffix("Event"), "", now)
    if event in _SAID and not edge.resets:
        return _refused(status, event.value.removesuffix("Event"), _SAID[event], now)
    return status


def _refused(status: RolloutStatus, reason: str, message: str, now: datetime) -> RolloutStatus:
    kind = conditions.condition_type(status)
    return conditions.fails(status, kind, reason, message, now) if kind else status


def _ended(status: RolloutStatus, reason: str, message: str, now: datetime) -> RolloutStatus:
    """The cause of an end is what turned False last, so it is newer than every wait before it."""
    kind = conditions.condition_type(status)
    return conditions.fails_anew(status, kind, reason, message, now) if kind else status


def _entered(status: RolloutStatus, edge: Edge, now: datetime, message: str = "") -> RolloutStatus:
    is_new_batch = edge.state == ROLLING and (edge.is_next or status.rolling_state != ROLLING)
    is_refused = (status.rolling_state, status.batch_rolling_state) == (FAILING, BATCH_REFUSED)
    entered = replace(
        status,
        rolling_state=edge.state,
        batch_rolling_state=BATCH_REFUSED if is_refused and edge.state == FAILED else edge.batch,
        current_batch=status.current_batch + edge.is_next,
        hook_failures=0,
    )
    if is_new_batch or edge.state in _TIMED:
        entered = replace(entered, batch_start_time=now, deadline_near_time=None)
    if is_new_batch:
        entered = replace(entered, batch_available_time=None, last_instance_time=None, metrics=())
    if edge.state in TERMINAL:
        text = message or (conditions.cause(status) if edge.state == FAILED else "")
        entered = conditions.holds(entered, STATE_CONDITIONS[edge.state], _WORDS[edge.state], text, now)
    return entered


_WORDS = {SUCCEEDED: "Complete", FAILED: "Failed"}
