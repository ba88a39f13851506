"""Which pods are of which group, by their labels and the names of their owners (section 5.32)."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.contracts.leaderworker.kinds import GROUP_INDEX, Pod
from fairlead.core.integers import parse_integer
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS


def members_of(name: str, pods: Iterable[Pod]) -> dict[int, list[Pod]]:
    """By the index of the group; pods of others that carry the labels are no members of a set of this name."""
    members: dict[int, list[Pod]] = {}
    for pod in pods:
        index = _index(pod)
        if index is not None and _owner(pod) in _owners(name, index):
            members.setdefault(index, []).append(pod)
    return members


def _index(pod: Pod) -> int | None:
    try:
        index = parse_integer(pod.metadata.labels.get(GROUP_INDEX, ""), bits=32)
    except ValueError:
        return None
    return index if index >= 0 else None


def _owners(name: str, index: int) -> tuple[tuple[str, str], ...]:
    """Kind and name of those that may control a pod of a group: the leader's, a worker's, or the leader itself."""
    leader = f"{name}-{index}"
    return (STATEFULSETS.kind, name), (STATEFULSETS.kind, leader), (PODS.kind, leader)


def _owner(pod: Pod) -> tuple[str, str]:
    return next(((each.kind, each.name) for each in pod.metadata.owner_references if each.controller), ("", ""))
