"""What the DaemonSet controller does next: a pure function of the set, its pods, the nodes and the time.

Pods belong to nodes even before they are bound: their affinity names one. First every node gets its pod and loses what
is too much (`manage`), then a rolling update moves nodes on (`roll`): by deleting old pods or, with a surge, by making
new ones beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fractions import Fraction

from msgspec import Struct

from kubeloop.objects.apps import REVISION_LABEL
from kubesim.controllers.daemonset_pods import GENERATION_LABEL, DaemonSet, Pod, Status
from kubesim.controllers.statefulset_pods import is_available, is_ready
from kubesim.pods.scheduling import Node, Wishes

_BEGINNING = datetime.min.replace(tzinfo=UTC)


class Duty(Struct, frozen=True):
    """Whether a pod of the set shall be on a node, and whether one that is there may stay."""

    runs: bool
    stays: bool


class Plan(Struct, frozen=True):
    """Nodes that need a pod, pods that go, and those that go because they are over."""

    create: tuple[str, ...] = ()
    delete: tuple[Pod, ...] = ()
    over: tuple[Pod, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.create or self.delete or self.over)


class DaemonSetView(Struct, frozen=True):
    """All that a round is decided from; `pods` are the set's, without those that are both over and deleted."""

    set: DaemonSet
    wishes: Wishes
    """Of the pods that the set makes."""
    revision: str
    """The hash of the set's template."""
    nodes: Sequence[Node]
    pods: Sequence[Pod]
    now: datetime

    def by_node(self) -> dict[str, list[Pod]]:
        """Pods by the node they are on or made for; a pod that names none is left out."""
        found: dict[str, list[Pod]] = {}
        for pod in self.pods:
            if node := pod.spec.named_node:
                found.setdefault(node, []).append(pod)
        return found

    def duty(self, node: Node) -> Duty:
        return duty(self.wishes, node)

    def is_updated(self, pod: Pod) -> bool:
        """A pod of the template's generation counts too, as releases without revisions made them."""
        labels, generation = pod.metadata.labels, self.set.template_generation
        of_generation = bool(generation) and labels.get(GENERATION_LABEL) == generation
        return labels.get(REVISION_LABEL) == self.revision or of_generation

    def is_available(self, pod: Pod) -> bool:
        return is_available(pod, self.set.spec.min_ready_seconds, self.now)


def duty(wishes: Wishes, node: Node) -> Duty:
    """A taint that came after the pod drives it away only if its effect is NoExecute."""
    if wishes.node_name not in ("", node.name) or not wishes.attracted_by(node):
        return Duty(runs=False, stays=False)
    taints = node.spec.taints
    if wishes.bears(taints, "NoSchedule", "NoExecute"):
        return Duty(runs=True, stays=True)
    return Duty(runs=False, stays=wishes.bears(taints, "NoExecute"))


def manage(seen: DaemonSetView) -> Plan:
    """One pod on every node that shall have one, and none elsewhere."""
    by_node = seen.by_node()
    plans = [_on_node(seen, node, by_node.get(node.name, [])) for node in seen.nodes]
    known = {node.name for node in seen.nodes}
    stray = [pod for node, pods in by_node.items() if node not in known for pod in pods if not pod.spec.node_name]
    return Plan(
        tuple(node for plan in plans for node in plan.create),
        (*(pod for plan in plans for pod in plan.delete), *stray),
        tuple(pod for plan in plans for pod in plan.over),
    )


def _on_node(seen: DaemonSetView, node: Node, pods: Sequence[Pod]) -> Plan:
    wanted = seen.duty(node)
    if wanted.runs and not pods:
        return Plan(create=(node.name,))
    staying = [pod for pod in pods if not pod.is_deleted]
    if not wanted.stays:
        return Plan(delete=tuple(staying))
    over = tuple(pod for pod in staying if pod.is_terminal)
    running = by_age(pod for pod in staying if not pod.is_terminal)
    if not limits(seen.set, 1)[0]:
        return Plan(delete=tuple(running[1:]), over=over)
    if not running:
        return Plan(create=(node.name,) if wanted.runs else (), over=over)
    return Plan(delete=_beyond_surge(seen, running), over=over)


def _beyond_surge(seen: DaemonSetView, running: Sequence[Pod]) -> tuple[Pod, ...]:
    """Of an old and a new pod both stay while the old one is ready and the new one not yet available."""
    new = [pod for pod in running if pod.metadata.labels.get(REVISION_LABEL) == seen.revision]
    old = [pod for pod in running if pod.metadata.labels.get(REVISION_LABEL) != seen.revision]
    surplus = (*new[1:], *old[1:])
    if new and old and (not is_ready(old[0]) or seen.is_available(new[0])):
        surplus = (*surplus, old[0])
    return surplus


