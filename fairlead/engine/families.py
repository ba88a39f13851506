"""Makes the metrics of a process, all in one registry."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Families:
    """`told` is the help text; labels are named last."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(name, told, labels, registry=self._registry)

    def gauge(self, name: str, told: str, *labels: str) -> Gauge:
        return Gauge(name, told, labels, registry=self._registry)

    def histogram(self, name: str, told: str, *labels: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(name, told, labels, buckets=buckets, registry=self._registry)
