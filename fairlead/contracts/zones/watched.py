"""What is watched for zones in one namespace, or in all of them, and which groups a change concerns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from structlog.types import FilteringBoundLogger

from fairlead.contracts.zones import gather as gathering
from fairlead.contracts.zones.configured_objects import BUDGETS, CHECKS, Configured
from fairlead.contracts.zones.decide.admission.spacing import rests_on_label
from fairlead.contracts.zones.kinds import GROUP_LABEL, MIN_TIME, POD_ANNOTATIONS
from fairlead.contracts.zones.metrics import ZoneMetrics
from fairlead.engine.controller import Wake
from kubeloop.caches import Caches
from kubeloop.informer import Change
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.store import Named

N = TypeVar("N", bound=Named)


class WatchedZones:
    """The informers of one namespace, or of all of them."""

    def __init__(self, caches: Caches, namespace: str, log: FilteringBoundLogger, metrics: ZoneMetrics) -> None:
        indexes = gathering.STATEFULSET_INDEXES
        self.zones = caches.informer(
            STATEFULSETS, StatefulSet, namespace=namespace, labels=GROUP_LABEL, indexes=indexes
        )
        self.pods = caches.informer(
            PODS, Pod, namespace=namespace, indexes=gathering.POD_INDEXES, annotations=POD_ANNOTATIONS
        )
        self.budgets = Configured(BUDGETS, caches, namespace, log, metrics.observed_configuration)
        self.checks = Configured(CHECKS, caches, namespace, log, metrics.observed_health_check)


def wake_groups(watched: WatchedZones, wake: Wake, log: FilteringBoundLogger) -> None:
    """Rule 4: what has a group looked at."""

    def zone_changed(change: Change[StatefulSet]) -> None:
        _observed(change, log)
        for zone in _both(change.old, change.new):
            for key in gathering.group_of(zone):
                wake(key, change.initial)

    def pod_changed(change: Change[Pod]) -> None:
        # Only a pod that changed hands or labels concerns more groups than those of its newest state.
        moved = change.old and change.new and _belonging(change.old) != _belonging(change.new)
        for pod in _both(change.old, change.new) if moved or change.new is None else _both(change.new):
            for key in gathering.groups_of(pod, watched.zones.store):
                wake(key, change.initial)

    def rules_changed(namespace: str, initial: bool) -> None:
        for key in gathering.all_groups(watched.zones.store):
            if key.namespace == namespace:
                wake(key, initial)

    watched.zones.subscribe(zone_changed)
    watched.pods.subscribe(pod_changed)
    watched.budgets.subscribe(rules_changed)
    watched.checks.subscribe(rules_changed)


class DeprecatedLabels:
    """U-2: warns once in the life of the process that the minimum between downscales still stands in a label."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        self._log = log
        self._warned = False

    def observed(self, change: Change[StatefulSet]) -> None:
        if self._warned or change.new is None or not rests_on_label(change.new):
            return
        self._warned = True
        metadata = change.new.metadata
        self._log.warning("deprecated label", label=MIN_TIME, name=metadata.name, use="an annotation of the same key")


def _belonging(pod: Pod) -> tuple[object, ...]:
    return pod.metadata.labels, pod.metadata.owner_references


def _observed(change: Change[StatefulSet], log: FilteringBoundLogger) -> None:
    """B-7: debug records of what happens to StatefulSets; a change of their status alone is not worth one."""
    match change.old, change.new:
        case None, StatefulSet(metadata=metadata):
            log.debug("observed statefulset added", name=metadata.name, namespace=metadata.namespace)
        case StatefulSet(metadata=metadata), None:
            log.debug("observed statefulset deleted", name=metadata.name, namespace=metadata.namespace)
        case StatefulSet(metadata=before), StatefulSet(metadata=metadata) if before.generation != metadata.generation:
            log.debug("observed statefulset updated", name=metadata.name, generation=metadata.generation)


def _both(*sides: N | None) -> Iterator[N]:
    return (side for side in sides if side is not None)
