"""Sees a rollout from outside, by watches of its own, and knows when it is over.

Every event of a pod is kept for the judgement afterwards (see `replay`). Whether a zone is finished is worked out again
only for the zone an event is about, so that watching costs the machine as little as possible.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

from bench.cases import Zone
from bench.narrow import Line, Pod, StatefulSet, pod_line, pods_in, statefulset_line, statefulsets_in
from bench.replay import Event
from bench.watching import changes, present
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.request import Transport


class Observer:
    """The state of one namespace as its watches show it."""

    def __init__(self, zones: Iterable[Zone]) -> None:
        self.events: list[Event] = []
        self.last_event = time.monotonic()
        """When something last changed."""
        self._zones = {zone.name: zone for zone in zones}
        self._pods: dict[str, dict[str, Pod]] = defaultdict(dict)
        self._sets: dict[str, StatefulSet] = {}
        self._goal: Mapping[str, int] = {}
        self._records = False
        self._open: set[str] = set(self._zones)
        self._finished = asyncio.Event()
        self._finished_at = 0.0

    @property
    def revisions(self) -> dict[str, str]:
        """The update revision of every zone."""
        return {name: zone.status.update_revision for name, zone in self._sets.items()}

    @property
    def unfinished(self) -> list[str]:
        return sorted(self._open)

    def shown(self, zones: Iterable[str]) -> list[str]:
        """The pods of these zones in a few words, for a message."""
        pods = [pod for zone in zones for _, pod in sorted(self._pods[zone].items())]
        return [f"{pod.metadata.name} {pod.status.phase}{' ready' if pod.is_ready else ''}" for pod in pods]

    def expect(self, generations: Mapping[str, int], *, records: bool) -> None:
        """From now on a zone is finished when all its pods are ready at the revision of this generation.

        With `records` its status must also name that revision as the current one, which an operator writes. A zone
        without a generation is watched and not waited for.
        """
        self._goal = generations
        self._records = records
        self._open = {zone for zone in self._zones if zone in generations and not self._is_finished(zone)}
        self._finished.clear()
        self._look()

    async def finished(self) -> float:
        """When, on the monotonic clock, the last zone was seen to be finished."""
        await self._finished.wait()
        return self._finished_at

    async def quiet_for(self, seconds: float) -> None:
        """Returns when nothing has changed for so long."""
        while True:
            rest = self.last_event + seconds - time.monotonic()
            if rest <= 0:
                return
            await asyncio.sleep(rest)

    def see_pod(self, line: Line[Pod]) -> None:
        pod = line.object
        gone = line.type == "DELETED"
        self.events.append(
            Event(
                int(pod.metadata.resource_version),
                pod.zone,
                pod.metadata.name,
                pod.metadata.uid,
                pod.revision,
                pod.is_ready,
                pod.is_terminating,
                gone,
                time.monotonic(),
            )
        )
        if gone:
            self._pods[pod.zone].pop(pod.metadata.name, None)
        else:
            self._pods[pod.zone][pod.metadata.name] = pod
        self._look_at(pod.zone)

    def see_set(self, line: Line[StatefulSet]) -> None:
        name = line.object.metadata.name
        if line.type == "DELETED":
            self._sets.pop(name, None)
        else:
            self._sets[name] = line.object
        self._look_at(name)

    def _look_at(self, zone: str) -> None:
        self.last_event = time.monotonic()
        if self._is_finished(zone):
            self._open.discard(zone)
        elif zone in self._zones and zone in self._goal:
            self._open.add(zone)
        self._look()

    def _look(self) -> None:
        if not self._open and not self._finished.is_set():
            self._finished_at = self.last_event
            self._finished.set()

    def _is_finished(self, name: str) -> bool:
        seen = self._sets.get(name)
        if seen is None or name not in self._goal or seen.status.observed_generation < self._goal[name]:
            return False
        status = seen.status
        if self._records and status.current_revision != status.update_revision:
            return False
        pods = self._pods[name].values()
        return len(pods) == self._zones[name].pods and all(
            pod.is_ready and pod.revision == status.update_revision for pod in pods
        )


@asynccontextmanager
async def observing(transport: Transport, namespace: str, zones: Iterable[Zone]) -> AsyncIterator[Observer]:
    """Watches while the context lasts; a watch that breaks ends what runs inside with an error."""
    observer = Observer(zones)
    sets = statefulsets_in(await present(transport, STATEFULSETS, namespace))
    pods = pods_in(await present(transport, PODS, namespace))
    for zone in sets.items:
        observer.see_set(Line("ADDED", zone))
    for pod in pods.items:
        observer.see_pod(Line("ADDED", pod))

    async def watch_sets() -> None:
        version = sets.metadata.resource_version
        async for line in changes(transport, STATEFULSETS, namespace, version, statefulset_line):
            observer.see_set(line)

    async def watch_pods() -> None:
        async for line in changes(transport, PODS, namespace, pods.metadata.resource_version, pod_line):
            observer.see_pod(line)

    async with asyncio.TaskGroup() as tasks:
        watches = [tasks.create_task(watch()) for watch in (watch_sets, watch_pods)]
        try:
            yield observer
        finally:
            for task in watches:
                task.cancel()
