"""DaemonSets (section 3.7): pods are new once the old ones are deleted, a batch at a time, in the order of their nodes.

The size is that of the cluster: when nodes come or go, T follows them, the one exception to I-10.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fairlead.contracts.plans.decide.batches import Mismatch, Span, batches_of
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Removal, Retry, Step, Verified, Writes
from fairlead.contracts.plans.decide.workloads.attempt import (
    Attempt,
    missing,
    observed_target,
    partition_fell,
    stale,
    unapplied,
)
from fairlead.contracts.plans.decide.workloads.claims import claim, controlled, is_claimed, original_of, release
from fairlead.contracts.plans.decide.workloads.in_place import NOT_FROZEN, ON_DELETE, miscounted
from fairlead.contracts.plans.decide.workloads.instances import may_go
from fairlead.contracts.plans.decide.workloads.live import Workload, at, number_at
from fairlead.contracts.plans.decide.workloads.ordinals import Pod, is_leaving, is_ready, owned, revision_of
from fairlead.contracts.plans.kinds import Json
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref

STRATEGY = "spec.updateStrategy"


def size_of(target: Workload) -> int:
    return number_at(target.tree, "status.desiredNumberScheduled") or 0


def verify(attempt: Attempt) -> Verified | Retry | Fail:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    if problem := controlled(target, attempt.owner, attempt.gone):
        return problem
    if waits := unapplied(attempt, target):
        return waits
    if not target.is_observed:
        return stale(target)
    size = size_of(target)
    wanted = attempt.plan.target_size
    if wanted is not None and wanted != size:
        return Fail(Why.SPEC_INVALID, f"targetSize is {wanted}, but the {target.shown} has {size} pods, one per node")
    if newest(attempt, target) == "":
        return Retry(Why.STATUS_STALE, f"waiting for a ControllerRevision of the {target.shown}")
    if target.update_type != ON_DELETE and old_pods(attempt, target):
        return Fail(Why.NOT_FROZEN, f"the {target.shown} is {NOT_FROZEN}: set {STRATEGY}.type to {ON_DELETE}")
    if unfit := _unfit_names(attempt, target):
        return Fail(Why.SPEC_INVALID, f"podList names {unfit}")
    batches = batches_of(attempt.plan, Span(size, size))
    if isinstance(batches, Mismatch):
        return Fail(Why.BATCH_SUM, batches.text)
    return Verified(target_size=size, original_size=size, identifier=target.identifier, sizes=batches.sizes)


def _unfit_names(attempt: Attempt, target: Workload) -> str:
    """The first that no batch could bring; empty where there is none."""
    old = {_name(each) for each in old_pods(attempt, target)}
    named: set[str] = set()
    for batch in attempt.plan.rollout_batches or ():
        for name in batch.pod_list:
            if name not in old:
                return f"{name}, which is no old pod of the {target.shown}"
            if name in named:
                return f"{name} twice, and it is replaced once"
            named.add(name)
    return ""


def newest(attempt: Attempt, target: Workload) -> str:
    """The revision of the newest template; empty where there is none."""
    found = [(number_at(dict(each), "revision") or 0, revision_of(each)) for each in owned(target, attempt.revisions)]
    return max(found)[1] if found else ""


def old_pods(attempt: Attempt, target: Workload) -> list[Pod]:
    """Pods of other templates that stay unless somebody deletes them, in the order of their nodes."""
    revision = newest(attempt, target)
    stay = [each for each in owned(target, attempt.pods) if revision_of(each) != revision and not is_leaving(each)]
    return sorted(stay, key=lambda each: (str(at(dict(each), "spec.nodeName") or ""), _name(each)))


def kept_new(attempt: Attempt, target: Workload) -> int:
    """How many pods are new, or come: a node whose old pod does not stay gets a new one."""
    return max(0, size_of(target) - len(old_pods(attempt, target)))


def _new_ready(attempt: Attempt, target: Workload) -> int:
    revision = newest(attempt, target)
    return sum(revision_of(each) == revision and is_ready(each) for each in owned(target, attempt.pods))


def initialize(attempt: Attempt, _now: datetime) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    if problem := controlled(target, attempt.owner, attempt.gone):
        return problem
    if is_claimed(target, attempt.owner):
        return Done()
    original: Json = {"updateStrategy": at(target.tree, STRATEGY)}
    change = claim(target, attempt.owner, attempt.gone, {STRATEGY: {"type": ON_DELETE}}, original)
    return Writes((change,), completes=True) if change is not None else Done()


def roll(attempt: Attempt, now: datetime) -> Step:
    """Old pods are deleted until no more than T - goal are left."""
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    if problem := _drifted(attempt, target):
        return problem
    if not target.is_observed:
        return stale(target)
    old = old_pods(attempt, target)
    doomed = _doomed(attempt, old)
    if not doomed:
        return Done()
    if attempt.interval:
        went = max(attempt.goal_before, attempt.size - len(old))
        is_ready = _new_ready(attempt, target) + attempt.tolerance >= went
        if waits := may_go(attempt, went, now, is_ready=is_ready):
            return waits
        doomed = doomed[:1]
    is_all = len(doomed) == len(_doomed(attempt, old))
    removals = tuple(Removal(_ref(target, each), target.ref) for each in doomed)
    return Writes(removals, completes=is_all, left=len(old) - len(doomed))


def _doomed(attempt: Attempt, old: list[Pod]) -> list[Pod]:
    """Those that the batch names, else the first ones, and those that a later batch names after all others."""
    named = attempt.plan.batch(attempt.batch).pod_list
    if named:
        return [each for each in old if _name(each) in named]
    later = {name for batch in (attempt.plan.rollout_batches or ())[attempt.batch + 1 :] for name in batch.pod_list}
    ordered = sorted(old, key=lambda each: _name(each) in later)
    return ordered[: max(0, len(old) - (attempt.size - attempt.goal))]


def check(attempt: Attempt) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    return _drifted(attempt, target) or _outdated(attempt, target) or available(attempt)


def available(attempt: Attempt) -> Step:
    target = observed_target(attempt)
    if isinstance(target, Retry):
        return target
    found = _new_ready(attempt, target)
    if found + attempt.tolerance >= attempt.goal:
        return Done()
    return Retry(Why.PODS_NOT_READY, f"{found} of {attempt.goal} new pods of the {target.shown} are ready")


def finish_batch(attempt: Attempt) -> Step:
    target = attempt.target
    if target is None:
        return missing(attempt.target_ref)
    problem = partition_fell(attempt) or _drifted(attempt, target) or _outdated(attempt, target)
    return problem or miscounted(attempt) or Done()


def finish(attempt: Attempt, *, succeeded: bool, keeps_original: bool) -> Step:
    """After a success the update strategy is again what it was; a failure leaves pods as they are."""
    target = attempt.target
    if target is None:
        return Done()
    values: dict[str, Any] = {}
    before = (original_of(target) or {}).get("updateStrategy")
    if succeeded and isinstance(before, dict):
        values = {STRATEGY: before}
    change = release(target, attempt.owner, values, keeps_original=keeps_original)
    return Done() if change is None else Writes((change,), completes=True)


def ready(attempt: Attempt) -> int:
    return 0 if attempt.target is None else _new_ready(attempt, attempt.target)


def _drifted(attempt: Attempt, target: Workload) -> Fail | None:
    if not is_claimed(target, attempt.owner):
        return Fail(Why.DRIFT, f"somebody took the claim off the {target.shown}")
    if target.update_type != ON_DELETE:
        text = f"somebody changed {STRATEGY} of the {target.shown} to {target.update_type or 'nothing'}"
        return Fail(Why.DRIFT, text)
    return None


def _outdated(attempt: Attempt, target: Workload) -> Fail | None:
    """A batch that was rolled waits for pods that have become old since: nobody would ever delete them."""
    old, left = len(old_pods(attempt, target)), attempt.size - attempt.goal
    if old <= left:
        return None
    text = f"{old} pods of the {target.shown} are of an older template than its newest; expected: {left}"
    return Fail(Why.DRIFT, text)


def _ref(target: Workload, pod: Pod) -> Ref:
    metadata = at(dict(pod), "metadata")
    uid = str(metadata.get("uid", "")) if isinstance(metadata, dict) else ""
    return Ref(PODS, target.ref.namespace, _name(pod), uid)


def _name(pod: Pod) -> str:
    return str(at(dict(pod), "metadata.name") or "")
