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
from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.kinds import LAST_DOWNSCALE, PREPARE_DOWNSCALE, PREPARING, READY_TIME
from kubeloop import clock
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from kubeloop.request import Request, place_of
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests import invariants
from tests.chaos.doing import doing, is_review
from tests.chaos.seen import Fact, Key, State, View, Zone, fact_of, group_of, wanted

TAIL = 60
BATCH = 0.5
"""Seconds."""
_pod = msgspec.json.Decoder(Pod)
_statefulset = msgspec.json.Decoder(StatefulSet)


class Broken(AssertionError):
    """An invariant was broken."""


class Asked(Struct):
    """A write that was sent, with the group it is for as its decision may have seen it: the zones by name."""

    by: str
    group: Key
    seen: list[dict[str, Zone]]
    begun: float
    """When the first write was sent that may be of the same decision."""


class Scale(Struct, frozen=True):
    """A scale that a pass asked for."""

    by: str
    """The pass."""
    at: float
    """Unix seconds."""


Problems: TypeAlias = Iterator[tuple[str, str]]
"""Invariants that are broken, and how."""


class Judge:
    """Is shown every entry of the cluster's record and every request of operators; `breaches` must stay empty."""

    def __init__(self, now: Callable[[], float], steps: Callable[[], int], lease: str = "") -> None:
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
        self._lease = lease
        self._leased = bool(lease)
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
        self.scales: dict[tuple[str, Key], Scale] = {}
        """The last scale of each zone that each operator asked for."""
        self._scaled: dict[str, Key] = {}
        """Which zone a pass scaled."""
        self._refused: dict[str, Key] = {}
        """Zones whose scale was refused, by the pass that asked for it."""
        self.unnoted: set[str] = set()
        """Pods that were last prepared without a note, because the API server refused it."""
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
        self.note(f"{operator} asks {request.method} {request.path}")
        reviewed = is_review(doing())
        if self._leased and place.plural != "leases" and operator != self.holder and not reviewed:
            self.broken("lease", f"{operator} sent a write while {self.holder or 'nobody'} held the lease")
        match request.method, place.plural, place.subresource:
            case "DELETE", "pods", "":
                return self._asks_deletion(operator, key)
            case "PUT", "statefulsets", "status":
                return self._asks_record(operator, key, request.body)
            case "PATCH", "statefulsets", "":
                return self._asks_change(operator, key, request.body)
            case _, "leases" | "events" | "configmaps" | "replicatemplates", _:
                return None
            case "PATCH", "pods", "" if _changes_only(request.body, READY_TIME):
                return None
            case "PATCH", "pods", "" if reviewed and _changes_only(request.body, PREPARING):
                self.unnoted.discard(place.name)
                return None
            case "PATCH", "pods", "" if _removes_only(request.body, PREPARING):
                return None
        self.broken("S15", f"{operator} sent {request.method} {request.path}")
        return None

    def failed(self, request: Request) -> None:
        """The answer was an error: a downscale goes on without the note of a pod."""
        place = place_of(request.path)
        if place.plural == "pods" and request.method == "PATCH" and _changes_only(request.body, PREPARING):
            self.unnoted.add(place.name)

    def refused(self, request: Request) -> None:
        """What was asked for has not been done; a pass whose scale was refused may go on to roll (P1)."""
        place = place_of(request.path)
        if self._scaled.get(doing()) == (place.namespace, place.name):
            self._refused[doing()] = self._scaled.pop(doing())

    def answered(self, asked: Asked | None) -> None:
        if asked is not None:
            self._answered[asked.by, asked.group] = self._steps(), asked

    def see(self, entry: Entry) -> None:
        """A write was carried out."""
        self.note(_line(entry))
        if entry.user in self._views:
            self._see_own(entry)
        plural = entry.resource.plural
        if plural in self._facts:
            fact = fact_of(entry)
            self._facts[plural].append(fact)
            self.truth.take(plural, fact)
            self._settle()
        elif plural == "leases" and entry.name == self._lease:
            self.holder = entry.new["spec"].get("holderIdentity") or ""

    def unfinished(self) -> list[str]:
        """What is left until every zone with a group is at its update revision and says so (L1)."""
        left = []
        for key, statefulset in sorted(self.truth.statefulsets.items()):
            if group_of(statefulset) is None:
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
        if doing() in self._scaled:
            self.broken("S5", f"{operator} asked to delete {key[1]} in a pass that scaled {self._scaled[doing()][1]}")
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
        group = group_of(statefulset) if statefulset is not None else None
        if group is None:
            self.broken("S15", f"{operator} wrote the status of {key[1]}, which has no group")
            return None
        asked = self._decided(operator, (key[0], group), key[1])
        recorded = _statefulset.decode(body).status.current_revision
        self._judge(asked, lambda zones: _problems_of_record(zones, key[1], recorded))
        if out := self.own_out(key[1], key[0]):
            self.broken("S7", f"{key[1]} is recorded with {out} not back")
        return asked

    def _asks_change(self, operator: str, key: Key, body: bytes) -> Asked | None:
        """A pass scales; a review notes the time of a downscale, also where its pods prepare without a group."""
        statefulset = self.truth.statefulsets.get(key)
        if statefulset is not None and group_of(statefulset) is None:
            prepares = statefulset.metadata.labels.get(PREPARE_DOWNSCALE) == "true"
            if not (prepares and is_review(doing())):
                self.broken("S15", f"{operator} changed {key[1]}, which has no group")
        if is_review(doing()):
            if not _changes_only(body, LAST_DOWNSCALE):
                self.broken("S15", f"a review changed more of {key[1]} than the time of its downscale: {body!r}")
        elif not _changes_only_replicas(body):
            self.broken("S15", f"{operator} changed more of {key[1]} than its replicas: {body!r}")
        else:
            self._asks_scale(operator, key)
        return None

    def _asks_scale(self, operator: str, key: Key) -> None:
        this = doing()
        before = self._refused.get(this) or self._scaled.setdefault(this, key)
        if before != key:  # a refusal ends scaling too (rule 25)
            self.broken("S8", f"{operator} scaled {key[1]} in the pass that scaled {before[1]}")
        self.scales[operator, key] = Scale(this, clock.now().timestamp())

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
        of_every_replica = plural in ("leases", "configmaps") or _is_stamped(entry)
        if self._leased and entry.user != self.holder and not of_every_replica:
            self.broken("lease", f"{entry.user} wrote {entry.name} while {self.holder or 'nobody'} held the lease")
        if plural == "pods" and entry.verb == "delete":
            self._see_deletion(entry)
        elif plural == "statefulsets" and entry.verb != "patch":
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
            own = self.own_out(zone.name, namespace)
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

    def own_out(self, zone: str, namespace: str) -> list[str]:
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

    def note(self, line: str) -> None:
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
        if zone.is_current(pod) and not invariants._is_marked(pod, zone.statefulset):
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