def by_age(pods: Iterable[Pod]) -> list[Pod]:
    """Bound ones first, then the oldest."""

    def age(pod: Pod) -> tuple[bool, datetime, str]:
        return not pod.spec.node_name, pod.metadata.creation_timestamp or _BEGINNING, pod.metadata.name

    return sorted(pods, key=age)


def limits(set_: DaemonSet, desired: int) -> tuple[int, int]:
    """How many nodes may have a second pod, and how many may be without an available one; shares round up."""
    rolling = set_.spec.update_strategy.rolling_update
    if set_.spec.update_strategy.type != "RollingUpdate" or rolling is None:
        return 0, 0
    return _share(rolling.max_surge, desired), _share(rolling.max_unavailable, desired)


def _share(value: int | str, whole: int) -> int:
    return value if isinstance(value, int) else math.ceil(Fraction(value.removesuffix("%")) * whole / 100)


def roll(seen: DaemonSetView) -> Plan:
    """The next step of a rolling update."""
    by_node = seen.by_node()
    wanted = [node.name for node in seen.nodes if seen.duty(node).runs]
    for name in wanted:
        by_node.setdefault(name, [])
    surge, unavailable = limits(seen.set, len(wanted))
    if wanted and not surge and not unavailable:
        unavailable = 1  # a set that allows neither would never be done
    found = {name: _old_and_new(seen, pods) for name, pods in by_node.items()}
    return _surging(seen, found, wanted, surge) if surge else _replacing(seen, found, unavailable)


class OldAndNew(Struct, frozen=True):
    """The pods of one node; `several` when there are two of one sort, which `manage` has to deal with first."""

    old: Pod | None = None
    new: Pod | None = None
    several: bool = False


def _old_and_new(seen: DaemonSetView, pods: Iterable[Pod]) -> OldAndNew:
    staying = [pod for pod in pods if not pod.is_deleted]
    new = [pod for pod in staying if seen.is_updated(pod)]
    old = [pod for pod in staying if not seen.is_updated(pod)]
    if len(new) > 1 or len(old) > 1:
        return OldAndNew(several=True)
    return OldAndNew(old[0] if old else None, new[0] if new else None)


def _replacing(seen: DaemonSetView, found: dict[str, OldAndNew], most: int) -> Plan:
    """Deletes old pods that are not available, and of the others as many as may be missing."""
    missing = 0
    broken: list[Pod] = []
    candidates: list[Pod] = []
    for pods in found.values():
        if pods.old is None or pods.new is not None:
            missing += pods.new is None or pods.old is not None or not seen.is_available(pods.new)
        elif not seen.is_available(pods.old):
            broken.append(pods.old)
            missing += 1
        elif missing < most:
            candidates.append(pods.old)
    return Plan(delete=(*broken, *candidates[: max(most - missing, 0)]))


def _surging(seen: DaemonSetView, found: dict[str, OldAndNew], wanted: Sequence[str], most: int) -> Plan:
    """Makes new pods beside old ones, and deletes the old ones whose successors are available."""
    surging = available = 0
    create: list[str] = []
    delete: list[Pod] = []
    candidates: list[str] = []
    misplaced: list[Pod] = []
    for name, pods in found.items():
        if pods.several:
            surging += 1
            continue
        here = pods.old or pods.new
        available += here is not None and seen.is_available(here)
        if pods.old is None:
            continue
        if pods.new is not None:
            if seen.is_available(pods.new):
                delete.append(pods.old)
            else:
                surging += 1
        elif not seen.is_available(pods.old):
            if name in wanted:
                create.append(name)
            else:
                delete.append(pods.old)
        elif name not in wanted:
            misplaced.append(pods.old)
        elif surging < most:
            candidates.append(name)
    # A pod where none shall be any more stays until there are enough elsewhere.
    delete += misplaced[: max(available - len(wanted), 0)]
    return Plan((*create, *candidates[: max(most - surging, 0)]), tuple(delete))


def status_of(seen: DaemonSetView) -> Status:
    """The counts; the generation observed and the collisions are those known before."""
    by_node = seen.by_node()
    desired = current = misplaced = ready = available = updated = 0
    for node in seen.nodes:
        pods = by_node.get(node.name)
        if not seen.duty(node).runs:
            misplaced += bool(pods)
            continue
        desired += 1
        if not pods:
            continue
        current += 1
        oldest = by_age(pods)[0]
        ready += is_ready(oldest)
        available += is_ready(oldest) and seen.is_available(oldest)
        updated += seen.is_updated(oldest)
    return Status(
        observed_generation=seen.set.status.observed_generation,
        collision_count=seen.set.status.collision_count,
        conditions=seen.set.status.conditions,
        current_number_scheduled=current,
        number_misscheduled=misplaced,
        desired_number_scheduled=desired,
        number_ready=ready,
        updated_number_scheduled=updated,
        number_available=available,
        number_unavailable=desired - available,
    )
