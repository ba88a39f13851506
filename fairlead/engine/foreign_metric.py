"""How many objects are left alone because another version of the operator has handled them, as a metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kubeloop.objects.meta import Resource

NAME = "fairlead_foreign_version_objects"
LABELS = ("crd", "reason")


class ForeignObjects(Collector):
    """Of the leader; there is no series while there is no such object, and never was."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str, str], str] = {}
        """By definition, namespace and name: why it is left alone."""
        self._known: set[tuple[str, str]] = set()
        """Series that have been shown, and go back to 0."""

    def passed(self, resource: Resource, namespace: str, name: str, why: str) -> None:
        """`why` is empty for an object that is handled."""
        key = (f"{resource.plural}.{resource.group}", namespace, name)
        self._objects.pop(key, None)
        if why:
            self._objects[key] = why
            self._known.add((key[0], why))

    def clear(self) -> None:
        """Another replica decides from now on."""
        self._objects.clear()

    def collect(self) -> Iterator[Metric]:
        counts = Counter((key[0], why) for key, why in self._objects.items())
        if not self._known:
            return
        text = "Objects that are left alone because another version of the operator has handled them."
        family = GaugeMetricFamily(NAME, text, labels=LABELS)
        for labels in sorted(self._known):
            family.add_metric(labels, counts[labels])
        yield family
