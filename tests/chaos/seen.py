"""Pods and StatefulSets as they are, and as one operator has been told of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec
from msgspec import Struct

from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from kubesim.store.record import Entry
from tests import invariants

Key: TypeAlias = tuple[str, str]

_pod = msgspec.json.Decoder(Pod)
_statefulset = msgspec.json.Decoder(StatefulSet)


class Zone(Struct, frozen=True):
    """A StatefulSet and its pods, as they were told or as they are."""

    statefulset: StatefulSet
    pods: tuple[Pod, ...]

    @property
    def name(self) -> str:
        return self.statefulset.metadata.name

    @property
    def down(self) -> frozenset[str]:
        """Names of its pods that are not ready or missing."""
        present = {pod.metadata.name for pod in self.pods}
        unready = {pod.metadata.name for pod in self.pods if not invariants._is_ready(pod)}
        return frozenset(unready | (set(wanted(self.statefulset)) - present))

    @property
    def is_ready(self) -> bool:
        """Rule 10 with H-7."""
        status = self.statefulset.status
        expected = max(self.statefulset.spec.replicas, status.replicas)
        return not self.down and status.replicas == status.ready_replicas and len(self.pods) >= expected

    @property
    def outdated(self) -> list[str]:
        return sorted(pod.metadata.name for pod in self.pods if not self.is_current(pod))

    def is_current(self, pod: Pod) -> bool:
        return invariants._revision(pod) == self.statefulset.status.update_revision

    @property
    def is_stale(self) -> bool:
        observed = self.statefulset.status.observed_generation
        return observed is not None and observed < self.statefulset.metadata.generation

    @property
    def is_paused(self) -> bool:
        return self.statefulset.metadata.annotations.get("grafana.com/rollout-paused") == "true"


class Fact(Struct, frozen=True):
    """An object as one write left it; a deleted one leaves None."""

    version: int
    key: Key
    object: Pod | StatefulSet | None


def fact_of(entry: Entry) -> Fact:
    body = entry.event.new.body
    into = _pod if entry.resource.plural == "pods" else _statefulset
    item = None if entry.type == "DELETED" else into.decode(body)
    return Fact(entry.event.revision, (entry.namespace, entry.name), item)


class State:
    """Pods and StatefulSets at some moment."""

    def __init__(self) -> None:
        self.pods: dict[Key, Pod] = {}
        self.statefulsets: dict[Key, StatefulSet] = {}

    def take(self, plural: str, fact: Fact) -> None:
        match fact.object:
            case Pod() as pod:
                self.pods[fact.key] = pod
            case StatefulSet() as statefulset:
                self.statefulsets[fact.key] = statefulset
            case None if plural == "pods":
                self.pods.pop(fact.key, None)
            case None:
                self.statefulsets.pop(fact.key, None)

    def group(self, namespace: str, group: str) -> dict[str, Zone]:
        """The zones of a group by name, in order."""
        return {zone.name: zone for zone in self.zones(namespace) if group_of(zone.statefulset) == group}

    def zones(self, namespace: str) -> Iterator[Zone]:
        for (where, _), statefulset in sorted(self.statefulsets.items()):
            if where == namespace:
                pods = (pod for pod in self.pods.values() if invariants._belongs(pod, statefulset))
                yield Zone(statefulset, tuple(pods))

    def groups_of(self, pod: Pod) -> list[str]:
        """The groups with a zone that the pod belongs to."""
        zones = [zone for key, zone in sorted(self.statefulsets.items()) if key[0] == pod.metadata.namespace]
        found = [group_of(zone) for zone in zones if invariants._belongs(pod, zone)]
        return [group for group in found if group is not None]


class View:
    """What one operator has been told."""

    def __init__(self, facts: Mapping[str, list[Fact]]) -> None:
        self._facts = facts
        self._taken = dict.fromkeys(facts, 0)
        self.state = State()
        self._read: dict[Key, StatefulSet] = {}

    def read(self, statefulset: StatefulSet) -> None:
        """One object was read by itself."""
        self._read[statefulset.metadata.namespace, statefulset.metadata.name] = statefulset

    def group(self, key: Key, touched: str | None) -> dict[str, Zone]:
        """The zones of a group by name, with what was read of one of them, or of all of them."""
        state = State()
        state.pods, state.statefulsets = self.state.pods, dict(self.state.statefulsets)
        for place, held in self.state.statefulsets.items():
            read = self._read.get(place)
            if read is not None and touched in (None, place[1]) and _version(read) > _version(held):
                state.statefulsets[place] = read
        return state.group(*key)

    def told(self, plural: str, version: int) -> None:
        """Everything of this kind up to a version."""
        if (facts := self._facts.get(plural)) is None:
            return
        at = self._taken[plural]
        while at < len(facts) and facts[at].version <= version:
            self.state.take(plural, facts[at])
            at += 1
        self._taken[plural] = at


def wanted(statefulset: StatefulSet) -> list[str]:
    """Names of the pods that a StatefulSet asks for."""
    start = statefulset.spec.ordinals.start
    return [f"{statefulset.metadata.name}-{i}" for i in range(start, start + statefulset.spec.replicas)]


def _version(statefulset: StatefulSet) -> int:
    return int(statefulset.metadata.resource_version)


def group_of(statefulset: StatefulSet) -> str | None:
    return statefulset.metadata.labels.get("rollout-group")
