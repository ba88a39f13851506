"""What is told of conversion in numbers (section 2.8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf

from prometheus_client.metrics_core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.contracts.apiversions.decide.loaded_rules import Loaded
from fairlead.engine.conversion.review import ConversionAnswer
from fairlead.engine.conversion.tallies import Spread, Tally
from fairlead.engine.metrics import Metrics

NOBODY = ""
"""For labels of reviews that name nothing known: others choose the words, and series stay."""
SUCCESS, FAILURE, UNAVAILABLE = "success", "failure", "unavailable"
"""What comes of a review."""


class _Spreads(Collector):
    """A histogram that is added to in bulk."""

    def __init__(self, name: str, told: str, *labels: str) -> None:
        self._name, self._told, self._labels = name, told, labels
        self._held: dict[tuple[str, ...], Spread] = {}

    def join(self, spread: Spread, *labels: str) -> None:
        if labels in self._held:
            self._held[labels].join(spread)
        else:
            self._held[labels] = spread

    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(self._name, self._told, labels=self._labels)
        for labels, spread in self._held.items():
            family.add_metric(labels, [*_cumulative(spread)], spread.total)
        yield family


def _cumulative(spread: Spread) -> Iterator[tuple[str, float]]:
    below = 0
    for bound, count in zip((*spread.bounds, inf), spread.counts, strict=True):
        below += count
        yield "+Inf" if bound == inf else str(bound), below


class _States(Collector):
    """How something stands for each definition."""

    def __init__(self, name: str, told: str, label: str) -> None:
        self._name, self._told, self._label = name, told, label
        self.states: Mapping[str, str] = {}

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(self._name, self._told, labels=("crd", self._label))
        for crd, state in sorted(self.states.items()):
            family.add_metric((crd, state), 1)
        yield family


class ConversionMetrics:
    def __init__(self, metrics: Metrics) -> None:
        families = metrics.families
        self._reviews = families.counter(
            "fairlead_conversion_reviews", "Conversion reviews by what came of them.", "crd", "to", "result"
        )
        self._objects = families.counter(
            "fairlead_conversion_objects", "Objects of reviews by what came of them.", "crd", "from", "to", "result"
        )
        self._discarded = families.counter(
            "fairlead_conversion_carry_discarded", "Carried leaves that counted no more.", "crd", "to"
        )
        self._panics = families.counter("fairlead_conversion_panics", "Mistakes in rules.")
        self._seconds = _Spreads(
            "fairlead_conversion_duration_seconds", "Duration of the conversion of an object.", "crd", "from", "to"
        )
        self._carried = _Spreads("fairlead_conversion_carry_bytes", "Bytes carried with an object.", "crd", "to")
        told = "Conversion rules by definition and by what is in force of them."
        self._rules = _States("fairlead_conversion_rules", told, "state")
        told = "Attached definitions by whether the API server reaches the webhook: answers, fails, unknown, lost."
        self._probes = _States("fairlead_conversion_probe", told, "result")
        for each in (self._seconds, self._carried, self._rules, self._probes):
            metrics.registry.register(each)

    def show(self, loaded: Mapping[str, Loaded]) -> None:
        """By definition: what is in force.

        What alerts look for is counted from 0 on: of a series that begins with its first count Prometheus sees no
        increase.
        """
        self._rules.states = {name: each.state.value for name, each in loaded.items()}
        for name, each in loaded.items():
            for version in each.versions:
                self._discarded.labels(name, version)
                for result in (FAILURE, UNAVAILABLE):
                    self._reviews.labels(name, version, result)

    def show_probes(self, results: Mapping[str, str]) -> None:
        """By definition: what became of the last probe."""
        self._probes.states = results

    def count(self, converted: ConversionAnswer) -> None:
        """One review."""
        crd = next((each.name for each in converted.tallies), NOBODY)
        to = converted.desired.rpartition("/")[2] if crd else NOBODY
        self._reviews.labels(crd, to, _result(converted)).inc()
        self._panics.inc(len(converted.mistakes))
        self._count(converted.tallies, to)

    def _count(self, tallies: Iterable[Tally], to: str) -> None:
        for each in tallies:
            for result, count in ((SUCCESS, each.good), (FAILURE, each.bad)):
                if count:
                    self._objects.labels(each.name, each.source, to, result).inc(count)
            if each.good:
                self._seconds.join(each.seconds, each.name, each.source, to)
                self._carried.join(each.carried, each.name, to)
            if each.discarded:
                self._discarded.labels(each.name, to).inc(each.discarded)


def _result(converted: ConversionAnswer) -> str:
    if converted.status == 503:
        return UNAVAILABLE
    if not converted.is_review:
        return "bad_request"
    return FAILURE if converted.problem else SUCCESS
