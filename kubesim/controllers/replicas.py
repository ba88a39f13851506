"""What the controllers of ReplicaSets and Deployments read of sets and pods, and which pods they would rather lose.

Pods of a ReplicaSet have no identity: one is as good as another, so what is decided is how many, and which go first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cmp_to_key

import msgspec
from msgspec import Struct

from kubeloop.objects.apps import REPLICASETS
from kubeloop.objects.meta import LabelSelector, Meta, Resource
from kubesim.controllers.pods import Pod
from kubesim.controllers.statefulset_pods import is_available, is_ready, ready_condition

Tree = dict[str, object]

TEMPLATE_HASH = "pod-template-hash"
"""Label by which the pods and the ReplicaSets of one Deployment are told apart."""
FAILURE = "ReplicaFailure"

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


class SetMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}
    creation_timestamp: datetime | None = None


class SetCondition(Struct, frozen=True, rename="camel", omit_defaults=True):
    type: str
    status: str
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class SetSpec(Struct, frozen=True, rename="camel"):
    selector: LabelSelector
    template: Tree
    replicas: int = 1
    min_ready_seconds: int = 0


class SetStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Written as the real one is: zero counts are left out, but for `replicas` and, once known, what is going."""

    observed_generation: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    conditions: tuple[SetCondition, ...] = ()
    replicas: int | None = None


class ReplicaSet(Struct, frozen=True):
    metadata: SetMeta
    spec: SetSpec
    status: SetStatus = SetStatus()

    @property
    def size(self) -> int:
        """How many pods it shall have."""
        return self.spec.replicas

    @property
    def count(self) -> int:
        """How many pods its status says it has."""
        return self.status.replicas or 0


def as_tree(value: Struct) -> Tree:
    """As the API carries it: of lists and dicts alone."""
    return msgspec.json.decode(msgspec.json.encode(value), type=Tree)


def owner_reference(resource: Resource, meta: Meta) -> Tree:
    """That makes the object the controller of what carries it."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def new_pod(set_: ReplicaSet) -> Tree:
    """The pod that the set's template makes; its name is left to the server."""
    template = set_.spec.template
    given = template.get("metadata")
    given = given if isinstance(given, dict) else {}
    metadata: Tree = {
        "generateName": f"{set_.metadata.name}-",
        "ownerReferences": [owner_reference(REPLICASETS, set_.metadata)],
    }
    for key in ("labels", "annotations", "finalizers"):
        if given.get(key):
            metadata[key] = given[key]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def status_of(set_: ReplicaSet, active: Sequence[Pod], going: int, failure: str, now: datetime) -> SetStatus:
    """The status that follows from the pods as they were before this round changed them.

    `failure` is why pods could not be made or deleted, empty when all went well.
    """
    ready = [pod for pod in active if is_ready(pod)]
    metadata = set_.spec.template.get("metadata")
    labels = metadata.get("labels") or {} if isinstance(metadata, dict) else {}
    return SetStatus(
        observed_generation=set_.metadata.generation,
        fully_labeled_replicas=sum(labels.items() <= pod.metadata.labels.items() for pod in active),
        ready_replicas=len(ready),
        available_replicas=sum(is_available(pod, set_.spec.min_ready_seconds, now) for pod in ready),
        terminating_replicas=going,
        conditions=_conditions(set_, len(active), failure, now),
        replicas=len(active),
    )


def _conditions(set_: ReplicaSet, active: int, failure: str, now: datetime) -> tuple[SetCondition, ...]:
    """A failure is told once, with its first text, until there is none any more."""
    kept = set_.status.conditions
    known = any(each.type == FAILURE for each in kept)
    if failure and not known:
        reason = "FailedCreate" if active < set_.size else "FailedDelete"
        return (*kept, SetCondition(FAILURE, "True", now.replace(microsecond=0), reason, failure))
    return kept if failure else tuple(each for each in kept if each.type != FAILURE)


def doomed(active: Sequence[Pod], related: Iterable[Pod], count: int, now: datetime) -> list[Pod]:
    """The pods to delete when there are `count` too many; `related` are all pods of the same Deployment."""
    if count >= len(active):
        return list(active)
    crowd = Counter(pod.spec.node_name for pod in related if pod.is_active)

    def compare(one: Pod, other: Pod) -> int:
        for first, second in zip(_worth(one, crowd), _worth(other, crowd), strict=True):
            if first != second:
                return -1 if first < second else 1
        return _younger(one, other, now)

    return sorted(active, key=cmp_to_key(compare))[:count]


def _worth(pod: Pod, crowd: Counter[str]) -> tuple[int, ...]:
    """Pods with less go first: unbound, not running, not ready, cheap to lose, beside many of their kind."""
    cost = pod.metadata.annotations.deletion_cost
    return (
        int(bool(pod.spec.node_name)),
        _PHASES.get(pod.status.phase, 0),
        int(is_ready(pod)),
        int(cost) if cost.removeprefix("-").isdecimal() else 0,
        -crowd[pod.spec.node_name],
    )


def _younger(one: Pod, other: Pod, now: datetime) -> int:
    """Negative when the first goes first: it has been ready for less time, has restarted more often, or is newer.

    Times count by powers of two, so that a pod is not safe for being a little older; among equals the UID decides.
    """
    since, other_since = _ready_since(one), _ready_since(other)
    if since != other_since:
        return _by_age(since, other_since, one, other, now)
    if _restarts(one) != _restarts(other):
        return -1 if _restarts(one) > _restarts(other) else 1
    made, other_made = one.metadata.creation_timestamp, other.metadata.creation_timestamp
    return 0 if made == other_made else _by_age(made, other_made, one, other, now)


def _by_age(moment: datetime | None, other_moment: datetime | None, one: Pod, other: Pod, now: datetime) -> int:
    if moment is None or other_moment is None:
        return -1 if moment is None else 1
    age, other_age = _magnitude(now, moment), _magnitude(now, other_moment)
    if age != other_age:
        return age - other_age
    return -1 if one.metadata.uid < other.metadata.uid else 1


def _magnitude(now: datetime, moment: datetime) -> int:
    """The whole power of two of an age in nanoseconds."""
    age = (now - moment).total_seconds() * 1e9
    return int(math.log2(age)) if age > 0 else -1


def _ready_since(pod: Pod) -> datetime | None:
    condition = ready_condition(pod)
    return condition.last_transition_time if condition is not None and condition.status == "True" else None


def _restarts(pod: Pod) -> tuple[int, int]:
    """Of containers, then of sidecars."""
    sidecars = {each.name for each in pod.spec.init_containers if each.restart_policy == "Always"}
    return (
        max((each.restart_count for each in pod.status.container_statuses), default=0),
        max((each.restart_count for each in pod.status.init_container_statuses if each.name in sidecars), default=0),
    )
