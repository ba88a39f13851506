"""The zone contract's metrics, in a registry of their own.

A series about something done counts after it was done. Series of a group that is gone are removed once every group
that is left has passed, so that a scrape never loses a group because another one fails.
"""

from __future__ import annotations

import re

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from fairlead.kube.request import Request

REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100)
PASS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
SIZE_BUCKETS = tuple(float(4**power) for power in range(1, 16))

_PATH = re.compile(
    r"^/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)(?:/namespaces/[^/]+(?=/[^/]+))?"
    r"/(?P<resource>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>[^/]+))?)?$"
)


def client_path(path: str) -> str:
    """A request path with its names taken out, so that the label stays bounded.

    `/apis/apps/v1/namespaces/n/statefulsets/a/status` becomes `apps/v1/statefulsets object status subresource`.
    """
    found = _PATH.match(path)
    if found is None:
        return path
    kind = f"{found['group'] or 'core'}/{found['version']}/{found['resource']}"
    if not found["name"]:
        return f"{kind} collection"
    return f"{kind} object {found['subresource']} subresource" if found["subresource"] else f"{kind} object"


class Metrics:
    """All collectors of one process."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        group = ("rollout_group",)
        self.reconciles = Counter("rollout_operator_group_reconciles", "Passes started.", group, registry=registry)
        self.failed = Counter(
            "rollout_operator_group_reconciles_failed", "Passes that failed.", group, registry=registry
        )
        self.duration = Histogram(
            "rollout_operator_group_reconcile_duration_seconds",
            "Duration of a pass.",
            group,
            buckets=PASS_BUCKETS,
            registry=registry,
        )
        self.last_success = Gauge(
            "rollout_operator_last_successful_group_reconcile_timestamp_seconds",
            "Unix time of the last pass that succeeded.",
            group,
            registry=registry,
        )
        self.requests = Histogram(
            "rollout_operator_request_duration_seconds",
            "Duration of requests served.",
            ("method", "route", "status_code", "ws"),
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        self.request_bytes = Histogram(
            "rollout_operator_request_message_bytes",
            "Size of request bodies.",
            ("method", "route"),
            buckets=SIZE_BUCKETS,
            registry=registry,
        )
        self.response_bytes = Histogram(
            "rollout_operator_response_message_bytes",
            "Size of response bodies.",
            ("method", "route"),
            buckets=SIZE_BUCKETS,
            registry=registry,
        )
        self.inflight = Gauge(
            "rollout_operator_inflight_requests", "Requests being served.", ("method", "route"), registry=registry
        )
        self.client_requests = Histogram(
            "rollout_operator_kubernetes_api_client_request_duration_seconds",
            "Duration of requests to the API server.",
            ("path", "method", "status_code"),
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        self.rate_limited = Counter(
            "rollout_operator_kubernetes_api_client_rate_limited_requests",
            "Requests not sent because of the client-side limit.",
            ("api_group",),
            registry=registry,
        )

    def exposition(self) -> bytes:
        """The registry in the text format."""
        return generate_latest(self.registry)

    def observe_call(self, request: Request, status: int | None, seconds: float) -> None:
        """One request to the API server ended; without an answer the status is `error`."""
        labels = (client_path(request.path), request.method, "error" if status is None else str(status))
        self.client_requests.labels(*labels).observe(seconds)

    def count_limited(self, api_group: str) -> None:
        self.rate_limited.labels(api_group).inc()


class GroupSeries:
    """Keeps the four series of every group, and takes them away when the group is gone.

    Every group ever exported is remembered: a group that vanishes while another one fails goes with the next pass
    that leaves no group failing.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._failing: dict[str, bool] = {}
        self._gone: dict[str, None] = {}

    def started(self, group: str) -> None:
        """A pass of the group begins."""
        metrics = self._metrics
        if group not in self._failing:
            metrics.failed.labels(group)
            metrics.last_success.labels(group)
            self._failing[group] = False
        self._gone.pop(group, None)
        metrics.reconciles.labels(group).inc()

    def ended(self, group: str, seconds: float, *, failed: bool, at: float) -> None:
        """A pass of the group is over; `at` is the Unix time."""
        metrics = self._metrics
        metrics.duration.labels(group).observe(seconds)
        if failed:
            metrics.failed.labels(group).inc()
        else:
            metrics.last_success.labels(group).set(at)
        self._failing[group] = failed
        self._sweep()

    def vanished(self, group: str) -> None:
        """The group has no StatefulSet any more."""
        if group in self._failing:
            self._failing[group] = False
            self._gone[group] = None
        self._sweep()

    def _sweep(self) -> None:
        if any(self._failing.values()):
            return
        metrics = self._metrics
        for group in self._gone:
            for collector in (metrics.reconciles, metrics.failed, metrics.duration, metrics.last_success):
                collector.remove(group)
            del self._failing[group]
        self._gone.clear()
