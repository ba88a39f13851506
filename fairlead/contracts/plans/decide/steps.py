"""One step of each state (sections 3.2 and 3.3): at most one transition, and its writes before it.

A step reads the status and the live workloads alone. So whatever a process did before it died, the next one comes to
the same step, finds what is done already, and goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias, assert_never

from msgspec.structs import replace

from fairlead.contracts.plans.decide import hooks, modification, states
from fairlead.contracts.plans.decide.metrics import judgement
from fairlead.contracts.plans.decide.notes import HOOK_FAILED, UNSUPPORTED, VERIFY_FAILED, Note
from fairlead.contracts.plans.decide.revert_steps import is_back, reverted
from fairlead.contracts.plans.decide.spec_problems import spec_problem
from fairlead.contracts.plans.decide.states import Event
from fairlead.contracts.plans.decide.traffic import shifts
from fairlead.contracts.plans.decide.turns import Pass, Turn, fails, left_claims, moved, unfinished, waits
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Retry, Verified, Writes
from fairlead.contracts.plans.decide.workloads.live import Style
from fairlead.contracts.plans.kinds import (
    ABANDONED,
    BATCH_FINALIZING,
    BATCH_INITIALIZING,
    BATCH_READY,
    BATCH_REFUSED,
    BATCH_ROLLING,
    BATCH_VERIFYING,
    DELETING,
    FAILING,
    FINALISING,
    FINALIZE_HOOK,
    INITIALIZE_HOOK,
    INITIALIZING,
    LOCATING,
    POST_BATCH_HOOK,
    PRE_BATCH_HOOK,
    VERIFYING,
    RolloutStatus,
)
from fairlead.core.ask import Need

StateStep: TypeAlias = Callable[[Pass], "Turn | Need"]
_BOUNDED = frozenset({DELETING, ABANDONED})
"""States that hooks hold up only for so long (R-27)."""


def _located(given: Pass) -> Turn | Need:
    """Whoever makes the target of its kind has done so by now."""
    return moved(given, Event.LOCATED)


def _verify(given: Pass) -> Turn | Need:
    found = given.found
    if found.problem:
        note = Note(UNSUPPORTED, found.problem, warning=True)
        return fails(given, Fail(Why.KIND_UNSUPPORTED, found.problem), (note,))
    if problem := spec_problem(given.spec, given.seen.rollout.metadata.namespace, found.kind.style):
        return _refused_plan(given, problem)
    if problem := judgement.broken(given.spec.rollout_plan, given.seen.settings.metrics_server):
        return _refused_plan(given, problem)
    match found.handler.verify(found.attempt):
        case Retry() as retry:
            return waits(given, retry)
        case Fail() as fail:
            return _refused_plan(given, fail)
        case Verified() as verified:
            routed = shifts.probed(given)
            if not isinstance(routed, RolloutStatus):
                return _refused_plan(given, routed) if isinstance(routed, Fail) else routed
            status = replace(
                routed,
                rollout_target_size=verified.target_size,
                rollout_original_size=verified.original_size,
                target_generation=verified.identifier,
                effective_batches=verified.sizes,
                sources=verified.sources,
                upgraded_replicas=verified.original_size if found.is_scale else 0,
            )
            return judgement.probed(given) or moved(given, Event.SPEC_VERIFIED, status, told=verified.notes)
        case other:
            assert_never(other)


def _refused_plan(given: Pass, fail: Fail) -> Turn:
    return fails(given, fail, (Note(VERIFY_FAILED, fail.text, warning=True),))


def _initialize(given: Pass) -> Turn | Need:
    if (answer := _hooked(given, INITIALIZE_HOOK, given.status.rolling_state)) is not None:
        return answer
    step = given.found.handler.initialize(given.found.attempt, given.now)
    match step:
        case Done(start) | Writes(_, True, start):
            status = given.status if start is None else replace(given.status, start_target_size=start)
            changes = step.changes if isinstance(step, Writes) else ()
            return moved(given, Event.INITIALIZED, status, changes)
    return unfinished(given, step)


def _begin_batch(given: Pass) -> Turn | Need:
    answer = _hooked(given, PRE_BATCH_HOOK, given.status.batch_rolling_state)
    return moved(given, Event.BATCH_INITIALIZED) if answer is None else answer


def _roll(given: Pass) -> Turn | Need:
    attempt = given.found.attempt
    step = given.found.handler.roll(attempt, given.now)
    if (answer := shifts.before_pods_go(given, step)) is not None:
        return answer
    match step:
        case Done() | Writes(_, True):
            status = replace(given.status, upgraded_replicas=attempt.goal)
            return moved(given, Event.BATCH_ROLLED, status, step.changes if isinstance(step, Writes) else ())
    return unfinished(given, step)


def _verify_batch(given: Pass) -> Turn | Need:
    """Available, with its share of the traffic, approved by its metrics, and for as long as it has to soak (X-2)."""
    attempt = given.found.attempt
    status = replace(given.status, upgraded_ready_replicas=given.found.handler.ready(attempt))
    step = given.found.handler.check(attempt)
    if not isinstance(step, Done):
        lost = replace(status, batch_available_time=None)
        return waits(given, step, lost) if isinstance(step, Retry) else unfinished(given, step)
    since = min(status.batch_available_time or given.now, given.now)  # a clock that went back starts anew
    status = replace(status, batch_available_time=since)
    if (answer := shifts.ensured(given, status)) is not None:
        return answer
    judged = judgement.judged(given, shifts.weighed(given, status))
    if not isinstance(judged, judgement.Judged):
        return judged
    soak = max(0, given.spec.rollout_plan.batch(given.status.current_batch).soak_seconds)
    until = since + timedelta(seconds=soak)
    if given.now < until:
        next_look = until if judged.until is None else min(until, judged.until)
        soaking = Retry(Why.SOAKING, f"the batch has to stay available for {soak} s", next_look)
        return waits(given, soaking, judged.status, judged.notes)
    return moved(given, Event.BATCH_AVAILABLE, judged.status, told=judged.notes)


def _finish_batch(given: Pass) -> Turn | Need:
    """I-9: the last batch is done only while its pods are ready."""
    attempt, handler = given.found.attempt, given.found.handler
    step = handler.finish_batch(attempt)
    if isinstance(step, Done) and given.is_last:
        step = handler.available(attempt)
    if not isinstance(step, Done):
        return unfinished(given, step)
    if (answer := _hooked(given, POST_BATCH_HOOK, given.status.batch_rolling_state)) is not None:
        return answer
    event = Event.ALL_FINISHED if given.is_last else Event.BATCH_FINISHED
    return moved(given, event, is_last=given.is_last)


def _approve_batch(given: Pass) -> Turn | Need:
    """A batch that lost its pods gets no approval, and that alone fails nothing."""
    if (problem := _resized_batch(given)) is not None:
        return fails(given, problem)
    partition = given.spec.rollout_plan.partition
    if partition is not None and partition <= given.status.current_batch:
        return _held_by_partition(given)
    opened = reopened(given.status, given)
    step = given.found.handler.available(given.found.attempt)
    if isinstance(step, Retry):
        return waits(given, _with_drift(given, step), opened)
    return moved(given, Event.BATCH_APPROVED, opened) if isinstance(step, Done) else unfinished(given, step)


def _held_by_partition(given: Pass) -> Turn | Need:
    """Traffic and metrics are looked after while it lasts, and its length does not count for the deadline."""
    status = given.status
    if status.paused_since is None:
        status = replace(status, paused_since=given.now)
    if (answer := shifts.ensured(given, status)) is not None:
        return answer
    judged = judgement.watched(given, status)
    if not isinstance(judged, judgement.Judged):
        return judged
    text = f"batch {status.current_batch} is the last that may be rolled: raise the partition to go on"
    return Turn(status=judged.status, notes=judged.notes, why=Why.PARTITION_REACHED, text=text, until=judged.until)


def _with_drift(given: Pass, retry: Retry) -> Retry:
    """R-21: a size that somebody changed fails nothing here, and is the cause of the wait."""
    found = given.found.handler.check(given.found.attempt)
    if not isinstance(found, Fail):
        return retry
    return replace(retry, text=f"{retry.text}: {found.text}; put it back, or stop the rollout")


def _resized_batch(given: Pass) -> Fail | None:
    """R-6: a batch that was rolled gets no further pods, so a plan that wants more of it would be waited for for ever.

    Those of a DaemonSet are recorded, and follow its nodes.
    """
    rolled, goal = given.status.upgraded_replicas, given.found.attempt.goal
    if given.found.kind.style is Style.NODES or rolled == goal:
        return None
    batch = given.status.current_batch
    return Fail(
        Why.DRIFT, f"batch {batch} was rolled with the goal {rolled}, and the plan gives it the goal {goal} now"
    )


def reopened(status: RolloutStatus, given: Pass) -> RolloutStatus:
    """After a pause or a wait for the partition: its length does not count for the deadline."""
    if status.paused_since is None:
        return status
    start = status.batch_start_time
    moved_on = None if start is None else start + max(timedelta(0), given.now - status.paused_since)
    return replace(status, paused_since=None, batch_start_time=moved_on)


def _refuse_batch(given: Pass) -> Turn | Need:
    """Of a status that somebody wrote: the check that refused this batch released nothing."""
    return fails(given, Fail(Why.DRIFT, "a check refused the batch"))


def _succeed(given: Pass) -> Turn | Need:
    if (answer := shifts.settled(given)) is not None:
        return answer
    answer = _released(given, succeeded=True, keeps_original=False)
    if answer is not None:
        return answer
    status = replace(given.status, last_applied_pod_template_identifier=given.status.target_generation)
    return moved(given, Event.FINALIZED, status)


def _give_up(given: Pass) -> Turn | Need:
    """Everything is released: after a failure, for another target, or because the rollout is deleted."""
    state = given.status.rolling_state
    if (back := reverted(given) or shifts.cleared(given)) is not None:
        return back
    answer = _released(given, succeeded=False, keeps_original=state != DELETING)
    if answer is not None:
        return answer
    turn = moved(given, Event.FINALIZED)
    if state == ABANDONED:
        return replace(turn, status=modification.recorded(turn.status, given.spec))
    if state == FAILING and is_back(given):
        return replace(turn, status=states.reverted(turn.status))
    return replace(turn, is_over=state == DELETING)


def _released(given: Pass, *, succeeded: bool, keeps_original: bool) -> Turn | Need | None:
    """None once nothing is claimed any more and the last hooks have accepted."""
    attempt = given.found.attempt
    if given.status.target_generation:  # else this attempt has claimed nothing
        step = given.found.handler.finish(attempt, succeeded=succeeded, keeps_original=keeps_original)
        if not isinstance(step, Done):
            return unfinished(given, step)
    elif claims := left_claims(given):
        return unfinished(given, Writes(claims))
    return _hooked(given, FINALIZE_HOOK, given.status.rolling_state)


def _hooked(given: Pass, kind: str, phase: str) -> Turn | Need | None:
    """None once the hooks of this phase have accepted, or hold nothing up any more."""
    batch = given.status.current_batch if kind in (PRE_BATCH_HOOK, POST_BATCH_HOOK) else None
    named = hooks.hooks_of(given.spec.rollout_plan, batch, kind)
    is_bounded = given.status.rolling_state in _BOUNDED
    if not named or (is_bounded and given.status.hook_failures >= hooks.MOST_FAILURES):
        return None
    answer = hooks.called(named, given.seen.rollout, given.status, phase, given.seen.answers)
    if not isinstance(answer, hooks.HookRefused):
        return answer
    status = replace(given.status, hook_failures=hooks.failures(given.status, answer.text, given.now))
    until = given.now + timedelta(seconds=hooks.AGAIN)
    return waits(given, Retry(Why.HOOK_REFUSED, answer.text, until), status, (Note(HOOK_FAILED, answer.text, True),))


STEPS: dict[str, StateStep] = {
    LOCATING: _located,
    VERIFYING: _verify,
    INITIALIZING: _initialize,
    BATCH_INITIALIZING: _begin_batch,
    BATCH_ROLLING: _roll,
    BATCH_VERIFYING: _verify_batch,
    BATCH_REFUSED: _refuse_batch,
    BATCH_FINALIZING: _finish_batch,
    BATCH_READY: _approve_batch,
    FINALISING: _succeed,
    FAILING: _give_up,
    ABANDONED: _give_up,
    DELETING: _give_up,
}
"""By the state that the table of `states` goes by; those that are missing have ended."""
