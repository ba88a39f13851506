"""Judges every write of operators while others disturb the same pods: by what was so, and by what had been told.

The truth is the cluster's record of writes with their authors. What an operator has been told is known from its wire:
which resource version of pods and of StatefulSets was last handed to it, in a list or as a line of a watch. Its view
is the truth up to there, worked out here from the record; nothing is asked of the operator itself.

The tolerance is exactly this, and nothing is excused by time:
- What others did (kills, crashes, new templates, scaling) counts from the moment it was handed over. Nobody can know it
  sooner, and afterwards there is no excuse. A StatefulSet that was read by itself counts too: always for writes to its
  own zone, and for or against writes to other zones, since what was read is not kept beyond its round.
- What operators did counts from the moment it happened, whichever process did it, whatever the watches show: a pod that
  an operator deleted is out until it has truly been ready again.
- The writes of one decision are judged by what had been told when its first one was sent: a batch is one decision
  (rules 16 and 17). Only a write that is sent in the very step of the loop in which the answer of the one before came,
  and at most BATCH seconds after the first, can be of the same decision; it may as well be the first of the next, so it
  must be right as one of the two. One that is sent again because the server asked to come back is decided anew.

So without disturbances by others nothing at all is excused, however late the watches are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import msgspec
from msgspec import Struct

from fairlead.api.apps import StatefulSet
from fairlead.api.core import Pod
from fairlead.kube.request import Request, place_of
from fairlead.sim.record import Entry
from tests import invariants

Key: TypeAlias = tuple[str, str]

TAIL = 60
BATCH = 0.5
"""Seconds."""
_pod = msgspec.json.Decoder(Pod)
_statefulset = msgspec.json.Decoder(StatefulSet)


class Broken(AssertionError):
    """An invariant was broken."""


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
        return {zone.name: zone for zone in self.zones(namespace) if _group(zone.statefulset) == group}

    def zones(self, namespace: str) -> Iterator[Zone]:
        for (where, _), statefulset in sorted(self.statefulsets.items()):
            if where == namespace:
                pods = (pod for pod in self.pods.values() if invariants._belongs(pod, statefulset))
                yield Zone(statefulset, tuple(pods))

    def groups_of(self, pod: Pod) -> list[str]:
        """The groups with a zone that the pod belongs to."""
        zones = [zone for key, zone in sorted(self.statefulsets.items()) if key[0] == pod.metadata.namespace]
        found = [_group(zone) for zone in zones if invariants._belongs(pod, zone)]
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


class Asked(Struct):
    """A write that was sent, with the group it is for as its decision may have seen it: the zones by name."""

    by: str
    group: Key
    seen: list[dict[str, Zone]]
    begun: float
    """When the first write was sent that may be of the same decision."""


Problems: TypeAlias = Iterator[tuple[str, str]]
"""Invariants that are broken, and how."""


class Judge:
    """Is shown every entry of the cluster's record and every request of operators; `breaches` must stay empty."""

    def __init__(self, now: Callable[[], float], steps: Callable[[], int], *, leased: bool = False) -> None:
        self.breaches: list[str] = []
        self.deletions: list[str] = []
        """Pods that operators deleted, in order."""
        self.completions: list[str] = []
        """Zones whose revision they recorded."""
        self.writes = 0
        """How many writes of operators were judged."""
        self.truth = State()
        self._now = now
        self._steps = steps
        self._leased = leased
        self.holder = ""
        """Who holds the lease."""
        self._facts: dict[str, list[Fact]] = {"pods": [], "statefulsets": []}
        self._views: dict[str, View] = {}
        self._out: dict[Key, str] = {}
        """Pods that operators deleted and that have not been ready since, with the UID that was deleted."""
        self._asked: dict[tuple[str, Key], Asked] = {}
        """The last deletion of each pod that each operator asked for."""
        self._answered: dict[tuple[str, Key], tuple[int, Asked]] = {}
        """Per operator and group: its last write that was answered, and in which step."""
        self._tail: deque[str] = deque(maxlen=TAIL)

    def begins(self, operator: str) -> None:
        """A new process, which knows nothing."""
        self._views[operator] = View(self._facts)

    def told(self, operator: str, plural: str, version: int) -> None:
        """A list or a line was handed to an operator."""
        self._views[operator].told(plural, version)

    def read(self, operator: str, body: bytes) -> None:
        """A StatefulSet was handed to an operator as the answer to a question."""
        self._views[operator].read(_statefulset.decode(body))

    def asks(self, operator: str, request: Request) -> Asked | None:
        """An operator sends a write; the answer is for `answered`."""
        place = place_of(request.path)
        key = (place.namespace, place.name)
        self.writes += 1
        self._note(f"{operator} asks {request.method} {request.path}")
        if self._leased and place.plural != "leases" and operator != self.holder:
            self.broken("lease", f"{operator} sent a write while {self.holder or 'nobody'} held the lease")
        match request.method, place.plural, place.subresource:
            case "DELETE", "pods", "":
                return self._asks_deletion(operator, key)
            case "PUT", "statefulsets", "status":
                return self._asks_record(operator, key, request.body)
            case _, "leases" | "events", _:
                return None
        self.broken("S15", f"{operator} sent {request.method} {request.path}")
        return None

    def answered(self, asked: Asked | None) -> None:
        if asked is not None:
            self._answered[asked.by, asked.group] = self._steps(), asked

    def see(self, entry: Entry) -> None:
        """A write was carried out."""
        self._note(_line(entry))
        if entry.user in self._views:
            self._see_own(entry)
        plural = entry.resource.plural
        if plural in self._facts:
            fact = fact_of(entry)
            self._facts[plural].append(fact)
            self.truth.take(plural, fact)
            self._settle()
        elif plural == "leases":
            self.holder = entry.new["spec"].get("holderIdentity") or ""

    def unfinished(self) -> list[str]:
        """What is left until every zone with a group is at its update revision and says so (L1)."""
        left = []
        for key, statefulset in sorted(self.truth.statefulsets.items()):
            if _group(statefulset) is None:
                continue
            (zone,) = [zone for zone in self.truth.zones(key[0]) if zone.name == key[1]]
            status = statefulset.status
            left += [f"{name} is not ready or missing" for name in sorted(zone.down)]
            left += [f"{name} is outdated" for name in zone.outdated]
            if zone.is_stale:
                left.append(f"{zone.name} has a status of an older spec")
            if status.current_revision != status.update_revision:
                left.append(f"{zone.name} records {status.current_revision} and not {status.update_revision}")
        return left

    # What an operator asks for, by its view.

    def _asks_deletion(self, operator: str, key: Key) -> Asked | None:
        view = self._views[operator].state
        pod = view.pods.get(key) or self.truth.pods.get(key)
        groups = view.groups_of(pod) if pod is not None else []
        if not groups:
            self.broken("S15", f"{operator} asked to delete {key[1]}, which is of no managed zone that it knows of")
            return None
        zones = [zone.name for zone in view.zones(key[0]) if pod in zone.pods]
        asked = self._decided(operator, (key[0], groups[0]), zones[0])
        self._asked[operator, key] = asked
        self._judge(asked, lambda zones: _problems_of_deletion(zones, key[1]))
        live = self.truth.pods.get(key)
        if live is not None and self._out.get(key) == live.metadata.uid:
            self.broken("S6", f"{operator} asked to delete {key[1]}, which an operator has deleted already")
        return asked

    def _asks_record(self, operator: str, key: Key, body: bytes) -> Asked | None:
        view = self._views[operator].state
        statefulset = view.statefulsets.get(key)
        group = _group(statefulset) if statefulset is not None else None
        if group is None:
            self.broken("S15", f"{operator} wrote the status of {key[1]}, which has no group")
            return None
        asked = self._decided(operator, (key[0], group), key[1])
        recorded = _statefulset.decode(body).status.current_revision
        self._judge(asked, lambda zones: _problems_of_record(zones, key[1], recorded))
        if out := self._own_out(key[1], key[0]):
            self.broken("S7", f"{key[1]} is recorded with {out} not back")
        return asked

    def _decided(self, operator: str, group: Key, zone: str) -> Asked:
        view = self._views[operator]
        asked = Asked(operator, group, [view.group(group, zone), view.group(group, None)], self._now())
        step, before = self._answered.get((operator, group), (-1, asked))
        if step == self._steps() and self._now() - before.begun <= BATCH:
            asked.seen = before.seen + asked.seen
            asked.begun = before.begun
        return asked

    def _judge(self, asked: Asked, problems: Callable[[dict[str, Zone]], Problems]) -> None:
        """Notes what is wrong with a write, unless it is right as part of one of the decisions it may be of."""
        wrong = [list(problems(zones)) for zones in asked.seen]
        if all(wrong):
            for invariant, sentence in wrong[-1]:
                self.broken(invariant, f"{asked.by}: {sentence}")

    # What an operator did, by the truth.

    def _see_own(self, entry: Entry) -> None:
        plural = entry.resource.plural
        if plural == "leases":
            return
        if self._leased and entry.user != self.holder:
            self.broken("lease", f"{entry.user} wrote {entry.name} while {self.holder or 'nobody'} held the lease")
        if plural == "pods":
            self._see_deletion(entry)
        elif plural == "statefulsets":
            self._see_record(entry)

    def _see_deletion(self, entry: Entry) -> None:
        key = (entry.namespace, entry.name)
        pod = self.truth.pods[key]
        if pod.metadata.deletion_timestamp is not None:
            return
        self.deletions.append(entry.name)
        self._judge(self._asked[entry.user, key], lambda zones: self._problems_done(zones, pod))
        self._out[key] = pod.metadata.uid

    def _problems_done(self, zones: dict[str, Zone], pod: Pod) -> Problems:
        """With a deletion that was carried out, given how its decision saw the zones."""
        namespace, name = pod.metadata.namespace, pod.metadata.name
        for zone in zones.values():
            own = self._own_out(zone.name, namespace)
            seen = next((each for each in zone.pods if each.metadata.name == name), None)
            if seen is None:
                if own:
                    yield "S2", f"{name} was deleted while {own} of {zone.name} are not back"
                continue
            if seen.metadata.uid != pod.metadata.uid:
                yield "H-2", f"{name} is another pod than the one that was to be deleted"
            out = {*zone.down, *own, name}
            if len(out) > invariants._budget(zone.statefulset) and not invariants._is_stuck(seen):
                yield "S3", f"with {name} {sorted(out)} of {zone.name} are out at once"

    def _see_record(self, entry: Entry) -> None:
        old, new = entry.old, entry.new
        if old is None or entry.subresource != "status":
            self.broken("S7", f"{entry.user} wrote more than the status of {entry.name}")
            return
        self.completions.append(entry.name)
        if invariants._but_for_the_record(old) != invariants._but_for_the_record(new):
            self.broken("S7", f"more of {entry.name} was changed than its current revision")
        if new["status"]["currentRevision"] != old["status"]["updateRevision"]:
            self.broken("S7", f"{entry.name} got {new['status']['currentRevision']}")

    def _own_out(self, zone: str, namespace: str) -> list[str]:
        """Pods of a zone that operators deleted and that are not back."""
        return sorted(name for where, name in self._out if (where, name.rpartition("-")[0]) == (namespace, zone))

    def _settle(self) -> None:
        """Forgets what is back, or is not wanted any more."""
        for key in list(self._out):
            pod = self.truth.pods.get(key)
            if pod is None:
                zones = [zone for (where, _), zone in self.truth.statefulsets.items() if where == key[0]]
                back = not any(key[1] in wanted(zone) for zone in zones)
            else:
                back = invariants._is_ready(pod)
            if back:
                del self._out[key]

    def _note(self, line: str) -> None:
        self._tail.append(f"{self._now():10.3f} {line}")

    def broken(self, invariant: str, sentence: str) -> None:
        history = "\n  ".join(self._tail)
        self.breaches.append(f"{invariant} broken: {sentence}\nthe end of the history:\n  {history}")