def _is_stamped(entry: Entry) -> bool:
    """Whether nothing but annotations of a downscale was written, to a zone or to a pod."""
    if entry.resource.plural == "pods":
        return entry.verb == "patch" and _annotation(entry.old) != _annotation(entry.new)
    return entry.resource.plural == "statefulsets" and entry.verb == "patch" and _replicas(entry) is None


def _annotation(tree: Tree | None) -> str | None:
    return None if tree is None else tree["metadata"].get("annotations", {}).get(PREPARING)


def _replicas(entry: Entry) -> int | None:
    """The number that a zone has got instead of another."""
    had, has = (None if tree is None else tree["spec"].get("replicas") for tree in (entry.old, entry.new))
    return None if had == has else has


def _changes_only_replicas(body: bytes) -> bool:
    steps = msgspec.json.decode(body)
    changes = [step["path"] for step in steps if step["op"] != "test"] if isinstance(steps, list) else []
    return changes == ["/spec/replicas"]


def _changes_only(body: bytes, annotation: str) -> bool:
    tree = msgspec.json.decode(body)
    metadata = tree.get("metadata", {}) if isinstance(tree, dict) else {}
    return (
        isinstance(tree, dict)
        and set(tree) == {"metadata"}
        and {"annotations"} <= set(metadata) <= {"annotations", "uid"}
        and (set(metadata["annotations"]) == {annotation})
    )


def _removes_only(body: bytes, annotation: str) -> bool:
    steps = msgspec.json.decode(body)
    path = f"/metadata/annotations/{annotation.replace('/', '~1')}"
    return isinstance(steps, list) and {step["op"]: step["path"] for step in steps} == {"test": path, "remove": path}


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
