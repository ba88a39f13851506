"""One object whose pods are updated in place, as many as its partition lets (section 3.7).

A partition is how many pods stay old, so T - goal. It only falls within an attempt: with 5 pods and the goals 1, 3 and
5 it goes 5, 4, 2, 0. CloneSets and custom kinds tell their counts themselves; those of a StatefulSet are counted.
"""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.plans.decide.batches import Mismatch, Span, batches_of
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import (
    Done,
    Fail,
    Purpose,
    Retry,
    Step,
    Verified,
    WorkloadChange,
    Writes,
)
from fairlead.contracts.plans.decide.workloads.attempt import (
    Attempt,
    hindrance,
    missing,
    observed_target,
    partition_fell,
    stale,
    unapplied,
)
from fairlead.contracts.plans.decide.workloads.claims import claim, controlled, is_claimed, release
from fairlead.contracts.plans.decide.workloads.instances import may_go
from fairlead.contracts.plans.decide.workloads.live import Style, Workload, at
from fairlead.contracts.plans.decide.workloads.ordinals import has_older_pods, updated_from_top, updated_ready
from fairlead.contracts.plans.decide.workloads.pair import NO_PODS_PICKED, autoscaler_notes
from fairlead.contracts.plans.kinds import Json

ON_DELETE = "OnDelete"
DELETED_ONLY = "its pods are updated by deleting them only"
NOT_FROZEN = "in the middle of updating, need to be paused first"


def verify(attempt: Attempt) -> Verified | Retry | Fail:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    if problem := _unfit(attempt, target):
        return problem
    batches = batches_of(attempt.plan, Span(target.size, target.size))
    if isinstance(batches, Mismatch):
        return Fail(Why.BATCH_SUM, batches.text)
    return Verified(
        target_size=target.size,
        original_size=target.size,
        identifier=target.identifier,
        sizes=batches.sizes,
        notes=tuple(autoscaler_notes(attempt, (target,))),
    )


def _unfit(attempt: Attempt, target: Workload) -> Retry | Fail | None:
    if any(each.pod_list for each in attempt.plan.rollout_batches or ()):
        return Fail(Why.SPEC_INVALID, NO_PODS_PICKED)
    if target.update_type == ON_DELETE:
        return Fail(Why.SPEC_INVALID, f"the {target.shown} cannot be rolled: {DELETED_ONLY}")
    if problem := controlled(target, attempt.owner, attempt.gone):
        return problem
    if waits := unapplied(attempt, target):
        return waits
    if not target.is_observed:
        return stale(target)
    if not target.is_settled:
        text = f"the {target.shown} is still scaling: it has {target.status_size} of {target.size} pods"
        return Retry(Why.WORKLOAD_SCALING, text)
    wanted = attempt.plan.target_size
    if wanted is not None and wanted != target.size:
        text = f"targetSize is {wanted}, but the {target.shown} has {target.size} replicas"
        return Fail(Why.SPEC_INVALID, text)
    if not _is_frozen(attempt, target):
        return Fail(Why.NOT_FROZEN, f"the {target.shown} is {NOT_FROZEN}")
    return None


def _is_frozen(attempt: Attempt, target: Workload) -> bool:
    """Whether no pod is updated before the first batch."""
    if target.kind.style is Style.ORDINALS:
        start = target.size - updated_from_top(target, attempt.pods)
        return target.partition >= start or not has_older_pods(target, attempt.pods)
    partition = at(target.tree, target.kind.paths.partition)
    return target.is_paused or partition == "100%" or (_is_number(partition) and target.partition >= target.size)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def initialize(attempt: Attempt, _now: datetime) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    if problem := controlled(target, attempt.owner, attempt.gone):
        return problem
    if is_claimed(target, attempt.owner):
        return Done()
    if not target.is_observed:
        return stale(target)
    if problem := _resized(attempt, target):
        return problem
    paths = target.kind.paths
    values = {
        paths.partition: target.size - _updated(attempt, target),
        **({paths.paused: False} if paths.paused else {}),
    }
    change = claim(target, attempt.owner, attempt.gone, values, _original(target))
    return Writes((change,), completes=True) if change is not None else Done()


def _original(target: Workload) -> Json:
    paths = target.kind.paths
    paused = {"paused": target.is_paused} if paths.paused else {}
    return {"replicas": target.size, "partition": at(target.tree, paths.partition), **paused}


