"""The environment contract's metrics (section 2.14, B16): what needs an update, what waits, what passes cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.engine.controller import RolloutKey
from fairlead.engine.metrics import Metrics

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class EnvironmentProgress(Struct, frozen=True):
    """One environment after a pass."""

    needs_update: bool
    """Whether its target generation differs from the active one."""
    reason: str = ""
    """Of its condition."""
    stalled_since: float | None = None
    """Unix time at which its condition ceased to be true; None while it is true or not there."""


class _Standings(Collector):
    def __init__(self, now: Callable[[], float]) -> None:
        self.standings: dict[RolloutKey, EnvironmentProgress] = {}
        self._now = now

    def collect(self) -> Iterator[Metric]:
        waiting = sum(standing.needs_update for standing in self.standings.values())
        yield GaugeMetricFamily(
            "environmentd_needs_update",
            "Environments whose target generation differs from the active one.",
            value=waiting,
        )
        stalled = GaugeMetricFamily(
            "orchestratord_environment_stalled_seconds",
            "How long the condition of an environment has not been true.",
            labels=("namespace", "name", "reason"),
        )
        for key, standing in self.standings.items():
            if standing.stalled_since is not None:
                stalled.add_metric((*key, standing.reason), max(0.0, self._now() - standing.stalled_since))
        yield stalled


class EnvironmentMetrics:
    """Of the passes over environments, balancers and consoles, and of conversion and migration."""

    def __init__(self, metrics: Metrics) -> None:
        families, registry = metrics.families, metrics.registry
        self.passes = families.counter("orchestratord_reconciles", "Passes by what came of them.", "kind", "result")
        self.duration = families.histogram(
            "orchestratord_reconcile_duration_seconds", "Duration of a pass.", "kind", buckets=BUCKETS
        )
        self.steps = families.counter("orchestratord_steps", "Passes by the rule that decided them.", "kind", "step")
        self.leader = families.gauge("orchestratord_is_leader", "Whether this process holds the lease.")
        self.conversions = families.counter(
            "orchestratord_conversions", "Conversion reviews by what came of them.", "result"
        )
        self.migrated = families.counter(
            "orchestratord_migrated_objects", "Objects rewritten in the stored version.", "result"
        )
        self._standings = _Standings(metrics.now)
        registry.register(self._standings)

    def leads(self, leading: bool) -> None:
        """Rounds begin or end here: what other replicas see to is not told of here."""
        self.leader.set(int(leading))
        if not leading:
            self._standings.standings.clear()

    def stands(self, key: RolloutKey, standing: EnvironmentProgress) -> None:
        self._standings.standings[key] = standing

    def decided(self, kind: str, rule: str) -> None:
        self.steps.labels(kind, rule).inc()

    def of(self, kind: str) -> Passes:
        return Passes(self, kind)

    def gone(self, kind: str, key: RolloutKey) -> None:
        if kind == "materialize":
            self._standings.standings.pop(key, None)


class Passes:
    """Watches the rounds of one kind."""

    def __init__(self, metrics: EnvironmentMetrics, kind: str) -> None:
        self._metrics = metrics
        self._kind = kind

    def started(self, key: RolloutKey) -> None: ...

    def ended(self, key: RolloutKey, seconds: float, *, failed: bool, at: float) -> None:
        self._metrics.duration.labels(self._kind).observe(seconds)
        self._metrics.passes.labels(self._kind, "failed" if failed else "ok").inc()

    def vanished(self, key: RolloutKey) -> None:
        self._metrics.gone(self._kind, key)
