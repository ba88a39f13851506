"""What one step of the state machine comes to: the status after it, with what is written and told before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide import notes, states
from fairlead.contracts.plans.decide.located import Located
from fairlead.contracts.plans.decide.notes import Note
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.states import Event
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import reverts
from fairlead.contracts.plans.decide.workloads.answers import (
    Done,
    Fail,
    Removal,
    Retry,
    Stamp,
    Step,
    WorkloadChange,
    Writes,
)
from fairlead.contracts.plans.decide.workloads.claims import is_claimed, release
from fairlead.contracts.plans.kinds import FAILING, ROLLING, RolloutStatus, TraitSpec
from fairlead.core.act import AnyWrite
from kubeloop.objects.meta import Ref

PASSING = frozenset({Why.STATUS_STALE, Why.PODS_NOT_READY, Why.SOURCE_NOT_SHRUNK})
"""Waits of a batch in which nothing is wrong."""
YOUNG = timedelta(seconds=5)
"""Batches that are over sooner never tell of such waits, as with an operator that looks every five seconds (R-3)."""


class Turn(Struct, frozen=True, kw_only=True):
    status: RolloutStatus
    routed: tuple[AnyWrite, ...] = ()
    """Of routes; written first."""
    changes: tuple[WorkloadChange | Removal, ...] = ()
    """Written before the status."""
    notes: tuple[Note, ...] = ()
    why: Why | None = None
    """What is waited for, or what failed; None when it goes on."""
    text: str = ""
    about: Ref | None = None
    """What is waited for, where it is not the rollout itself."""
    until: datetime | None = None
    """When the wait is over by itself, where that is known."""
    is_over: bool = False
    """Whether the rollout may go: its finalizer is taken off instead of storing the status."""


class Pass(Struct, frozen=True):
    """One pass over a rollout: what was seen, and what was made of it so far."""

    seen: TraitSeen
    spec: TraitSpec
    status: RolloutStatus
    now: datetime
    found: Located

    @property
    def is_in_known_state(self) -> bool:
        return states.is_known(self.status, self.seen.rollout.first_state)

    @property
    def begun_again(self) -> RolloutStatus:
        """R-11: as before the first attempt of its kind."""
        return states.reset(self.status, self.now, self.seen.rollout.first_state)

    @property
    def is_last(self) -> bool:
        """Whether no batch comes after the present one."""
        return self.status.current_batch >= self.found.attempt.settled.last


def moved(
    given: Pass,
    event: Event,
    status: RolloutStatus | None = None,
    changes: Sequence[WorkloadChange | Removal] = (),
    told: Sequence[Note] = (),
    *,
    is_last: bool = False,
) -> Turn:
    """The event happens, to this status where it is another than that of the pass."""
    before = given.status if status is None else status
    first = given.seen.rollout.first_state
    after = states.after(before, event, given.now, is_last=is_last, first=first)
    note = notes.of_event(event, state=after.rolling_state, batch=before.current_batch, is_scale=given.found.is_scale)
    return Turn(status=after, changes=tuple(changes), notes=(*told, *(() if note is None else (note,))))


def waits(given: Pass, retry: Retry, status: RolloutStatus | None = None, told: Sequence[Note] = ()) -> Turn:
    """The state stays, and its condition says why; a wait that is about to pass by itself is not stored."""
    before = given.status if status is None else status
    if (stored := _stored_at(given, retry)) is not None:
        after = replace(before, upgraded_ready_replicas=given.status.upgraded_ready_replicas)
        return Turn(status=after, notes=tuple(told), why=retry.why, text=retry.text, until=stored)
    after = states.retried(before, retry.why.word, retry.text, given.now)
    return Turn(status=after, notes=tuple(told), why=retry.why, text=retry.text, until=retry.until)


def _stored_at(given: Pass, retry: Retry) -> datetime | None:
    """When a wait that every batch has gets into the status; None: now. Each pod would be a write otherwise."""
    start = given.seen.rollout.read_status.batch_start_time
    if retry.why not in PASSING or start is None or given.status.rolling_state != ROLLING:
        return None
    deadline = given.spec.rollout_plan.progress_deadline_seconds or 0
    if 0 < deadline <= YOUNG.total_seconds():
        return None  # its end would have no cause to tell
    return start + YOUNG if start <= given.now < start + YOUNG else None


def fails(given: Pass, fail: Fail, told: Sequence[Note] = ()) -> Turn:
    """R-9."""
    return _ended(given, states.failed(given.status, fail.why.word, fail.text, given.now), fail, told)


def refuses(given: Pass, fail: Fail, status: RolloutStatus, told: Sequence[Note] = ()) -> Turn:
    """The batch gets no approval, which its state says to the end."""
    return _ended(given, states.check_refused(status, fail.why.word, fail.text, given.now), fail, told)


def _ended(given: Pass, after: RolloutStatus, fail: Fail, told: Sequence[Note]) -> Turn:
    """The time to go back in is counted from here."""
    if after.rolling_state == FAILING and reverts.is_due_on_failure(replace(given.found.attempt, status=after)):
        after = replace(after, batch_start_time=given.now)
    return Turn(status=after, notes=tuple(told), why=fail.why, text=fail.text)


def left_claims(given: Pass) -> tuple[WorkloadChange, ...]:
    """What takes off claims that no attempt here has made: another release ends attempts without releasing anything.

    What is of no kind that is rolled is none of them: an Application is adopted, and set free in another way.
    """
    attempt = given.found.attempt
    workloads = (*attempt.live_sources, *(() if attempt.target is None else (attempt.target,)))
    claimed = (each for each in workloads if not given.found.problem and is_claimed(each, attempt.owner))
    changes = (release(each, attempt.owner, {}) for each in claimed)
    return tuple(each for each in changes if each is not None)


def unfinished(given: Pass, step: Step) -> Turn:
    match step:
        case Writes(changes):
            return Turn(status=given.status, changes=changes)
        case Stamp(upgraded):
            status = replace(given.status, last_instance_time=given.now, upgraded_replicas=upgraded)
            return Turn(status=status)
        case Retry():
            return waits(given, step)
        case Fail():
            return fails(given, step)
        case Done():
            return Turn(status=given.status)
        case _:
            assert_never(step)
