"""Scale mode (section 3.8): no source, so the one workload grows or shrinks to `targetSize`, batch by batch."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.plans.decide.batches import Mismatch, Span, batches_of
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Purpose, Retry, Step, Verified, Writes
from fairlead.contracts.plans.decide.workloads.attempt import (
    Attempt,
    hindrance,
    missing,
    observed_target,
    partition_fell,
    stale,
)
from fairlead.contracts.plans.decide.workloads.claims import claim, controlled, is_claimed, release
from fairlead.contracts.plans.decide.workloads.in_place import miscounted
from fairlead.contracts.plans.decide.workloads.instances import may_go
from fairlead.contracts.plans.decide.workloads.live import Style, Workload
from fairlead.contracts.plans.decide.workloads.pair import NO_PODS_PICKED, autoscaler_notes


def verify(attempt: Attempt) -> Verified | Retry | Fail:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    if not target.is_observed:  # whether it is to be scaled at all is known from its status
        return stale(target)
    wanted = attempt.plan.target_size
    if target.kind.style is Style.NODES:
        text = f"the {target.shown} has one pod per node and cannot be scaled"
        return Fail(Why.SPEC_INVALID, f"{text}, and {_nothing_new(target)}")
    if wanted is None:
        text = "no source was found" if target.kind.style is Style.PAIR else _nothing_new(target)
        return Fail(Why.SPEC_INVALID, f"{text}, so targetSize must say what to scale to")
    if any(each.pod_list for each in attempt.plan.rollout_batches or ()):
        return Fail(Why.SPEC_INVALID, NO_PODS_PICKED)
    if problem := controlled(target, attempt.owner, attempt.gone):
        return problem
    if not _is_stable(target):
        text = f"the {target.shown} has {target.status_size} of {target.size} pods, {target.updated} of them updated"
        return Retry(Why.WORKLOAD_SCALING, text)
    batches = batches_of(attempt.plan, Span(wanted, target.size, is_scale=True))
    if isinstance(batches, Mismatch):
        return Fail(Why.BATCH_SUM, batches.text)
    return Verified(
        target_size=wanted,
        original_size=target.size,
        identifier=target.identifier,
        sizes=batches.sizes,
        notes=tuple(autoscaler_notes(attempt, (target,))),
    )


def _is_stable(target: Workload) -> bool:
    if target.is_paused:
        return True
    updated = target.updated if target.kind.paths.updated else target.status_size
    return target.size == target.status_size == updated


def _nothing_new(target: Workload) -> str:
    """Of a workload that is updated in place: mostly somebody expects an upgrade of it."""
    return f"all pods of the {target.shown} are of its newest template already"


def initialize(attempt: Attempt, _now: datetime) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    if problem := controlled(target, attempt.owner, attempt.gone):
        return problem
    if not is_claimed(target, attempt.owner) and not target.is_observed:
        return stale(target)
    paths = target.kind.paths
    values: dict[str, object] = {paths.paused: False} if paths.paused and target.is_paused else {}
    original = {"replicas": target.size, **({"paused": target.is_paused} if paths.paused else {})}
    change = claim(target, attempt.owner, attempt.gone, values, original)
    return Writes((change,), completes=True) if change is not None else Done()


def roll(attempt: Attempt, now: datetime) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    if problem := _drifted(attempt, target, is_rolling=True):
        return problem
    goal, is_shrinking = _instance(attempt, target), attempt.settled.span.is_shrinking
    if target.size == goal:
        return Done()
    if attempt.interval:
        if not target.is_observed:
            return stale(target)
        is_ready = target.ready <= target.size if is_shrinking else target.ready + attempt.tolerance >= target.size
        if waits := may_go(attempt, target.size, now, is_ready=is_ready):
            return waits
    said = (f"replicas {target.size}", f"replicas {goal}")
    change = target.changed({target.kind.paths.replicas: goal}, Purpose.RESIZE, said)
    return Writes((change,), completes=goal == attempt.goal)


def _instance(attempt: Attempt, target: Workload) -> int:
    """One pod further on the way to the goal."""
    if not attempt.interval or target.size == attempt.goal:
        return attempt.goal
    return target.size - 1 if attempt.settled.span.is_shrinking else target.size + 1


def check(attempt: Attempt) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    return _drifted(attempt, target, is_rolling=False) or available(attempt)


def available(attempt: Attempt) -> Step:
    target = observed_target(attempt)
    if isinstance(target, Retry):
        return target
    goal, found = attempt.goal, target.ready
    if attempt.settled.span.is_shrinking:
        fits, text = found <= goal, f"{found} pods of the {target.shown} are ready, and {goal} stay"
    else:
        fits = found + attempt.tolerance >= goal
        text = f"{found} of {goal} pods of the {target.shown} are ready{hindrance(target)}"
    return Done() if fits else Retry(Why.PODS_NOT_READY, text)


def finish_batch(attempt: Attempt) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    problem = partition_fell(attempt) or _drifted(attempt, target, is_rolling=False)
    return problem or miscounted(attempt) or Done()


def finish(attempt: Attempt, *, succeeded: bool, keeps_original: bool) -> Step:
    """The size stays whatever came of it: `succeeded` changes nothing."""
    del succeeded
    if attempt.target is None:
        return Done()
    change = release(attempt.target, attempt.owner, {}, keeps_original=keeps_original)
    return Done() if change is None else Writes((change,), completes=True)


def ready(attempt: Attempt) -> int:
    return 0 if attempt.target is None else attempt.target.ready


def _drifted(attempt: Attempt, target: Workload, *, is_rolling: bool) -> Fail | None:
    if not is_claimed(target, attempt.owner):
        return Fail(Why.DRIFT, f"somebody took the claim off the {target.shown}")
    low, high = sorted((attempt.goal_before, attempt.goal)) if is_rolling else (attempt.goal, attempt.goal)
    if target.size in (low, high) or (attempt.interval and low <= target.size <= high):
        return None
    expected = f"{low} or {high}" if low != high else f"{low}"
    return Fail(Why.DRIFT, f"the {attempt.named(target)} has {target.size} replicas; expected: {expected}")
