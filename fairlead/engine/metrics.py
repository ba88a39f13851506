"""What every process measures: requests that it sends and answers, leadership, what is blocked, certificates, Events.

A series about something done counts after it was done. The names begin as those of the first contract that has such
series: dashboards and alerts know them by these names, and a second set of the same figures would help nobody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TypeVar, cast
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Gauge, disable_created_metrics
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.engine.blocked_metric import BlockedCollector
from fairlead.engine.counted_objects import foreign_objects, mismatched_payloads
from fairlead.engine.driver.outside_calls import WRONG_CLUSTER
from fairlead.engine.families import Families
from fairlead.engine.go_numbers import with_go_bounds
from fairlead.engine.serving.cluster_label import HEADER
from fairlead.engine.serving.server import AnsweredRequest
from kubeloop import clock
from kubeloop.calls import Call
from kubeloop.request import Request

T = TypeVar("T")

REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100)
SIZE_BUCKETS = tuple(float(4**power) for power in range(1, 16))

_PATH = re.compile(
    r"^/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)(?:/namespaces/[^/]+(?=/[^/]+))?"
    r"/(?P<resource>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>[^/]+))?)?$"
)


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE")
MOST_WORDS = 100
LONGEST_WORD = 200


def _known(method: str) -> str:
    """A client may send any word as the method; the label stays bounded."""
    return method if method in METHODS else "other"


class _Words:
    """Values that the other side chooses for one label: the first so many of a sensible length, then `other`."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}

    def bounded(self, word: str) -> str:
        if word in self._known:
            return word
        if len(word) > LONGEST_WORD or len(self._known) >= MOST_WORDS:
            return "other"
        self._known[word] = None
        return word


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


Policies = Callable[[], Iterable[tuple[str, str, str, int]]]
"""Type, webhook, policy and 0 or 1."""


class _PolicyCollector(Collector):
    def __init__(self, policies: Policies) -> None:
        self._policies = policies

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "kube_validating_webhook_failure_policy",
            "Which failure policy a webhook has.",
            labels=("type", "webhook", "policy"),
        )
        for kind, webhook, policy, value in self._policies():
            family.add_metric((kind, webhook, policy), value)
        yield family


class _DroppedEvents(Collector):
    def __init__(self) -> None:
        self.count: Callable[[], int] = lambda: 0

    def collect(self) -> Iterator[Metric]:
        told = "Kubernetes Events that could not be written, or were too many to remember."
        yield CounterMetricFamily("fairlead_events_dropped", told, value=self.count())


