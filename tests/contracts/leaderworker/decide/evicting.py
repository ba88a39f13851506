"""A cluster of values that answers what reviews of evictions ask, and the reviews."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from msgspec import Raw

from fairlead.contracts.leaderworker.decide.evictions import EvictionSnapshot, judge
from fairlead.contracts.leaderworker.kinds import (
    DISRUPTION_BUDGET,
    GROUP_INDEX,
    NAME,
    SIZE,
    WORKER_INDEX,
    LeaderWorkerSet,
    Pod,
)
from fairlead.core.ask import (
    Answer,
    Bad,
    Good,
    Listing,
    Read,
)
from fairlead.core.decision import Admit
from kubeloop.objects.core import PODS, PodMeta, PodStatus
from kubeloop.objects.meta import Condition, OwnerReference
from kubeloop.objects.review import GroupVersionResource, Review
from tests.contracts.evicting import LiveRecords
from tests.contracts.leaderworker.decide.rounds import NOW
from tests.contracts.leaderworker.decide.some import a_set

RECORD = "group-evictions/default/a"


def a_member(index: int, worker: int = 0, *, ready: bool = True, phase: str = "Running", **meta: Any) -> Pod:
    """A pod of a group of two; the leader where `worker` is 0."""
    leader = f"a-{index}"
    labels = {NAME: "a", GROUP_INDEX: str(index), WORKER_INDEX: str(worker)}
    owner = meta.pop("owner", OwnerReference("StatefulSet", leader if worker else "a", "uid", controller=True))
    found = {
        "name": f"{leader}-{worker}" if worker else leader,
        "uid": f"pod-{index}-{worker}",
        "resource_version": "1",
        "namespace": "default",
        "labels": labels,
        "annotations": {SIZE: "2"},
        "owner_references": (owner,),
        **meta,
    }
    condition = Condition("Ready", "True" if ready else "False")
    return Pod(PodMeta(**found), PodStatus(phase, (condition,)))


class Live(LiveRecords):
    """A set and its pods."""

    def __init__(self, *pods: Pod, asked: str | None = "1", replicas: int = 3) -> None:
        super().__init__()
        self.pods = {pod.metadata.name: pod for pod in pods or all_members(replicas)}
        annotations = {} if asked is None else {DISRUPTION_BUDGET: asked}
        self.set: LeaderWorkerSet | None = a_set(replicas=replicas, annotations=annotations)
        self.review: dict[str, Any] = {}

    def shown(self, asked: Read | Listing) -> Answer:
        if isinstance(asked, Listing):
            return Good(msgspec.json.encode({"items": list(self.pods.values())}))
        found = self.pods.get(asked.ref.name) if asked.ref.resource == PODS else self.set
        return Bad("absent", "not found", 404) if found is None else Good(msgspec.json.encode(found))

    def evict(self, name: str, *, cached: bool = True, after: float = 0, **review: Any) -> Admit:
        seen = EvictionSnapshot(
            an_eviction(name, **review), self.pods.get(name) if cached else None, self.set if cached else None
        )
        return self.settle(seen, after)

    def settle(self, seen: EvictionSnapshot, after: float = 0) -> Admit:
        return self.settled(judge, seen, NOW + timedelta(seconds=after))

    @property
    def marked(self) -> list[str]:
        value, _ = self.records.get(RECORD, (b"", ""))
        return sorted(msgspec.json.decode(value)) if value else []

    def put(self, *pods: Pod) -> None:
        self.pods |= {pod.metadata.name: pod for pod in pods}


def all_members(replicas: int = 3) -> list[Pod]:
    return [a_member(index, worker) for index in range(replicas) for worker in range(2)]


def an_eviction(name: str, **changes: Any) -> Review:
    given = {
        "uid": "review",
        "name": name,
        "namespace": "default",
        "operation": "CREATE",
        "sub_resource": "eviction",
        "resource": GroupVersionResource("", "v1", "pods"),
        "object": Raw(msgspec.json.encode({"kind": "Eviction", **changes.pop("eviction", {})})),
        **changes,
    }
    return Review(**given)
