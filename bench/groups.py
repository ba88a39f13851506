"""Sees groups of LeaderWorkerSets from outside, by watches of its own, and knows when sets are complete.

Every event of a pod is kept, and how many groups of a set were down at once is counted from them afterwards, in the
order of resource versions, which is the order in which the store committed them.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

import msgspec
from msgspec import Struct

from bench.narrow import Line, Listing, Meta
from bench.watching import changes, present
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from kubeloop.request import Transport

SETS = Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet")
NAME_LABEL = "leaderworkerset.sigs.k8s.io/name"
INDEX_LABEL = "leaderworkerset.sigs.k8s.io/group-index"


class Container(Struct, frozen=True):
    image: str = ""


class PodSpec(Struct, frozen=True):
    containers: tuple[Container, ...] = ()


class Condition(Struct, frozen=True):
    type: str
    status: str


class PodStatus(Struct, frozen=True):
    conditions: tuple[Condition, ...] = ()


class Pod(Struct, frozen=True):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_ready(self) -> bool:
        ready = any(each.type == "Ready" and each.status == "True" for each in self.status.conditions)
        return ready and self.metadata.deletion_timestamp is None


class SetStatus(Struct, frozen=True, rename="camel"):
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class LeaderWorkerSet(Struct, frozen=True):
    metadata: Meta
    status: SetStatus = SetStatus()

    @property
    def is_available(self) -> bool:
        """By what it says of its newest generation."""
        holds = {each.type for each in self.status.conditions if each.status == "True"}
        return self.status.observed_generation == self.metadata.generation and "Available" in holds


class Event(Struct, frozen=True):
    """What one change left of a pod."""

    version: int
    set: str
    index: str
    pod: str
    ready: bool
    gone: bool


class Goal(Struct, frozen=True):
    """Sets that are complete when all their pods are ready with the image and they say that they are available."""

    names: tuple[str, ...]
    pods: int
    image: str


class Observer:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self._pods: dict[str, dict[str, Pod]] = defaultdict(dict)
        self._sets: dict[str, LeaderWorkerSet] = {}
        self._goal = Goal((), 0, "")
        self._open: set[str] = set()
        self._complete = asyncio.Event()
        self._complete_at = 0.0

    @property
    def unfinished(self) -> list[str]:
        return sorted(self._open)

    def expect(self, goal: Goal) -> None:
        self._goal = goal
        self._open = {name for name in goal.names if not self._is_complete(name)}
        self._complete.clear()

    async def complete(self) -> float:
        """When, on the monotonic clock, the last set was seen to be complete."""
        await self._complete.wait()
        return self._complete_at

    def see_pod(self, line: Line[Pod]) -> None:
        pod, gone = line.object, line.type == "DELETED"
        meta = pod.metadata
        name = meta.labels.get(NAME_LABEL, "")
        index = meta.labels.get(INDEX_LABEL, "")
        self.events.append(Event(int(meta.resource_version), name, index, meta.name, pod.is_ready and not gone, gone))
        if gone:
            self._pods[name].pop(meta.name, None)
        else:
            self._pods[name][meta.name] = pod
        self._look_at(name)

    def see_set(self, line: Line[LeaderWorkerSet]) -> None:
        name = line.object.metadata.name
        if line.type == "DELETED":
            self._sets.pop(name, None)
        else:
            self._sets[name] = line.object
        self._look_at(name)

    def _look_at(self, name: str) -> None:
        if name in self._open and self._is_complete(name):
            self._open.discard(name)
        elif name in self._goal.names and not self._is_complete(name):
            self._open.add(name)
        if not self._open and self._goal.names and not self._complete.is_set():
            self._complete_at = time.monotonic()
            self._complete.set()

    def _is_complete(self, name: str) -> bool:
        found, pods = self._sets.get(name), self._pods[name].values()
        if found is None or not found.is_available or len(pods) != self._goal.pods:
            return False
        return all(pod.is_ready and pod.spec.containers[0].image == self._goal.image for pod in pods)


def most_down(events: Iterable[Event], replicas: int, size: int) -> int:
    """The most groups of one set that were down at once, since all of them were up.

    A group is up while it has all its pods and all of them are ready.
    """
    ready: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    whole: set[str] = set()
    most = 0
    for event in sorted(events, key=lambda each: each.version):
        group = ready[event.set][event.index]
        if event.ready:
            group.add(event.pod)
        else:
            group.discard(event.pod)
        up = sum(len(pods) == size for pods in ready[event.set].values())
        if up >= replicas:
            whole.add(event.set)
        if event.set in whole:
            most = max(most, replicas - up)
    return most


_pods = msgspec.json.Decoder(Listing[Pod]).decode
_sets = msgspec.json.Decoder(Listing[LeaderWorkerSet]).decode
_pod_line = msgspec.json.Decoder(Line[Pod]).decode
_set_line = msgspec.json.Decoder(Line[LeaderWorkerSet]).decode


@asynccontextmanager
async def observing(transport: Transport, namespace: str) -> AsyncIterator[Observer]:
    """Watches while the context lasts; a watch that breaks ends what runs inside with an error."""
    observer = Observer()
    sets, pods = _sets(await present(transport, SETS, namespace)), _pods(await present(transport, PODS, namespace))
    for one in sets.items:
        observer.see_set(Line("ADDED", one))
    for pod in pods.items:
        observer.see_pod(Line("ADDED", pod))

    async def watch_sets() -> None:
        async for line in changes(transport, SETS, namespace, sets.metadata.resource_version, _set_line):
            observer.see_set(line)

    async def watch_pods() -> None:
        async for line in changes(transport, PODS, namespace, pods.metadata.resource_version, _pod_line):
            observer.see_pod(line)

    async with asyncio.TaskGroup() as tasks:
        watches: Sequence[asyncio.Task[None]] = [tasks.create_task(watch()) for watch in (watch_sets, watch_pods)]
        try:
            yield observer
        finally:
            for task in watches:
                task.cancel()
