"""What is told of stored versions and their migration in numbers (section 2.8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.engine.decide.storage_migration.journal import MigrationPhase, StorageJournal
from fairlead.engine.metrics import Metrics

STATES = ("pending", "done", "skipped", "failed")


class _Gauges(Collector):
    def __init__(self) -> None:
        self.objects: dict[str, dict[str, int]] = {}
        self.stored: Mapping[str, tuple[str, ...]] = {}

    def collect(self) -> Iterator[Metric]:
        told = "Objects of the last storage migration by what became of them."
        objects = GaugeMetricFamily("fairlead_storage_migration_objects", told, labels=("crd", "state"))
        for crd, counts in sorted(self.objects.items()):
            for state, count in counts.items():
                objects.add_metric((crd, state), count)
        told = "Versions in which objects may be stored."
        stored = GaugeMetricFamily("fairlead_crd_stored_version", told, labels=("crd", "version"))
        for crd, versions in sorted(self.stored.items()):
            for version in versions:
                stored.add_metric((crd, version), 1)
        yield from (objects, stored)


class MigrationMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._gauges = _Gauges()
        metrics.registry.register(self._gauges)

    def show(self, crd: str, journal: StorageJournal) -> None:
        """How far it is."""
        counts = journal.counts if journal.phase is MigrationPhase.REWRITE else journal.rewritten
        gone = counts.done + counts.skipped + counts.failed
        pending = max((counts.total or gone) - gone, 0)
        self._gauges.objects[crd] = dict(
            zip(STATES, (pending, counts.done, counts.skipped, counts.failed), strict=True)
        )

    def show_stored(self, stored: Mapping[str, tuple[str, ...]]) -> None:
        """By definition."""
        self._gauges.stored = stored