def _problems_of_deletion(zones: dict[str, Zone], name: str) -> Problems:
    """With the deletion of a pod, asked for by who saw the zones like this."""
    if wrong := [zone.name for zone in zones.values() if zone.statefulset.spec.update_strategy.type != "OnDelete"]:
        yield "S5", f"{name} is deleted although {wrong} are not OnDelete"
    unready = [zone.name for zone in zones.values() if not zone.is_ready]
    if len(unready) > 1:
        yield "S5", f"{name} is deleted although {unready} are not ready"
    seen = [(zone, pod) for zone in zones.values() for pod in zone.pods if pod.metadata.name == name]
    if not seen:
        yield "S6", f"{name} is deleted although it is not there"
    for zone, pod in seen:
        if others := [other for other in unready if other != zone.name]:
            yield "S1", f"{name} of {zone.name} is deleted although {others} are not ready"
        if zone.is_current(pod):
            yield "S4", f"{name} is deleted at the update revision"
        if pod.metadata.deletion_timestamp is not None:
            yield "S6", f"{name} is deleted although it is terminating"
        if zone.is_paused:
            yield "B-9", f"{name} is deleted although {zone.name} is paused"
        if zone.is_stale:
            yield "H-18", f"{name} is deleted on a status of an older spec"


def _problems_of_record(zones: dict[str, Zone], name: str, recorded: str) -> Problems:
    """With the record of a revision, asked for by who saw the zones like this."""
    if (zone := zones.get(name)) is None:
        yield "S7", f"{name} is recorded although it is not there"
        return
    if recorded != zone.statefulset.status.update_revision:
        yield "S7", f"{name} gets {recorded}, which is not its update revision"
    if zone.outdated or not zone.is_ready:
        yield "S7", f"{name} is recorded with {zone.outdated} outdated, {sorted(zone.down)} down"
    if zone.is_paused or zone.is_stale or zone.statefulset.spec.update_strategy.type != "OnDelete":
        yield "S7", f"{name} is recorded although it is paused, of an older status or not OnDelete"
    if len([each for each in zones.values() if not each.is_ready]) > 1:
        yield "S5", f"{name} is recorded although two zones are not ready"


def wanted(statefulset: StatefulSet) -> list[str]:
    """Names of the pods that a StatefulSet asks for."""
    start = statefulset.spec.ordinals.start
    return [f"{statefulset.metadata.name}-{i}" for i in range(start, start + statefulset.spec.replicas)]


def _version(statefulset: StatefulSet) -> int:
    return int(statefulset.metadata.resource_version)


def _group(statefulset: StatefulSet) -> str | None:
    return statefulset.metadata.labels.get("rollout-group")


def _line(entry: Entry) -> str:
    body = entry.event.new.body
    said = f"{entry.user} {entry.type} {entry.resource.plural}/{entry.name}"
    if entry.resource.plural == "pods":
        pod = _pod.decode(body)
        ends = " terminating" if pod.metadata.deletion_timestamp is not None else ""
        ready = " ready" if invariants._is_ready(pod) else ""
        return f"{said} {invariants._revision(pod)}{ready}{ends} uid={pod.metadata.uid[:6]}"
    if entry.resource.plural == "statefulsets":
        zone = _statefulset.decode(body)
        status = zone.status
        return (
            f"{said} wants {zone.spec.replicas} status {status.ready_replicas}/{status.replicas}"
            f" {status.current_revision} to {status.update_revision}"
        )
    return said
