"""The safety invariants of zone rollouts, checked on a history as an outsider sees it.

A Witness is fed every change of pods and StatefulSets in the order in which the API server made them, from the record
of the embedded cluster or from a watch on a real one, and keeps the true state. It knows nothing of the operator's view
and shares no code with the decisions that it judges: readiness, membership and budgets are written anew, and from pods
alone where the operator must also look at a lagging status.

Checked at each deletion by the operator: S1 to S6 and pauses; at each change of a current revision: S7; at every write
of the operator: S15. Which writes belong to one pass shows only where an operator is known to pause between passes:
then S8, and the part of S5 about passes that scale, are checked as well.

Nobody can see a change at the moment it is made, so a witness may be given a `lag`: what others than the operator did
less than that many seconds ago may be unknown to it. Its own deletions are never excused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import msgspec
from msgspec import Struct

from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod

Tree: TypeAlias = Mapping[str, object]
Key: TypeAlias = tuple[str, str]

TAIL = 40
CONTROLLERS = "kube-controller-manager"
ROUNDING = 1e-6
"""Seconds by which sums of times may be wrong."""
STUCK_REASONS = (
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
)


class Event(Struct, frozen=True):
    resource: str
    """`pods` or `statefulsets`; others are ignored."""
    type: str
    """ADDED, MODIFIED or DELETED."""
    object: Tree
    by: str = ""
    """Who wrote it, where that is known."""
    at: float = 0.0
    """Seconds on any clock."""
    pace: float = 0.0
    """Least seconds between two passes of the writer over one group, where it has such a rule."""


class Scaled(Struct, frozen=True):
    """A zone whose replicas the operator changed: in a pass that is over when the pace of the operator has passed."""

    zone: str
    by: str
    at: float


class Down(Struct, frozen=True):
    """A pod that is not ready or missing: since when, and whether the operator made it so."""

    at: float
    by_operator: bool


class Observed(Struct):
    """A StatefulSet, its pods by name, and which of them are out."""

    statefulset: StatefulSet
    tree: Tree
    earlier: list[tuple[float, StatefulSet]] = []
    """Versions before this one, each with the time at which it was replaced."""
    pods: dict[str, Pod] = {}
    down: dict[str, Down] = {}

    @property
    def group(self) -> str | None:
        if self.statefulset.metadata.annotations.get("fairlead.dev/exclude") == "true":
            return None
        return self.statefulset.metadata.labels.get("rollout-group")

    @property
    def name(self) -> str:
        return self.statefulset.metadata.name

    @property
    def outdated(self) -> list[str]:
        update = self.statefulset.status.update_revision
        return sorted(name for name, pod in self.pods.items() if _revision(pod) != update)

    @property
    def marked(self) -> list[str]:
        """Pods that are to be rotated."""
        return sorted(name for name, pod in self.pods.items() if _is_marked(pod, self.statefulset))

    def refresh(self, at: float) -> None:
        """Brings the list of pods that are out up to date; what nobody answers for happened just now."""
        spec = self.statefulset.spec
        wanted = [f"{self.name}-{i}" for i in range(spec.ordinals.start, spec.ordinals.start + spec.replicas)]
        out = [name for name, pod in self.pods.items() if not _is_ready(pod)]
        out += [name for name in wanted if name not in self.pods]
        self.down = {name: self.down.get(name, Down(at, by_operator=False)) for name in out}


class Witness:
    """Holds the true state; raises AssertionError with the end of the history when an invariant is broken.

    `operator` tells whether a writer is the operator; without it every fresh deletion of a managed pod and every change
    of a zone's current revision is taken for the operator's, which is right where nobody else does such things.
    """

    def __init__(self, operator: Callable[[str], bool] | None = None, *, lag: float = 0.0) -> None:
        self._operator = operator
        self._lag = lag
        self._pods: dict[Key, Pod] = {}
        self._zones: dict[Key, Observed] = {}
        self._scaled: dict[Key, Scaled] = {}
        """By namespace and group."""
        self._tail: deque[str] = deque(maxlen=TAIL)
        self.deletions: list[str] = []
        """Pods that the operator deleted, in order."""
        self.completions: list[str] = []
        """Zones whose revision the operator recorded, in order."""
        self.scalings: list[tuple[str, int, int]] = []
        """Zones whose replicas the operator changed, in order, with both numbers; only where writers are known."""

    def see_all(self, events: Iterable[Event]) -> Witness:
        for event in events:
            self.see(event)
        return self

    def see(self, event: Event) -> None:
        """Judges one change against the state before it, then takes it in."""
        if event.resource not in ("pods", "statefulsets"):
            return
        self._tail.append(_line(event))
        if event.resource == "pods":
            self._see_pod(event, msgspec.convert(event.object, Pod))
        else:
            self._see_zone(event, msgspec.convert(event.object, StatefulSet))

    def asked_to_delete(self, namespace: str, name: str, at: float = 0.0) -> None:
        """S6 as seen from requests: deleting a terminating pod again changes nothing, so no event shows it."""
        pod = self._pods.get((namespace, name))
        if pod is None or pod.metadata.deletion_timestamp is None:
            return
        if not any(self._fresh(zone, name, at) for zone in self._zones_of(pod)):
            self._broken("S6", f"pod {name} is terminating and was deleted again")

    def unfinished(self) -> list[str]:
        """What is left until every pod and the record of every managed zone is at its update revision (L1)."""
        left = []
        for zone in self._zones.values():
            if zone.group is None:
                continue
            status = zone.statefulset.status
            left += [f"{name} is not ready or missing" for name in zone.down]
            left += [f"{name} is outdated" for name in zone.outdated]
            left += [f"{name} is marked for rotation" for name in zone.marked]
            if status.current_revision != status.update_revision:
                left.append(f"{zone.name} records {status.current_revision} and not {status.update_revision}")
        return left

    def _see_pod(self, event: Event, pod: Pod) -> None:
        key = pod.metadata.namespace, pod.metadata.name
        before = self._pods.get(key)
        if before is not None and before.metadata.uid == pod.metadata.uid and self._is_operator(event):
            self._judge_pod(before, pod, event)
        self._pods.pop(key, None)
        if event.type != "DELETED":
            self._pods[key] = pod
        for zone in self._zones.values():
            known = zone.pods.pop(key[1], None) if key[0] == zone.statefulset.metadata.namespace else None
            mine = _belongs(pod, zone.statefulset)
            if mine and event.type != "DELETED":
                zone.pods[key[1]] = pod
            if mine or known is not None:
                zone.refresh(event.at)

    def _judge_pod(self, before: Pod, pod: Pod, event: Event) -> None:
        was, now = before.metadata.deletion_timestamp, pod.metadata.deletion_timestamp
        if was is None and (event.type == "DELETED" or now is not None):
            self._judge_deletion(before, event)
        elif was is not None and (event.type == "DELETED" or now != was) and event.by:
            self._broken("S6", f"pod {pod.metadata.name} is terminating and was deleted again")

    def _judge_deletion(self, pod: Pod, event: Event) -> None:
        zones = self._zones_of(pod)
        if not any(zone.group is not None for zone in zones):
            if event.by:
                self._broken("S15", f"pod {pod.metadata.name} belongs to no managed zone and was deleted")
            return
        self.deletions.append(pod.metadata.name)
        for zone in zones:
            if (scaled := self._scaled_in_this_pass(zone, event)) is not None:
                self._broken("S5", f"pod {pod.metadata.name} was deleted in the pass that scaled {scaled}")
            self._judge_others(zone, pod, event)
            self._judge_zone(zone, pod, event)

    def _judge_others(self, zone: Observed, pod: Pod, event: Event) -> None:
        name = pod.metadata.name
        group = self._group_of(zone)
        if len([other for other in group if self._known_down(other, event)]) > 1:
            self._broken("S5", f"pod {name} was deleted with two or more zones not ready")
        for other in group:
            if all(view.spec.update_strategy.type != "OnDelete" for view in self._views(other, event)):
                self._broken("S5", f"pod {name} was deleted although {other.name} is not OnDelete")
            if other is zone:
                continue
            if outstanding := [slot for slot, down in other.down.items() if down.by_operator]:
                self._broken("S2", f"pod {name} was deleted while {outstanding} of {other.name} are not back")
            if unready := self._known_down(other, event):
                self._broken("S1", f"pod {name} was deleted while {unready} of {other.name} are not ready")

    def _judge_zone(self, zone: Observed, pod: Pod, event: Event) -> None:
        name = pod.metadata.name
        views = self._views(zone, event)
        outdated = [v for v in views if _revision(pod) != v.status.update_revision or _is_marked(pod, v)]
        if not outdated:
            self._broken("S4", f"pod {name} was deleted at its update revision {_revision(pod)}")
        if all(view.metadata.annotations.get("grafana.com/rollout-paused") == "true" for view in views):
            self._broken("B-9", f"pod {name} of the paused zone {zone.name} was deleted")
        out = {*self._known_down(zone, event), name}
        if len(out) > max(map(_budget, views)) and not _is_stuck(pod):
            self._broken("S3", f"with the deletion of {name} {sorted(out)} are out at once")
        zone.down[name] = Down(event.at, by_operator=True)

    def _see_zone(self, event: Event, statefulset: StatefulSet) -> None:
        key = statefulset.metadata.namespace, statefulset.metadata.name
        before = self._zones.get(key)
        if before is not None and before.statefulset.metadata.uid != statefulset.metadata.uid:
            before = None
        if event.by and before is not None and before.group is None and self._is_operator(event):
            self._broken("S15", f"{statefulset.metadata.name} has no group and was changed")
        if event.type == "DELETED":
            self._zones.pop(key, None)
            return
        pods = {name: pod for (_, name), pod in self._pods.items() if _belongs(pod, statefulset)}
        now = Observed(statefulset, event.object, pods=pods)
        self._zones[key] = now
        if before is not None:
            now.down = before.down
            now.earlier = [past for past in before.earlier if event.at - past[0] < self._lag]
            now.earlier.append((event.at, before.statefulset))
            recorded = before.statefulset.status.current_revision
            is_recorded = recorded not in ("", statefulset.status.current_revision) and self._is_operator(event)
            if is_recorded and (event.by or not _is_written_back(before.tree, event.object)):
                self._judge_completion(before, now, event)
            if event.by and self._is_operator(event):
                self._judge_scaling(before, now, event)
        now.refresh(event.at)

    def _judge_completion(self, before: Observed, zone: Observed, event: Event) -> None:
        if zone.group is None or before.statefulset.spec.update_strategy.type != "OnDelete":
            return
        self.completions.append(zone.name)
        update, recorded = before.statefulset.status.update_revision, zone.statefulset.status.current_revision
        if recorded != update:
            self._broken("S7", f"{zone.name} got current revision {recorded}, its update revision is {update}")
        if zone.outdated:
            self._broken("S7", f"{zone.name} was recorded as complete with {zone.outdated} outdated")
        if unready := self._known_down(zone, event):
            self._broken("S7", f"{zone.name} was recorded as complete with {unready} not ready")
        if event.by and _but_for_the_record(before.tree) != _but_for_the_record(zone.tree):
            self._broken("S7", f"more of {zone.name} was changed than its current revision")

    def _judge_scaling(self, before: Observed, zone: Observed, event: Event) -> None:
        had, has = before.statefulset.spec.replicas, zone.statefulset.spec.replicas
        if had == has or zone.group is None:
            return
        if (other := self._scaled_in_this_pass(zone, event)) is not None:
            self._broken("S8", f"{zone.name} was scaled from {had} to {has} in the pass that scaled {other}")
        self.scalings.append((zone.name, had, has))
        self._scaled[zone.statefulset.metadata.namespace, zone.group] = Scaled(zone.name, event.by, event.at)

    def _scaled_in_this_pass(self, zone: Observed, event: Event) -> str | None:
        """The zone of the same group that the writer of this event scaled in the same pass.

        A pass begins at the earliest when the pace of its operator has passed since the end of the one before.
        """
        last = self._scaled.get((zone.statefulset.metadata.namespace, zone.group or ""))
        if zone.group is None or last is None or last.by != event.by:
            return None
        return last.zone if event.at - last.at < event.pace - ROUNDING else None

    def _known_down(self, zone: Observed, event: Event) -> list[str]:
        """Pods that are out and that the operator had time to know of."""
        return sorted(name for name in zone.down if not self._fresh(zone, name, event.at))

    def _fresh(self, zone: Observed, name: str, at: float) -> bool:
        down = zone.down.get(name)
        return down is not None and not down.by_operator and at - down.at < self._lag

    def _views(self, zone: Observed, event: Event) -> list[StatefulSet]:
        """The versions of a StatefulSet that the operator may take for the newest."""
        return [zone.statefulset, *(past for until, past in zone.earlier if event.at - until < self._lag)]

    def _is_operator(self, event: Event) -> bool:
        return self._operator is None or self._operator(event.by)

    def _group_of(self, zone: Observed) -> list[Observed]:
        namespace = zone.statefulset.metadata.namespace
        return [z for (where, _), z in sorted(self._zones.items()) if where == namespace and z.group == zone.group]

    def _zones_of(self, pod: Pod) -> list[Observed]:
        return [zone for zone in self._zones.values() if _belongs(pod, zone.statefulset)]

    def _broken(self, invariant: str, sentence: str) -> None:
        history = "\n  ".join(self._tail)
        raise AssertionError(f"{invariant} broken: {sentence}\nthe end of the history:\n  {history}")


def by_version(events: Iterable[Event]) -> list[Event]:
    """Events of several watches in the order in which one server made them."""

    def version(event: Event) -> int:
        metadata = event.object["metadata"]
        assert isinstance(metadata, Mapping)
        return int(str(metadata["resourceVersion"]))

    return sorted(events, key=version)


def _belongs(pod: Pod, zone: StatefulSet) -> bool:
    if pod.metadata.namespace != zone.metadata.namespace:
        return False
    for owner in pod.metadata.owner_references:
        if owner.controller:
            return owner.uid == zone.metadata.uid
    template = zone.spec.template.metadata.labels
    if "name" in template:
        return pod.metadata.labels.get("name") == template["name"]
    wanted = zone.spec.selector.match_labels
    return bool(wanted) and wanted.items() <= pod.metadata.labels.items()


def _is_ready(pod: Pod) -> bool:
    running = pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None
    return running and all(c.ready and c.state.running is not None for c in pod.status.container_statuses)


def _is_stuck(pod: Pod) -> bool:
    containers = [*pod.status.container_statuses, *pod.status.init_container_statuses]
    reasons = [c.state.waiting.reason for c in containers if c.state.waiting is not None]
    return not _is_ready(pod) and any(reason in STUCK_REASONS for reason in reasons)


def _is_marked(pod: Pod, zone: StatefulSet) -> bool:
    """Whether somebody wants this pod replaced; a mark that the template gives to every pod means nothing."""
    born_with = zone.spec.template.metadata.labels.get("fairlead.dev/rotate") == "true"
    return pod.metadata.labels.get("fairlead.dev/rotate") == "true" and not born_with


def _revision(pod: Pod) -> str | None:
    return pod.metadata.labels.get("controller-revision-hash")


def _budget(zone: StatefulSet) -> int:
    text = zone.metadata.annotations.get("rollout-max-unavailable", "1").strip()
    share = text.endswith("%")
    digits = text.removesuffix("%").removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        return 1
    number = int(digits)
    if share:
        return max(1, number * zone.spec.replicas // 100) if number <= 100 else 1
    return max(1, number)


def _is_written_back(before: Tree, tree: Tree) -> bool:
    """Whether the current revision is the StatefulSet controller's: it writes all of the status it worked out.

    It repeats a status that conflicted on top of whatever was written meanwhile, so a record can be taken back at any
    moment. It never writes for the record alone, and an operator writes nothing else. Only asked where nobody tells who
    wrote; the real server does, field by field.
    """
    metadata = tree["metadata"]
    assert isinstance(metadata, Mapping)
    is_owned = any(
        entry.get("manager") == CONTROLLERS and "f:currentRevision" in entry["fieldsV1"].get("f:status", {})
        for entry in metadata.get("managedFields", ())
    )
    return is_owned or _but_for_the_record(before) != _but_for_the_record(tree)


def _but_for_the_record(tree: Tree) -> dict[str, object]:
    """Without what a record of a revision may change: the revision and the bookkeeping of the server."""
    metadata, status = tree["metadata"], tree["status"]
    assert isinstance(metadata, Mapping)
    assert isinstance(status, Mapping)
    kept = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "managedFields")}
    return {**tree, "metadata": kept, "status": {k: v for k, v in status.items() if k != "currentRevision"}}


def _line(event: Event) -> str:
    metadata = event.object.get("metadata")
    status = event.object.get("status")
    assert isinstance(metadata, Mapping)
    state = {}
    if event.resource == "pods":
        labels = metadata.get("labels") or {}
        state = {"revision": labels.get("controller-revision-hash"), "ends": metadata.get("deletionTimestamp")}
        state["phase"] = status.get("phase") if isinstance(status, Mapping) else None
    elif isinstance(status, Mapping):
        keys = ("replicas", "readyReplicas", "currentRevision", "updateRevision")
        state = {key: status.get(key) for key in keys}
    shown = " ".join(f"{key}={value}" for key, value in state.items() if value is not None)
    return f"{event.at:.3f} {event.type} {event.resource}/{metadata.get('name')} {shown} by {event.by or 'unknown'}"