class Metrics:
    """All collectors of one process."""

    def __init__(self, now: Callable[[], float] = lambda: clock.now().timestamp()) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the contract has no `_created` series
        self.registry = registry = CollectorRegistry()
        self.families = families = Families(registry)
        self.leader = families.gauge(
            "fairlead_leader", "Whether this process acts for a part: with a Lease, whether it holds it.", "part"
        )
        self.is_leader = families.gauge(
            "fairlead_is_leader", "Whether this process acts: with Leases, whether it holds them."
        )
        self.requests = families.histogram(
            "rollout_operator_request_duration_seconds",
            "Duration of requests served.",
            "method",
            "route",
            "status_code",
            "ws",
            buckets=REQUEST_BUCKETS,
        )
        self.request_bytes = families.histogram(
            "rollout_operator_request_message_bytes", "Size of request bodies.", "method", "route", buckets=SIZE_BUCKETS
        )
        self.response_bytes = families.histogram(
            "rollout_operator_response_message_bytes",
            "Size of response bodies.",
            "method",
            "route",
            buckets=SIZE_BUCKETS,
        )
        self.inflight = families.gauge(
            "rollout_operator_inflight_requests", "Requests being served.", "method", "route"
        )
        self.client_requests = families.histogram(
            "rollout_operator_kubernetes_api_client_request_duration_seconds",
            "Duration of requests to the API server.",
            "path",
            "method",
            "status_code",
            buckets=REQUEST_BUCKETS,
        )
        self.rate_limited = families.counter(
            "rollout_operator_kubernetes_api_client_rate_limited_requests",
            "Requests not sent because of the client-side limit.",
            "api_group",
        )
        self.pod_calls = families.histogram(
            "rollout_operator_pod_http_client_request_duration_seconds",
            "Duration of calls to pods.",
            "path",
            "method",
            "status_code",
            buckets=REQUEST_BUCKETS,
        )
        self.refused_clusters = families.counter(
            "rollout_operator_client_invalid_cluster_validation_label_requests",
            "Requests that a server took for those of another cluster.",
            "method",
            "protocol",
            "request_cluster",
        )
        self.wrong_clusters = families.counter(
            "rollout_operator_server_invalid_cluster_validation_label_requests",
            "Requests received that were meant for another cluster.",
            "protocol",
            "method",
            "cluster_validation_label",
            "request_cluster_validation_label",
        )
        self.now = now
        self._made: dict[Callable[[Metrics], object], object] = {}
        self.blocked = BlockedCollector()
        registry.register(self.blocked)
        self.foreign, self.mismatched = foreign_objects(), mismatched_payloads()
        registry.register(self.foreign)
        registry.register(self.mismatched)
        self._request_labels = _Words()
        self._dropped = _DroppedEvents()
        registry.register(self._dropped)
        self._pod_paths = _Words()
        """Annotations name them, so anybody who may write one makes up as many as there are names."""
        self._routes = _Words()
        self._groups = _Words()
        self.host = ""
        """Of the API server."""
        self._on_call: list[Callable[[Request, int | None, str], None]] = []
        self._on_answer: list[Callable[[AnsweredRequest], None]] = []

    def on_call(self, told: Callable[[Request, int | None, str], None]) -> None:
        """From now on it is told of every request to the API server too: status, None without an answer, and host."""
        self._on_call.append(told)

    def on_answer(self, told: Callable[[AnsweredRequest], None]) -> None:
        """From now on it is told of every request that was served too."""
        self._on_answer.append(told)

    def of(self, make: Callable[[Metrics], T]) -> T:
        """What `make` makes of this: once, because a registry takes every series once, and shown from then on.

        A contract's series come so, and a process without the contract has none of them.
        """
        if make not in self._made:
            self._made[make] = make(self)
        return cast("T", self._made[make])

    def lead(self, parts: Iterable[str], leading: bool) -> None:
        """Rounds of these parts begin here, or are left to whoever leads, and then nothing is told of them here."""
        for part in parts:
            self.leader.labels(part).set(int(leading))
        self.is_leader.set(int(leading))
        if not leading:
            self.blocked.clear()
            self.foreign.clear()
            self.mismatched.clear()

    def exposition(self) -> bytes:
        """The registry in the text format."""
        return with_go_bounds(generate_latest(self.registry).decode()).encode()

    def observe_call(self, request: Request, status: int | None, seconds: float) -> None:
        """One request to the API server ended; without an answer the status is `error`."""
        path = client_path(request.path)
        if path == request.path:  # that of an API group, which anybody may make up who names a kind in an object
            path = self._groups.bounded(path)
        labels = (path, request.method, "error" if status is None else str(status))
        self.client_requests.labels(*labels).observe(seconds)
        for told in self._on_call:
            told(request, status, self.host)
        if status == WRONG_CLUSTER:
            self.refused_cluster(client_path(request.path), dict(request.headers).get(HEADER, ""))

    def observe_pod_call(self, call: Call, status: int | None, seconds: float) -> None:
        """One call to a pod ended; without an answer the status is `error`."""
        try:
            path = self._pod_paths.bounded(urlsplit(call.url).path)
        except ValueError:
            path = "other"  # an address that cannot be read; the call has failed
        self.pod_calls.labels(path, call.method, "error" if status is None else str(status)).observe(seconds)

    def refused_cluster(self, method: str, label: str) -> None:
        """A server said that our request was meant for another cluster; `method` is the route it names."""
        self.refused_clusters.labels(self._routes.bounded(method), "http", label).inc()

    def serving(self, method: str, route: str) -> AbstractContextManager[object]:
        return self.inflight.labels(_known(method), route).track_inprogress()

    def served(self, served: AnsweredRequest) -> None:
        where = (_known(served.method), served.route)
        self.request_bytes.labels(*where).observe(served.request_bytes)
        self.response_bytes.labels(*where).observe(served.response_bytes)
        self.requests.labels(*where, str(served.status), str(served.websocket).lower()).observe(served.seconds)
        for told in self._on_answer:
            told(served)

    def wrong_cluster(self, method: str, label: str, request_label: str) -> None:
        """Counted by the label that the request had, as long as clients do not make up too many of them."""
        self.wrong_clusters.labels("http", method, label, self._request_labels.bounded(request_label)).inc()

    def show_policies(self, policies: Policies) -> None:
        """From now on the failure policies of webhooks are shown as they are when somebody looks."""
        self.registry.register(_PolicyCollector(policies))

    def show_certificate(self, server: str, not_after: Callable[[], float]) -> None:
        """From now on the Unix time is shown at which the certificate that the server of this name shows ends."""
        self._certificates.labels(server).set_function(not_after)

    def show_dropped_events(self, dropped: Callable[[], int]) -> None:
        """From now on it is shown how many Events were dropped so far."""
        self._dropped.count = dropped

    @cached_property
    def _certificates(self) -> Gauge:
        return self.families.gauge(
            "fairlead_certificate_not_after_timestamp_seconds",
            "Unix time at which the certificate of a server ends.",
            "server",
        )

    def count_limited(self, api_group: str) -> None:
        self.rate_limited.labels(api_group).inc()
