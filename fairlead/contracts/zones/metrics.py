"""The zone contract's metrics.

Series of a group that is gone are removed once every group that is left has passed, so that a scrape never loses a
group because another one fails.
"""

from __future__ import annotations

from fairlead.contracts.zones.progress_metrics import HEALTH, Progress
from fairlead.core.decision import Admit
from fairlead.core.prometheus import QUERY_PATH
from fairlead.engine.controller import RolloutKey
from fairlead.engine.metrics import REQUEST_BUCKETS, Metrics
from kubeloop.calls import Call
from kubeloop.urls import shown_url

PASS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class ZoneMetrics:
    """Of passes over groups, of disruption budgets and of health checks."""

    def __init__(self, metrics: Metrics) -> None:
        families, registry = metrics.families, metrics.registry
        self.reconciles = families.counter("rollout_operator_group_reconciles", "Passes started.", "rollout_group")
        self.failed = families.counter(
            "rollout_operator_group_reconciles_failed", "Passes that failed.", "rollout_group"
        )
        self.duration = families.histogram(
            "rollout_operator_group_reconcile_duration_seconds",
            "Duration of a pass.",
            "rollout_group",
            buckets=PASS_BUCKETS,
        )
        self.last_success = families.gauge(
            "rollout_operator_last_successful_group_reconcile_timestamp_seconds",
            "Unix time of the last pass that succeeded.",
            "rollout_group",
        )
        self.evictions = families.counter(
            "rollout_operator_zpdb_eviction_requests",
            "Evictions judged, by the row of the contract's table that answered.",
            "reason",
            "status",
        )
        self.evictions_in_work = families.gauge(
            "rollout_operator_zpdb_inflight_eviction_requests", "Evictions being judged."
        )
        self.configurations = families.counter(
            "rollout_operator_zpdb_configurations_observed",
            "Disruption budgets observed, by what came of it.",
            "result",
        )
        # An alert looks for it: of a series that begins with its first count Prometheus sees no increase.
        self.configurations.labels("invalid")
        self.health_checks = families.counter(
            f"{HEALTH}configurations_observed", "Health checks observed, by what came of it.", "result"
        )
        self.health_queries = families.histogram(
            f"{HEALTH}query_duration_seconds",
            "Duration of queries to Prometheus.",
            "status_code",
            buckets=REQUEST_BUCKETS,
        )
        self.progress = Progress()
        registry.register(self.progress)

    def leads(self, leading: bool) -> None:
        """Rounds begin or end here: what other replicas see to is not told of here."""
        if not leading:
            self.progress.clear()

    def counts(self, call: Call, status: int | None, seconds: float) -> bool:
        """Whether it was a query to Prometheus, which is counted here; without an answer the status is `error`."""
        if not shown_url(call.url).endswith(QUERY_PATH):
            return False
        self.health_queries.labels("error" if status is None else str(status)).observe(seconds)
        return True

    def evicted(self, verdict: Admit) -> None:
        """An eviction was judged."""
        self.evictions.labels(verdict.word, str(verdict.code or 200)).inc()

    def observed_configuration(self, result: str) -> None:
        """A disruption budget was seen to appear, to change or to go."""
        self.configurations.labels(result).inc()

    def observed_health_check(self, result: str) -> None:
        """A health check was seen to appear, to change or to go."""
        self.health_checks.labels(result).inc()


class GroupSeries:
    """Keeps the four series of every group name, and takes them away when no namespace has such a group any more.

    Every name ever exported is remembered: one that vanishes while a group fails goes with the next pass that leaves
    no group failing.
    """

    def __init__(self, metrics: ZoneMetrics) -> None:
        self._metrics = metrics
        self._namespaces: dict[str, set[str]] = {}
        """Where groups of an exported name are; empty for a name whose series are to go."""
        self._failing: set[RolloutKey] = set()

    def started(self, key: RolloutKey) -> None:
        """A pass of the group begins."""
        metrics = self._metrics
        if key.name not in self._namespaces:
            metrics.failed.labels(key.name)
            metrics.last_success.labels(key.name)
        self._namespaces.setdefault(key.name, set()).add(key.namespace)
        metrics.reconciles.labels(key.name).inc()

    def ended(self, key: RolloutKey, seconds: float, *, failed: bool, at: float) -> None:
        """A pass of the group is over; `at` is the Unix time."""
        metrics = self._metrics
        metrics.duration.labels(key.name).observe(seconds)
        if failed:
            metrics.failed.labels(key.name).inc()
            self._failing.add(key)
        else:
            metrics.last_success.labels(key.name).set(at)
            self._failing.discard(key)
            self._sweep()

    def vanished(self, key: RolloutKey) -> None:
        """The group has no StatefulSet any more."""
        self._metrics.progress.vanished(key)
        self._failing.discard(key)
        if key.name in self._namespaces:
            self._namespaces[key.name].discard(key.namespace)
        self._sweep()

    def _sweep(self) -> None:
        if self._failing:
            return
        metrics = self._metrics
        for name in [name for name, namespaces in self._namespaces.items() if not namespaces]:
            for collector in (metrics.reconciles, metrics.failed, metrics.duration, metrics.last_success):
                collector.remove(name)
            del self._namespaces[name]
