"""What is told of the certificate of webhooks in numbers (section 2.8)."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Counter
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.engine.certificates.bundle_targets import BundleTargets
from fairlead.engine.certificates.followed import FollowedCertificate
from fairlead.engine.metrics import Metrics


class _Ends(Collector):
    """Unix times at which certificates end, as they are when somebody looks."""

    def __init__(self) -> None:
        self.shown: FollowedCertificate | None = None
        self.targets: BundleTargets | None = None

    def collect(self) -> Iterator[Metric]:
        told = "When certificates of webhooks end: the one served, its authority, and the first of those trusted."
        family = GaugeMetricFamily("fairlead_webhook_cert_not_after_seconds", told, labels=("role",))
        for role, end in self._ends():
            family.add_metric((role,), end)
        yield family

    def _ends(self) -> Iterator[tuple[str, float]]:
        if self.shown is None or self.targets is None:
            return
        if self.shown.shown is not None:
            yield "leaf", self.shown.shown.not_after.timestamp()
        if self.shown.authorities:
            yield "ca", min(each.not_after.timestamp() for each in self.shown.authorities)
        places = (place for target in self.targets.targets() for place in target.places)
        held = [each.not_after.timestamp() for place in places for each in place.held]
        if held:
            yield "bundle-oldest", min(held)


class CertificateMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._ends = _Ends()
        metrics.registry.register(self._ends)
        self._reloads = Counter(
            "fairlead_webhook_cert_reload_total",
            "Certificates that were taken over, and those that could not be.",
            ("result",),
            registry=metrics.registry,
        )
        for result in ("success", "failure"):
            self._reloads.labels(result)

    def show(self, shown: FollowedCertificate, targets: BundleTargets) -> None:
        self._ends.shown, self._ends.targets = shown, targets

    def count_reload(self, result: str) -> None:
        self._reloads.labels(result).inc()
