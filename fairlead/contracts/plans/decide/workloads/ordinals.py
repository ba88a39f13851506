"""Pods of a StatefulSet, counted by the revision that they were made from; its status counts old pods as ready too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fairlead.contracts.plans.decide.workloads.live import Workload, at, number_at
from kubeloop.objects.apps import REVISION_LABEL

Pod = Mapping[str, Any]


def updated_from_top(target: Workload, pods: Iterable[Pod]) -> int:
    """How many pods are new, from the highest ordinal down to the first that is not.

    A partition cannot leave out a pod in the middle: of the ordinals 0 to 4, with 4 and 2 new, it counts 1.
    """
    start = number_at(target.tree, "spec.ordinals.start") or 0
    new = {_ordinal(target, each) for each in owned(target, pods) if is_updated(target, each)}
    count = 0
    while count < target.size and start + target.size - 1 - count in new:
        count += 1
    return count


def has_older_pods(target: Workload, pods: Iterable[Pod]) -> bool:
    return any(not is_updated(target, each) for each in owned(target, pods))


def updated_ready(target: Workload, pods: Iterable[Pod]) -> int:
    return sum(is_updated(target, each) and is_ready(each) for each in owned(target, pods))


def owned(target: Workload, pods: Iterable[Pod]) -> list[Pod]:
    """The pods that the workload controls."""
    return [each for each in pods if _controller(each) == target.uid]


def is_updated(target: Workload, pod: Pod) -> bool:
    revision = at(target.tree, "status.updateRevision")
    return bool(revision) and revision_of(pod) == revision


def revision_of(tree: Pod) -> str:
    labels = at(dict(tree), "metadata.labels")
    found = labels.get(REVISION_LABEL) if isinstance(labels, dict) else None
    return found if isinstance(found, str) else ""


def is_leaving(pod: Pod) -> bool:
    return at(dict(pod), "metadata.deletionTimestamp") is not None


def is_ready(pod: Pod) -> bool:
    found = at(dict(pod), "status.conditions")
    conditions = found if isinstance(found, list) else []
    return not is_leaving(pod) and any(
        isinstance(each, dict) and (each.get("type"), each.get("status")) == ("Ready", "True") for each in conditions
    )


def _controller(tree: Pod) -> str:
    owners = at(dict(tree), "metadata.ownerReferences")
    for each in owners if isinstance(owners, list) else []:
        if isinstance(each, dict) and each.get("controller") is True:
            return str(each.get("uid", ""))
    return ""


def _ordinal(target: Workload, pod: Pod) -> int:
    name = str(at(dict(pod), "metadata.name") or "")
    prefix, _, number = name.rpartition("-")
    return int(number) if prefix == target.name and number.isascii() and number.isdigit() else -1
