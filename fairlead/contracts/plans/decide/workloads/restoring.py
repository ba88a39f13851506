"""A workload that is updated in place gets the pod template of before (V-3 and V-4).

The pods of every component revision carry its name, which tells those that must go from those that may stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from fairlead.contracts.plans.applications.kinds import APPLIED
from fairlead.contracts.plans.decide.workloads.answers import Done, Removal, Step, WorkloadChange, Writes
from fairlead.contracts.plans.decide.workloads.attempt import Attempt, Before, stale
from fairlead.contracts.plans.decide.workloads.in_place import ON_DELETE
from fairlead.contracts.plans.decide.workloads.live import Style, Workload, at
from fairlead.contracts.plans.decide.workloads.ordinals import Pod, is_leaving, is_ready, owned
from fairlead.contracts.plans.kinds import COMPONENT_REVISION, Json
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref

_STRATEGY = "spec.updateStrategy"


def is_written(target: Workload, before: Before) -> bool:
    return _revision(at(target.template, "metadata.labels")) == before.revision


def values_of(target: Workload, before: Before, original: Json) -> dict[str, Any]:
    """By path: the template, and with it all pods may go back."""
    paths = target.kind.paths
    labels = target.metadata.get("labels")
    values: dict[str, Any] = {
        paths.template: before.template,
        "metadata.labels": {**(labels if isinstance(labels, dict) else {}), **before.labels},
    }
    if paths.partition:
        values[paths.partition] = 0
    if paths.paused:
        values[paths.paused] = False
    strategy = original.get("updateStrategy")
    if target.kind.style is Style.NODES and isinstance(strategy, dict):
        values[_STRATEGY] = strategy
    return values


def unapplied(change: WorkloadChange) -> WorkloadChange:
    """What was applied last is not what is there any more: whoever applies next writes everything."""
    metadata = change.body.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), APPLIED: None}
    return replace(change, body={**change.body, "metadata": {**metadata, "annotations": annotations}})


def removed(attempt: Attempt, target: Workload, before: Before) -> Step:
    """Pods that nobody else would take back.

    A DaemonSet that is updated on deletion takes none back by itself, and a StatefulSet waits for a pod that is not
    ready before it goes on to the next.
    """
    doomed = [*_doomed(attempt, target, before)]
    if not doomed:
        return Done()
    if not target.is_observed:
        return stale(target)
    namespace = target.ref.namespace
    refs = (Ref(PODS, namespace, str(at(each, "metadata.name")), str(at(each, "metadata.uid"))) for each in doomed)
    return Writes(tuple(Removal(each, target.ref) for each in refs), takes=True)


def _doomed(attempt: Attempt, target: Workload, before: Before) -> Iterator[Pod]:
    takes_all = target.kind.style is Style.NODES and target.update_type == ON_DELETE
    takes_broken = target.kind.style is Style.ORDINALS
    for each in owned(target, attempt.pods):
        revision = _revision(at(dict(each), "metadata.labels"))
        is_broken = takes_broken and revision is not None and not is_ready(each)
        if revision != before.revision and not is_leaving(each) and (takes_all or is_broken):
            yield dict(each)


def _revision(labels: object) -> object:
    return labels.get(COMPONENT_REVISION) if isinstance(labels, dict) else None