def _updated(attempt: Attempt, target: Workload) -> int:
    """Pods that are new before the first batch."""
    if target.kind.style is Style.ORDINALS:
        return updated_from_top(target, attempt.pods)
    return min(target.size, target.updated)


def roll(attempt: Attempt, now: datetime) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    if problem := _drifted(attempt, target):
        return problem
    goal = _instance(attempt, target)
    wanted = attempt.size - goal
    if target.partition <= wanted:
        return Done()
    if attempt.interval:
        is_ready = ready(attempt) + attempt.tolerance >= goal - 1
        waits = may_go(attempt, goal - 1, now, is_ready=is_ready) if target.is_observed else stale(target)
        if waits is not None:
            return waits
    return Writes((_advanced(target, wanted),), completes=goal == attempt.goal, left=wanted)


def _instance(attempt: Attempt, target: Workload) -> int:
    if not attempt.interval:
        return attempt.goal
    return min(attempt.goal, max(attempt.goal_before, attempt.size - target.partition) + 1)


def _advanced(target: Workload, partition: int) -> WorkloadChange:
    said = (f"partition {target.partition}", f"partition {partition}")
    return target.changed({target.kind.paths.partition: partition}, Purpose.ADVANCE, said)


def check(attempt: Attempt) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    return _drifted(attempt, target) or _held_back(attempt, target) or available(attempt)


def available(attempt: Attempt) -> Step:
    target = observed_target(attempt)
    if isinstance(target, Retry):
        return target
    found = ready(attempt)
    if found + attempt.tolerance >= attempt.goal:
        return Done()
    allowed = f" ({attempt.tolerance} may be missing)" if attempt.tolerance else ""
    text = f"{found} of {attempt.goal} new pods of the {target.shown} are ready{allowed}{hindrance(target)}"
    return Retry(Why.PODS_NOT_READY, text)


def finish_batch(attempt: Attempt) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    if problem := partition_fell(attempt) or _drifted(attempt, target) or _held_back(attempt, target):
        return problem
    return miscounted(attempt) or Done()


def miscounted(attempt: Attempt) -> Fail | None:
    """The status says of the batch what it cannot have come to."""
    low, high = sorted((attempt.goal_before, attempt.goal))
    if low <= attempt.status.upgraded_replicas <= high:
        return None
    text = f"upgradedReplicas is {attempt.status.upgraded_replicas}, which is not from {low} to {high}"
    return Fail(Why.DRIFT, text)


def finish(attempt: Attempt, *, succeeded: bool, keeps_original: bool) -> Step:
    target = attempt.target
    if target is None:
        return Done()
    paths = target.kind.paths
    if succeeded:
        values: dict[str, object] = {paths.partition: 0}
    else:
        values = {paths.paused: True} if paths.paused else {}
    change = release(target, attempt.owner, values, keeps_original=keeps_original)
    return Done() if change is None else Writes((change,), completes=True)


def ready(attempt: Attempt) -> int:
    target = attempt.target
    if target is None:
        return 0
    return updated_ready(target, attempt.pods) if target.kind.style is Style.ORDINALS else target.updated_ready


def _resized(attempt: Attempt, target: Workload) -> Fail | None:
    if target.size == attempt.size:
        return None
    text = f"the {attempt.named(target)} has {target.size} replicas; expected: {attempt.size}"
    return Fail(Why.DRIFT, text)


def _drifted(attempt: Attempt, target: Workload) -> Fail | None:
    """R-21(b)."""
    if not is_claimed(target, attempt.owner):
        return Fail(Why.DRIFT, f"somebody took the claim off the {target.shown}")
    if target.update_type == ON_DELETE:
        path = target.kind.paths.update_type
        return Fail(Why.DRIFT, f"somebody changed {path} of the {target.shown} to {ON_DELETE}: {DELETED_ONLY}")
    return _resized(attempt, target)


def _held_back(attempt: Attempt, target: Workload) -> Fail | None:
    """A batch that was rolled waits for pods that the partition keeps old: nobody would ever lower it again."""
    wanted = attempt.size - attempt.goal
    if target.partition <= wanted:
        return None
    text = f"the partition of the {attempt.named(target)} is {target.partition}; expected: {wanted}"
    return Fail(Why.DRIFT, text)
