"""A group of zones as the rules see it: which pods are whose, which are outdated, which zone is ready."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from operator import is_
from weakref import WeakValueDictionary

from msgspec import Struct

from fairlead.contracts.zones.decide.live import newest, ref_of
from fairlead.contracts.zones.decide.once import once
from fairlead.contracts.zones.decide.rollout.max_unavailable import Budget, max_unavailable
from fairlead.contracts.zones.decide.rollout.readiness import (
    available_at,
    counted_ready,
    is_not_yet_available,
    says_ready,
)
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.contracts.zones.kinds import NAME_LABEL, PAUSED, ROTATE
from fairlead.core.ordinals import natural_key, ordinal_of
from fairlead.core.pod_readiness import is_ready
from kubeloop.objects.apps import REVISION_LABEL, StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Ref

ON_DELETE = "OnDelete"
MOST_NAMED = 100
"""How many missing pods are named; a StatefulSet may ask for two thousand million."""


class Zone(Struct, frozen=True, weakref=True):
    """One StatefulSet with its pods and what follows from them."""

    statefulset: StatefulSet
    pods: tuple[Pod, ...]
    """In no particular order."""
    outdated: tuple[Pod, ...]
    """Rules 14 and 15: not of the update revision, lowest ordinal first; also when the two revisions are equal, for
    after a rollback pods of the abandoned revision still run. Pods that are marked for rotation are among them."""
    unready: int
    """Pods that exist and are not ready, or not for `minReadySeconds`."""
    missing: int
    """Pods that should exist and do not."""
    budget: Budget
    not_yet_available: tuple[Pod, ...] = ()
    """Ready, but not for `minReadySeconds`."""
    not_ready_pods: tuple[Pod, ...] = ()
    """In natural order of their names."""

    @property
    def name(self) -> str:
        return self.statefulset.metadata.name

    @property
    def ref(self) -> Ref:
        return ref_of(self.statefulset)

    @property
    def expected(self) -> int:
        """How many pods there should be, H-7: the larger of what is asked for and what the status knows."""
        return max(self.statefulset.spec.replicas, self.statefulset.status.replicas)

    @property
    def is_ready(self) -> bool:
        """Rule 10: the status says so, every expected pod exists, every pod is ready."""
        return self.unready == 0 and self.missing == 0 and says_ready(self.statefulset)

    @property
    def not_ready(self) -> int:
        """How much of the budget is used, H-1: by what the status says or by what the pods show, whichever is more.

        With a scale-down going on, the pods that are about to leave count as any other, because until the status says
        that they are gone, clients may still rely on them: asked for 3, status 5 of 5 ready, pod 4 terminating gives
        max(5 - 5, 1 unready + 0 missing) = 1; once pod 4 is gone and the status not yet told, max(5 - 5, 0 + 1) = 1;
        with status 4 of 4 it is 0 again. A scale-up from 3 to 5 uses 2 until the new pods are ready: max(5 - 3, 2).
        """
        return max(self.expected - counted_ready(self.statefulset), self.unready + self.missing)

    @property
    def missing_names(self) -> list[str]:
        """Of the pods that the spec asks for, the first MOST_NAMED; others that only the status counts have no name."""
        present = present_in(self.statefulset, self.pods)
        absent = (ordinal for ordinal in ordinals_of(self.statefulset) if ordinal not in present)
        return [f"{self.name}-{ordinal}" for ordinal in islice(absent, MOST_NAMED)]

    @property
    def is_paused(self) -> bool:
        return self.statefulset.metadata.annotations.get(PAUSED) == "true"

    @property
    def is_stale(self) -> bool:
        """H-18: the status speaks of an older spec, so that its revisions are not to be acted on."""
        observed = self.statefulset.status.observed_generation
        return observed is not None and observed < self.statefulset.metadata.generation

    @property
    def was_observed(self) -> bool:
        """Whether the StatefulSet controller has ever looked at it; it has not when it was just created."""
        status = self.statefulset.status
        return bool(status.observed_generation or status.replicas or status.current_revision or status.update_revision)

    @property
    def is_leaving(self) -> bool:
        """The StatefulSet is being deleted: its controller makes no pods for it any more."""
        return self.statefulset.metadata.deletion_timestamp is not None

    @property
    def knows_revisions(self) -> bool:
        status = self.statefulset.status
        return bool(status.current_revision and status.update_revision)

    @property
    def revision_before(self) -> str:
        """What the zone comes from: the last that all its pods had or, where that is wanted again, one they still have.

        Pods may be of others: of attempts that were given up on the way, `old -> broken -> new`, it is `old`.
        """
        status = self.statefulset.status
        if status.current_revision != status.update_revision:
            return status.current_revision
        left = (revision for pod in self.outdated if (revision := revision_of(pod)) != status.update_revision)
        return next(left, status.current_revision)

    @property
    def is_current(self) -> bool:
        """Nothing of the zone is left to roll, whether or not it is ready."""
        status = self.statefulset.status
        return (
            not self.outdated
            and bool(status.update_revision)
            and status.current_revision == status.update_revision
            and not self.is_stale
        )

    @property
    def has_updated(self) -> bool:
        """Whether some of its pods are as they should be; if others are outdated, it is in the middle of rolling."""
        return len(self.outdated) < len(self.pods)

    @property
    def ripens_at(self) -> datetime | None:
        """When the next pod will have been ready for `minReadySeconds`, which no event tells."""
        seconds = self.statefulset.spec.min_ready_seconds
        moments = (available_at(pod, seconds) for pod in self.not_yet_available)
        return min((moment for moment in moments if moment is not None), default=None)


class Group(Struct, frozen=True):
    seen: Snapshot
    zones: tuple[Zone, ...]
    """Rule 11: in plain order of their names."""
    at: datetime
    """The moment for which it is judged."""

    @property
    def not_ready(self) -> tuple[Zone, ...]:
        return tuple(zone for zone in self.zones if not zone.is_ready)


_KNOWN: WeakValueDictionary[str, Zone] = WeakValueDictionary()
"""The zone that was last worked out of a StatefulSet, by its UID, for as long as some Snapshot carries it."""


def group_of(seen: Snapshot, now: datetime) -> Group:
    return Group(seen, zones_of(seen, now), now)


@once
def zones_of(seen: Snapshot, now: datetime) -> tuple[Zone, ...]:
    """Most passes are about one zone; of the others it is known what follows from the same versions."""
    current = (newest(zone, seen) for zone in seen.statefulsets) if seen.answers.known else seen.statefulsets
    statefulsets = sorted((zone for zone in current if zone is not None), key=lambda zone: zone.metadata.name)
    members = map(tuple, members_of(statefulsets, seen.pods))
    return tuple(known_zone(zone, pods, now) for zone, pods in zip(statefulsets, members, strict=True))


def known_zone(statefulset: StatefulSet, pods: tuple[Pod, ...], now: datetime) -> Zone:
    """The zone of exactly these objects; what `minReadySeconds` makes of them depends on the moment as well."""
    known = _KNOWN.get(statefulset.metadata.uid)
    if (
        known is not None
        and known.statefulset is statefulset
        and len(known.pods) == len(pods)
        and all(map(is_, known.pods, pods))
        and statefulset.spec.min_ready_seconds <= 0
    ):
        return known
    zone = _KNOWN[statefulset.metadata.uid] = zone_of(statefulset, pods, now)
    return zone


def members_of(statefulsets: list[StatefulSet], pods: tuple[Pod, ...]) -> list[list[Pod]]:
    """The pods of each zone (H-9, H-10).

    A controlled pod belongs to its controller and to nobody else, whatever its labels say: a `name` label that the
    template just got is on no pod yet, and a zone that waited for it would never roll the pods that lack it.
    A pod without controller belongs to every zone that selects its labels: by `name`, or by `spec.selector` where the
    template has no `name`.
    """
    owned: dict[str, list[Pod]] = {zone.metadata.uid: [] for zone in statefulsets}
    loose = []
    for pod in pods:
        controller = pod.metadata.controller_uid
        if not controller:
            loose.append(pod)
        elif controller in owned:
            owned[controller].append(pod)
    return [owned[zone.metadata.uid] + [pod for pod in loose if selects(zone, pod)] for zone in statefulsets]


def selects(zone: StatefulSet, pod: Pod) -> bool:
    """Whether the zone would count this pod by its labels; a selector that asks for nothing selects nothing."""
    name = zone.spec.template.metadata.labels.get(NAME_LABEL)
    if name is not None:
        return pod.metadata.labels.get(NAME_LABEL) == name
    selector = zone.spec.selector
    return bool(selector.match_labels or selector.match_expressions) and selector.matches(pod.metadata.labels)


def zone_of(statefulset: StatefulSet, pods: tuple[Pod, ...], now: datetime) -> Zone:
    revision, seconds = statefulset.status.update_revision, statefulset.spec.min_ready_seconds
    mark = None if marks_all(statefulset) else "true"
    outdated = [
        pod
        for pod in pods
        if (labels := pod.metadata.labels).get(REVISION_LABEL) != revision or labels.get(ROTATE, "") == mark
    ]
    not_yet_available = tuple(pod for pod in pods if is_not_yet_available(pod, seconds, now)) if seconds > 0 else ()
    not_ready = [pod for pod in pods if not is_ready(pod)]
    return Zone(
        statefulset,
        pods=pods,
        outdated=in_natural_order(outdated),
        unready=len(not_yet_available) + len(not_ready),
        missing=missing_of(statefulset, pods),
        budget=max_unavailable(statefulset),
        not_yet_available=not_yet_available,
        not_ready_pods=in_natural_order(not_ready),
    )


def revision_of(pod: Pod) -> str:
    return pod.metadata.labels.get(REVISION_LABEL, "")


def in_natural_order(pods: list[Pod]) -> tuple[Pod, ...]:
    return tuple(sorted(pods, key=lambda pod: natural_key(pod.metadata.name)) if len(pods) > 1 else pods)


def marks_all(statefulset: StatefulSet) -> bool:
    """Whether every pod is born with the mark for rotation, which then means nothing: they would go for ever."""
    return statefulset.spec.template.metadata.labels.get(ROTATE) == "true"


def missing_of(statefulset: StatefulSet, pods: tuple[Pod, ...]) -> int:
    """How many expected pods do not exist, by count and by name, whichever is more.

    The count alone (rule 10(b)) is fooled by a stray pod that carries the zone's labels: pods 0 and 2 and `debug` are
    three pods, yet pod 1 is missing.
    """
    expected = max(statefulset.spec.replicas, statefulset.status.replicas)
    wanted, present = ordinals_of(statefulset), present_in(statefulset, pods)
    return max(0, expected - len(pods), len(wanted) - len(present))


def ordinals_of(statefulset: StatefulSet) -> range:
    """Of the pods that the spec asks for, H-5: from `spec.ordinals.start` on."""
    start = statefulset.spec.ordinals.start
    return range(start, start + statefulset.spec.replicas)


def present_in(statefulset: StatefulSet, pods: Iterable[Pod]) -> set[int]:
    """Ordinals among those asked for whose pod exists; costs what exists, not what is asked for."""
    wanted = ordinals_of(statefulset)
    found = (ordinal_of(pod.metadata.name, statefulset.metadata.name) for pod in pods)
    return {ordinal for ordinal in found if ordinal is not None and ordinal in wanted}


def pod_ref(pod: Pod) -> Ref:
    return Ref(PODS, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
