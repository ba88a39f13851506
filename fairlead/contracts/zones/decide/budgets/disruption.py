"""The one count of what is down (section 6.2): evictions by anybody and deletions of our own pass the same test.

Everything is read live, the record of what was let go too: of two that count at the same time one finds the record
changed when it writes its own mark. Rounds read it first; reviews are short and read everything at once.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from fairlead.contracts.zones.decide.admission.live_lists import pods_in
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.kinds import READY_TIME
from fairlead.core.ask import Answer, Ask, Listing, ReadRecord, SwapRecord
from fairlead.core.eviction_record import LASTS, Marks, is_marked
from fairlead.core.pod_readiness import is_ready
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import Pod

LEAST_ZONES = 2
SOON = timedelta(days=1)
"""What changes later than this is not waited for."""
INSTANT = timedelta(milliseconds=1)
"""A pod counts as ready later than its delay ends, not when it ends."""


class BudgetedZone(Struct, frozen=True):
    """A zone that a budget is for, as it was listed."""

    statefulset: StatefulSet
    pods: tuple[Pod, ...]

    @property
    def name(self) -> str:
        return self.statefulset.metadata.name

    @property
    def unknown(self) -> int:
        """Pods that should exist and were not listed."""
        expected = max(self.statefulset.spec.replicas, self.statefulset.status.replicas)
        return max(0, expected - len(self.pods))


class BudgetView(Struct, frozen=True):
    """What a budget is judged on."""

    guard: DisruptionBudget
    lanes: tuple[BudgetedZone, ...]
    """Of all zones of the budget, by name; the zone of the pod among them."""
    marks: Marks
    now: datetime


class Count(Struct, frozen=True):
    not_ready: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        return self.not_ready + self.unknown

    def told(self, where: str) -> str:
        """`1 pod not ready, 2 pods unknown in <where>`; what is zero is left out."""
        parts = ((self.not_ready, "not ready"), (self.unknown, "unknown"))
        words = ", ".join(f"{number} pod{'s' * (number != 1)} {state}" for number, state in parts if number)
        return f"{words} in {where}"


def denial(pod: Pod, zone: StatefulSet, limit: int, scene: BudgetView) -> str:
    """Why this pod of this zone may not go now; empty when it may."""
    if scene.guard.is_partitioned:
        return _partition_denial(pod, zone, limit, scene)
    others = [lane for lane in scene.lanes if lane.statefulset.metadata.uid != zone.metadata.uid]
    own = [lane for lane in scene.lanes if lane.statefulset.metadata.uid == zone.metadata.uid]
    for lane, allowed in (*((lane, 1) for lane in others), *((lane, limit) for lane in own)):
        count = Count(_not_ready(lane.pods, pod, scene), lane.unknown)
        if count.total >= allowed:
            return count.told(lane.name)
    return ""


def _partition_denial(pod: Pod, zone: StatefulSet, limit: int, scene: BudgetView) -> str:
    """Peers are the pods of the same partition in other zones; what a zone lacks may be a peer, so all of it counts."""
    partition = scene.guard.partition_of(pod.metadata.name)
    not_ready = unknown = 0
    for lane in scene.lanes:
        if lane.statefulset.metadata.uid == zone.metadata.uid:
            continue
        peers = tuple(peer for peer in lane.pods if scene.guard.partition_of(peer.metadata.name) == partition)
        not_ready += _not_ready(peers, pod, scene)
        unknown += lane.unknown if peers or lane.unknown else 1
    count = Count(not_ready, unknown)
    return count.told(f"partition {partition}") if count.total >= limit else ""


def _not_ready(pods: tuple[Pod, ...], leaving: Pod, scene: BudgetView) -> int:
    return sum(pod.metadata.uid != leaving.metadata.uid and not counts_ready(pod, scene) for pod in pods)


def counts_ready(pod: Pod, scene: BudgetView) -> bool:
    """Rule 9, and not let go already, and (Z12) ready for long enough."""
    if not is_ready(pod) or is_marked(pod, scene.marks, scene.now):
        return False
    if not scene.guard.delay:
        return True
    ripe = scene.guard.ripe_at(pod.metadata.annotations.get(READY_TIME))
    return ripe is not None and scene.now > ripe


def unripe_peer(pod: Pod, zone: StatefulSet, scene: BudgetView) -> tuple[Pod, datetime | None] | None:
    """The first peer of the pod's partition that is ready and does not count so for its delay alone.

    With the moment after which it does, None where its ready time is not known.
    """
    if not scene.guard.delay:
        return None
    partition = scene.guard.partition_of(pod.metadata.name)
    for lane in scene.lanes:
        for peer in lane.pods if lane.statefulset.metadata.uid != zone.metadata.uid else ():
            if scene.guard.partition_of(peer.metadata.name) != partition or not is_ready(peer):
                continue
            if not is_marked(peer, scene.marks, scene.now) and not counts_ready(peer, scene):
                return peer, scene.guard.ripe_at(peer.metadata.annotations.get(READY_TIME))
    return None


def changes_at(scene: BudgetView) -> datetime | None:
    """When the passing of time alone will next make a pod count as ready."""
    times = [mark.until for mark in scene.marks.values()]
    if scene.guard.delay:
        ready = (pod for lane in scene.lanes for pod in lane.pods if is_ready(pod))
        stamps = (pod.metadata.annotations.get(READY_TIME) for pod in ready)
        ends = [ripe for stamp in stamps if (ripe := scene.guard.ripe_at(stamp)) is not None]
        times += [ripe + INSTANT for ripe in ends if ripe < scene.now + SOON]
    return min((time for time in times if time > scene.now), default=None)


def record_question(guard: DisruptionBudget) -> Ask:
    return Ask(ReadRecord(guard.record))


def swap_question(guard: DisruptionBudget, version: str, value: bytes) -> Ask:
    return Ask(SwapRecord(guard.record, version, value, LASTS), effect=True)


def zones_question(guard: DisruptionBudget) -> Ask:
    return Ask(Listing(STATEFULSETS, guard.namespace, guard.selector))


def lane_of(zone: StatefulSet, answer: Answer) -> BudgetedZone | None:
    """The zone with its pods; None when they could not be listed."""
    pods = pods_in(answer, zone)
    return None if pods is None else BudgetedZone(zone, pods)
