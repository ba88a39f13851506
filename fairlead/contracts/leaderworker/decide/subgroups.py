"""Subgroups of a group: which one a pod belongs to (section 3.6)."""

from __future__ import annotations

from fairlead.contracts.leaderworker.decide.identity import parent_and_ordinal, subgroup_key
from fairlead.contracts.leaderworker.decide.pod_view import PodRefusal, PodView
from fairlead.contracts.leaderworker.kinds import (
    LEADER_EXCLUDED,
    LEADER_NAME,
    OLD_SUBGROUP_SIZE,
    SUBGROUP_INDEX,
    SUBGROUP_KEY,
    SUBGROUP_POLICY_TYPE,
    SUBGROUP_SIZE,
)


def has_subgroups(pod: PodView) -> bool:
    return SUBGROUP_SIZE in pod.annotations or OLD_SUBGROUP_SIZE in pod.annotations


def subgroup_size(pod: PodView) -> int:
    """Under its name, or under that of releases before 0.6 (section 3.7 step 3)."""
    key = SUBGROUP_SIZE if SUBGROUP_SIZE in pod.annotations else OLD_SUBGROUP_SIZE
    size = pod.number(key, pod.annotations[key], "annotation")
    if size < 1:
        raise PodRefusal(f"annotation {key} of pod {pod.name}: {size} is no size of a subgroup: at least 1 is needed")
    return size


def leader_of(pod: PodView) -> str:
    """The name of the leader of the pod's group."""
    if pod.is_leader:
        return pod.name
    return pod.annotations.get(LEADER_NAME) or parent_and_ordinal(pod.name)[0]


def worker_subgroup(size: int, subgroup: int, worker: int) -> int:
    """The index of a worker's subgroup.

    5 pods in subgroups of 2 are (0, 1, 2) and (3, 4), since the leader comes on top; 4 pods are (0, 1) and (2, 3).
    """
    is_extra = (size - 1) % subgroup == 0 and size % subgroup != 0
    return (worker - 1) // subgroup if is_extra else worker // subgroup


def join_subgroup(pod: PodView, size: int, worker: int) -> bool:
    """Labels the pod with its subgroup, and says whether it did.

    A pod that has the label keeps it, and a leader that is excluded belongs to none.
    """
    if not has_subgroups(pod) or pod.labels.get(SUBGROUP_INDEX):
        return False
    if pod.is_leader:
        if pod.annotations.get(SUBGROUP_POLICY_TYPE) == LEADER_EXCLUDED:
            return False
        index = 0
    else:
        index = worker_subgroup(size, subgroup_size(pod), worker)
    pod.label(SUBGROUP_INDEX, str(index))
    pod.label(SUBGROUP_KEY, subgroup_key(leader_of(pod), str(index)))
    return True
