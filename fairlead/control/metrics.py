"""The zone contract's metrics, in a registry of their own.

A series about something done counts after it was done. Series of a group that is gone are removed once every group
that is left has passed, so that a scrape never loses a group because another one fails.
"""

from __future__ import annotations

import re

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest

from fairlead.control.part import Key
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
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the contract has no `_created` series
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
    """Keeps the four series of every group name, and takes them away when no namespace has such a group any more.

    Every name ever exported is remembered: one that vanishes while a group fails goes with the next pass that leaves
    no group failing.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._namespaces: dict[str, set[str]] = {}
        """Where groups of an exported name are; empty for a name whose series are to go."""
        self._failing: set[Key] = set()

    def started(self, key: Key) -> None:
        """A pass of the group begins."""
        metrics = self._metrics
        if key.name not in self._namespaces:
            metrics.failed.labels(key.name)
            metrics.last_success.labels(key.name)
        self._namespaces.setdefault(key.name, set()).add(key.namespace)
        metrics.reconciles.labels(key.name).inc()

    def ended(self, key: Key, seconds: float, *, failed: bool, at: float) -> None:
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

    def vanished(self, key: Key) -> None:
        """The group has no StatefulSet any more."""
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
