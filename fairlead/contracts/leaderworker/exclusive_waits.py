"""Pods that wait for a domain of nodes to themselves: what they need, and what would give it to them."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_SCOPE,
    EXCLUSIVE_TOPOLOGY,
    SUBGROUP_EXCLUSIVE_TOPOLOGY,
    SUBGROUP_KEY,
    WITHIN_SET,
    WORKER_INDEX,
    Pod,
)
from fairlead.contracts.leaderworker.shown import Shown
from fairlead.core.pod_trouble import UNSCHEDULABLE, PodTrouble

OTHER_PODS = "affinity rules"
"""Words of the scheduler wherever it is for the sake of other pods that a node is none."""


def is_excluded(pod: Pod, trouble: PodTrouble) -> bool:
    """Whether no node is found for the sake of other pods; what is shown of the scheduler's words may be cut off."""
    said = (each.message for each in pod.status.conditions if each.type == "PodScheduled")
    return trouble.reason == UNSCHEDULABLE and any(OTHER_PODS in each for each in said)


def needs_of(pod: Pod, trouble: PodTrouble) -> str:
    """What exclusive placement asks for, to be said after what the scheduler says; empty where that is not it."""
    needs = [
        f"its {what} needs nodes of one {topology} that no other {what}{_of_the_set(pod)} uses"
        for what, topology in _topologies(pod)
        if is_excluded(pod, trouble)
    ]
    return f": {', and '.join(needs)}" if needs else ""


def room_for(shown: Shown, index: int, pod: Pod, trouble: PodTrouble) -> tuple[str, ...]:
    """What would let the pod be placed."""
    topologies = sorted({topology for _, topology in _topologies(pod)})
    if not topologies or not is_excluded(pod, trouble):
        return ()
    given = shown.seen.set.metadata
    more = f"give it nodes of a further {' and '.join(topologies)}, or take some from others"
    if index < shown.seen.set.spec.replicas:
        return (f"{more}; or ask for fewer groups",)
    update = '{"maxSurge":0,"maxUnavailable":1}'
    path = f'{{"spec":{{"rolloutStrategy":{{"rollingUpdateConfiguration":{update}}}}}}}'
    command = f"kubectl -n {given.namespace} patch leaderworkerset {given.name} --type merge -p '{path}'"
    return (more, f"roll without a surge, so that each group has the place of the one before: {command}")


def _topologies(pod: Pod) -> Iterator[tuple[str, str]]:
    """Of what it is part, and the label of the nodes; workers follow their leader by another rule."""
    notes, labels = pod.metadata.annotations, pod.metadata.labels
    if labels.get(WORKER_INDEX) == "0" and (topology := notes.get(EXCLUSIVE_TOPOLOGY)):
        yield "group", topology
    if SUBGROUP_KEY in labels and (topology := notes.get(SUBGROUP_EXCLUSIVE_TOPOLOGY)):
        yield "subgroup", topology


def _of_the_set(pod: Pod) -> str:
    return " of the set" if pod.metadata.annotations.get(EXCLUSIVE_SCOPE) == WITHIN_SET else ""
