"""What a CloneSet (apps.kruise.io/v1alpha1) wants done with its pods: pure functions.

As OpenKruise's manager has it, by recordings of it: `partition` is how many pods stay at older revisions, an update
makes no more pods unavailable than `maxUnavailable` allows and adds no more than `maxSurge`, pods that are named or
labelled for deletion go when they can be spared, and a paused set is scaled but not updated. A pod that is to be
replaced is labelled for deletion first and goes as any other that is. Pods that are updated already are not taken back
when the partition is raised.

A pod is available when it is ready for long enough and normal, which it becomes when it has a node.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, to_builtins

from kubeloop.objects.core import Container, PodMeta
from kubeloop.objects.meta import Condition, LabelSelector, Meta, Resource

CLONESETS = Resource("apps.kruise.io", "v1alpha1", "clonesets", "CloneSet")
REVISION = "controller-revision-hash"
TEMPLATE_HASH = "pod-template-hash"
INSTANCE = "apps.kruise.io/cloneset-instance-id"
LIFECYCLE, LIFECYCLE_SINCE = "lifecycle.apps.kruise.io/state", "lifecycle.apps.kruise.io/timestamp"
PREPARING, NORMAL, UPDATING = "PreparingNormal", "Normal", "Updating"
SPECIFIED_DELETE = "apps.kruise.io/specified-delete"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
IN_PLACE_READY, POD_READY = "InPlaceUpdateReady", "KruisePodReady"
"""Readiness gates that pods of a set have."""
MAX_UNAVAILABLE = "20%"
RECREATE = "ReCreate"
_ALWAYS_SHOWN = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "updatedReadyReplicas")
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}

Tree = dict[str, object]
Share = int | str
"""A number, or a percentage of all pods."""


class SetMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}


class ScaleStrategy(Struct, frozen=True, rename="camel"):
    pods_to_delete: tuple[str, ...] = ()
    max_unavailable: Share | None = None


class UpdateStrategy(Struct, frozen=True, rename="camel"):
    type: str = RECREATE
    partition: Share = 0
    max_unavailable: Share = MAX_UNAVAILABLE
    max_surge: Share = 0
    paused: bool = False


class Spec(Struct, frozen=True, rename="camel"):
    selector: LabelSelector
    template: Tree
    replicas: int = 1
    scale_strategy: ScaleStrategy = ScaleStrategy()
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: int = 10
    min_ready_seconds: int = 0


class Status(Struct, frozen=True, rename="camel", omit_defaults=True):
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    updated_replicas: int = 0
    updated_ready_replicas: int = 0
    observed_generation: int = 0
    updated_available_replicas: int = 0
    expected_updated_replicas: int = 0
    update_revision: str = ""
    current_revision: str = ""
    collision_count: int | None = None
    label_selector: str = ""

    def shown(self) -> Tree:
        """As it is written: some counts even when they are zero."""
        shown: Tree = dict.fromkeys(_ALWAYS_SHOWN, 0)
        shown |= to_builtins(self)
        return shown


class CloneSet(Struct, frozen=True):
    metadata: SetMeta
    spec: Spec
    status: Status = Status()


class PodSpec(Struct, frozen=True, rename="camel"):
    node_name: str = ""
    containers: tuple[Container, ...] = ()


class ContainerStatus(Struct, frozen=True, rename={"image_id": "imageID", "restart_count": "restartCount"}, gc=False):
    name: str
    image: str = ""
    image_id: str = ""
    restart_count: int = 0


class PodStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Struct, frozen=True):
    metadata: PodMeta
    status: PodStatus = PodStatus()
    spec: PodSpec = PodSpec()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def revision(self) -> str:
        return self.metadata.labels.get(REVISION, "")

    @property
    def lifecycle(self) -> str:
        return self.metadata.labels.get(LIFECYCLE, "")

    @property
    def is_active(self) -> bool:
        return self.metadata.deletion_timestamp is None and self.status.phase not in ("Succeeded", "Failed")

    @property
    def restarts(self) -> int:
        return max((each.restart_count for each in self.status.container_statuses), default=0)

    def condition(self, kind: str) -> Condition | None:
        return next((each for each in self.status.conditions if each.type == kind), None)

    @property
    def ready_since(self) -> datetime | None:
        """None while it is not ready, or is changed in place."""
        ready, changed = self.condition("Ready"), self.condition(IN_PLACE_READY)
        is_ready = ready is not None and ready.status == "True" and self.status.phase == "Running"
        if ready is None or not is_ready or (changed is not None and changed.status != "True"):
            return None
        return ready.last_transition_time

    def available_at(self, patience: int) -> datetime | None:
        """When it has been ready for so many seconds; None while it is not ready, or not normal."""
        if self.ready_since is None or self.lifecycle not in ("", NORMAL):
            return None
        return self.ready_since + timedelta(seconds=patience)


class Plan(Struct, frozen=True):
    """What to do next; pods are of the old revision or of the one that the template says."""

    create_old: int = 0
    create_new: int = 0
    delete: tuple[Pod, ...] = ()
    settle: tuple[Pod, ...] = ()
    """Those that become normal."""
    update: tuple[Pod, ...] = ()
    """In place if the set wants that and it can be done; else they are labelled for deletion."""


def scaled(share: Share, total: int, *, up: bool) -> int:
    """A number as it is, a percentage of the total rounded up or down: 20% of 3 is 1 or 0."""
    if isinstance(share, int):
        return share
    part = total * int(share.removesuffix("%")) / 100
    return math.ceil(part) if up else math.floor(part)


def kept_old(spec: Spec) -> int:
    """How many pods the partition keeps at older revisions; a percentage below 100 never keeps all of several."""
    partition, total = spec.update_strategy.partition, spec.replicas
    kept = max(0, min(scaled(partition, total, up=True), total))
    if kept == total > 1 and isinstance(partition, str) and partition != "100%":
        return total - 1
    return kept


def plan(
    set_: CloneSet,
    pods: Sequence[Pod],
    update: str,
    now: datetime,
    is_changed: Callable[[Pod], bool] = lambda _pod: True,
) -> Plan:
    """Scales; with nothing to scale pods become normal, and with none that does they are updated.

    `is_changed` says whether a pod that is changed in place runs what its spec says.
    """
    counts = _Counts(set_, [pod for pod in pods if pod.is_active], update, now)
    scaling = _grown(counts) or _named_gone(counts) or _shrunk(counts)
    if scaling is not None:
        return scaling
    settle = tuple(pod for pod in counts.pods if _becomes_normal(pod, is_changed))
    if settle or set_.spec.update_strategy.paused:
        return Plan(settle=settle)
    return Plan(update=tuple(_turn(counts)))


class _Counts:
    """The pods of a set, and the numbers that everything else follows from."""

    def __init__(self, set_: CloneSet, pods: list[Pod], update: str, now: datetime) -> None:
        self._set, self._now = set_, now
        spec, strategy = set_.spec, set_.spec.update_strategy
        self.replicas = spec.replicas
        self.pods = pods
        self.old = [pod for pod in pods if pod.revision != update]
        self.new = [pod for pod in pods if pod.revision == update]
        self.named = [pod for pod in pods if self._is_named(pod)]
        named_new = sum(pod.revision == update for pod in self.named)
        self.named_old = len(self.named) - named_new
        self.unavailable = sum(not self.is_available(pod) and not self._is_named(pod) for pod in pods)
        self.keep = kept_old(spec)
        limit = 0 if strategy.paused else scaled(strategy.max_surge, spec.replicas, up=True)
        self.allowance = scaled(strategy.max_unavailable, spec.replicas, up=not limit)
        self.missing_new = min(max(0, len(self.old) - self.keep), max(0, spec.replicas - self.keep - len(self.new)))
        """Old pods that are to become new."""
        for_named = max(0, min(self.unavailable + len(self.named) - self.allowance, len(self.named)))
        self.surge = min(limit, max(for_named, self.missing_new))
        surge_of_old = min(self.surge, for_named - named_new) if for_named >= self.missing_new else 0
        self.wanted = spec.replicas + self.surge
        self.wanted_old = self.keep + max(0, surge_of_old)

    @property
    def at_once(self) -> int:
        """How many pods may be made now."""
        limit = self._set.spec.scale_strategy.max_unavailable
        lack = self.wanted - len(self.pods)
        if limit is None:
            return lack
        return min(lack, max(0, scaled(limit, self.replicas, up=True) - self.unavailable))

    def is_available(self, pod: Pod) -> bool:
        moment = pod.available_at(self._set.spec.min_ready_seconds)
        return moment is not None and moment <= self._now

    def _is_named(self, pod: Pod) -> bool:
        named = self._set.spec.scale_strategy.pods_to_delete
        return pod.name in named or SPECIFIED_DELETE in pod.metadata.labels

    def spared(self, pods: Sequence[Pod]) -> list[Pod]:
        """Those that may go now: who does not serve costs nothing."""
        left = max(0, self.allowance + len(self.pods) - self.replicas - self.unavailable)
        chosen = []
        for pod in pods:
            moment = pod.available_at(0)
            cost = int(moment is not None and moment <= self._now)
            if cost <= left:
                left -= cost
                chosen.append(pod)
        return chosen


def _grown(counts: _Counts) -> Plan | None:
    """Of a lack, what the partition keeps old is made old."""
    if counts.at_once <= 0:
        return None
    of_old = min(counts.at_once, max(0, counts.wanted_old - len(counts.old)))
    return Plan(create_old=of_old, create_new=counts.at_once - of_old)


def _named_gone(counts: _Counts) -> Plan | None:
    gone = counts.spared(counts.named) if len(counts.pods) >= counts.wanted else []
    return Plan(delete=tuple(gone)) if gone else None


def _shrunk(counts: _Counts) -> Plan | None:
    """While pods are named for deletion, no others go."""
    surplus = len(counts.pods) - counts.wanted
    if surplus <= 0 or counts.named:
        return None
    of_old = min(surplus, max(0, len(counts.old) - counts.wanted_old))
    chosen = [*_least(counts, counts.old, of_old), *_least(counts, counts.new, surplus - of_old)]
    gone = counts.spared(chosen)
    return Plan(delete=tuple(gone)) if gone else None


def _least(counts: _Counts, pods: Sequence[Pod], count: int) -> list[Pod]:
    """So many of those that are missed least."""
    crowds = _crowds(pods)

    def worth(pod: Pod) -> tuple[object, ...]:
        placed, phase, ready, *rest = _worth(pod)
        costs = (counts.is_available(pod), ready, _deletion_cost(pod), -crowds[pod.name])
        return placed, phase, *costs, *rest

    return sorted(pods, key=worth)[:count]


def _worth(pod: Pod) -> tuple[object, ...]:
    """Pods with less go first: without a node, not running, not ready, ready for the shortest time, and young ones."""
    since, made = pod.ready_since, pod.metadata.creation_timestamp
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        since is not None,
        -since.timestamp() if since is not None else 0.0,
        -pod.restarts,
        -made.timestamp() if made is not None else -math.inf,
        pod.name,
    )


def _crowds(pods: Sequence[Pod]) -> Counter[str]:
    """How many pods on its node are worth more than each."""
    nodes: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        if pod.spec.node_name:
            nodes[pod.spec.node_name].append(pod)
    crowds: Counter[str] = Counter()
    for here in nodes.values():
        for better, pod in enumerate(sorted(here, key=_worth, reverse=True)):
            crowds[pod.name] = better
    return crowds


def _deletion_cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0


def _becomes_normal(pod: Pod, is_changed: Callable[[Pod], bool]) -> bool:
    if pod.lifecycle == PREPARING:
        return bool(pod.spec.node_name)
    return pod.lifecycle == UPDATING and is_changed(pod)


def _turn(counts: _Counts) -> list[Pod]:
    """The pods that are updated now; one that does not serve costs nothing."""
    limit = counts.allowance + len(counts.pods) - counts.replicas
    unavailable = sum(not counts.is_available(pod) for pod in counts.pods)
    new_ones = sum(not counts.is_available(pod) for pod in counts.new)
    turn: list[Pod] = []
    for pod in sorted(counts.old, key=_worth)[: counts.missing_new]:
        cost = int(counts.is_available(pod))
        if new_ones + len(turn) >= limit or (cost and unavailable >= limit):
            break
        unavailable += cost
        turn.append(pod)
    return turn


def next_look(set_: CloneSet, pods: Sequence[Pod], now: datetime) -> float | None:
    """Seconds until a ready pod becomes available; None when no time changes anything."""
    moments = (pod.available_at(set_.spec.min_ready_seconds) for pod in pods if pod.is_active)
    waits = [(moment - now).total_seconds() for moment in moments if moment is not None and moment > now]
    return min(waits, default=None)
