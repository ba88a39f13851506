"""How many objects of a kind there is something to say about, by what it is, as a metric of the leader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kubeloop.objects.meta import Resource


class CountedObjects(Collector):
    """By definition and by one word; there is no series before there has been such an object."""

    def __init__(self, name: str, text: str, label: str) -> None:
        self._name, self._text, self._labels = name, text, ("crd", label)
        self._objects: dict[tuple[str, str, str], str] = {}
        """By definition, namespace and name: the word."""
        self._shown: set[tuple[str, str]] = set()
        """Series that have been there, and go back to 0."""

    def passed(self, resource: Resource, namespace: str, name: str, word: str) -> None:
        """`word` is empty for an object about which there is nothing to say, or no longer."""
        key = (f"{resource.plural}.{resource.group}", namespace, name)
        self._objects.pop(key, None)
        if word:
            self._objects[key] = word
            self._shown.add((key[0], word))

    def clear(self) -> None:
        """Another replica decides from now on."""
        self._objects.clear()

    def collect(self) -> Iterator[Metric]:
        if not self._shown:
            return
        counts = Counter((key[0], word) for key, word in self._objects.items())
        family = GaugeMetricFamily(self._name, self._text, labels=self._labels)
        for labels in sorted(self._shown):
            family.add_metric(labels, counts[labels])
        yield family


def foreign_objects() -> CountedObjects:
    text = "Objects that are left alone because another version of the operator has handled them."
    return CountedObjects("fairlead_foreign_version_objects", text, "reason")


def mismatched_payloads() -> CountedObjects:
    text = "Objects whose fields are not, or not all, of the version that they claim."
    return CountedObjects("fairlead_payload_mismatch_objects", text, "kind")
