"""The families that operators built on controller-runtime have, for contracts whose users have dashboards of them.

Names, labels and buckets are those of that library; the figures are of this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.engine.controller import RolloutKey
from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.server import AnsweredRequest
from kubeloop import clock
from kubeloop.request import Request

RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)
FINE_BUCKETS = tuple(10.0**power for power in range(-8, 4))
SUCCESS, ERROR = "success", "error"
PRIORITY = ""
"""Queues have one priority."""


class ControllerRuntimeMetrics:
    """Once per process; controllers, webhooks and leases are named when they come."""

    def __init__(self, metrics: Metrics) -> None:
        families, registry = metrics.families, metrics.registry
        queue = ("name", "controller")
        self.reconciles = families.counter(
            "controller_runtime_reconcile", "Passes by controller and by what came of them.", "controller", "result"
        )
        self.errors = families.counter("controller_runtime_reconcile_errors", "Passes that failed.", "controller")
        self.seconds = families.histogram(
            "controller_runtime_reconcile_time_seconds", "Duration of a pass.", "controller", buckets=RECONCILE_BUCKETS
        )
        self.active = families.gauge("controller_runtime_active_workers", "Passes under way.", "controller")
        self.reviews = families.counter(
            "controller_runtime_webhook_requests", "Admission reviews by the status of the answer.", "webhook", "code"
        )
        self.review_seconds = families.histogram(
            "controller_runtime_webhook_latency_seconds",
            "Duration of an admission review.",
            "webhook",
            buckets=FINE_BUCKETS,
        )
        self.adds = families.counter("workqueue_adds", "Keys that came to be ready for a pass.", *queue)
        self.retries = families.counter("workqueue_retries", "Keys that are tried again after a while.", *queue)
        self.queued_seconds = families.histogram(
            "workqueue_queue_duration_seconds",
            "How long a key was ready before its pass began.",
            *queue,
            buckets=FINE_BUCKETS,
        )
        self.work_seconds = families.histogram(
            "workqueue_work_duration_seconds", "Duration of a pass.", *queue, buckets=FINE_BUCKETS
        )
        self.calls = families.counter(
            "rest_client_requests", "Requests to the API server by the status of the answer.", "code", "method", "host"
        )
        self.master = families.gauge("leader_election_master_status", "Whether this process holds the Lease.", "name")
        self._queues: dict[str, QueueSeries] = {}
        registry.register(_Standings(self._queues))
        self._webhooks: frozenset[str] = frozenset()
        metrics.on_call(self._called)
        metrics.on_answer(self._answered)

    def passes(self, controller: str) -> PassSeries:
        return PassSeries(self, controller)

    def queue(self, name: str) -> QueueSeries:
        self._queues[name] = found = QueueSeries(self, name)
        return found

    def webhooks(self, paths: frozenset[str]) -> None:
        """From now on reviews at these paths are counted."""
        self._webhooks |= paths
        for path in paths:
            self.reviews.labels(path, "200")
            self.review_seconds.labels(path)

    def lead(self, lease: str, leading: bool) -> None:
        self.master.labels(lease).set(int(leading))

    def _called(self, request: Request, status: int | None, host: str) -> None:
        self.calls.labels("<error>" if status is None else str(status), request.method, host).inc()

    def _answered(self, answered: AnsweredRequest) -> None:
        if answered.route in self._webhooks:
            self.reviews.labels(answered.route, str(answered.status)).inc()
            self.review_seconds.labels(answered.route).observe(answered.seconds)


class PassSeries:
    """Watches the rounds of one controller."""

    def __init__(self, metrics: ControllerRuntimeMetrics, controller: str) -> None:
        self._active = metrics.active.labels(controller)
        self._results = {result: metrics.reconciles.labels(controller, result) for result in (SUCCESS, ERROR)}
        self._errors = metrics.errors.labels(controller)
        self._seconds = metrics.seconds.labels(controller)

    def started(self, key: RolloutKey) -> None:
        self._active.inc()

    def ended(self, key: RolloutKey, seconds: float, *, failed: bool, at: float) -> None:
        self._active.dec()
        self._results[ERROR if failed else SUCCESS].inc()
        self._seconds.observe(seconds)
        if failed:
            self._errors.inc()

    def vanished(self, key: RolloutKey) -> None: ...


class QueueSeries:
    """Watches one queue."""

    def __init__(self, metrics: ControllerRuntimeMetrics, name: str) -> None:
        labels = (name, name)
        self._adds, self._retries = metrics.adds.labels(*labels), metrics.retries.labels(*labels)
        self._queued_seconds = metrics.queued_seconds.labels(*labels)
        self._work_seconds = metrics.work_seconds.labels(*labels)
        self._ready: dict[object, float] = {}
        self._working: dict[object, float] = {}

    def added(self, key: object) -> None:
        self._adds.inc()
        self._ready[key] = clock.monotonic()

    def taken(self, key: object) -> None:
        now = clock.monotonic()
        self._queued_seconds.observe(now - self._ready.pop(key, now))
        self._working[key] = now

    def done(self, key: object) -> None:
        now = clock.monotonic()
        self._work_seconds.observe(now - self._working.pop(key, now))

    def delayed(self, key: object) -> None:
        self._retries.inc()

    def dropped(self, key: object) -> None:
        self._ready.pop(key, None)

    @property
    def depth(self) -> int:
        return len(self._ready)

    def running(self) -> list[float]:
        """Seconds for which each pass has been under way."""
        if not self._working:
            return []
        now = clock.monotonic()
        return [now - since for since in self._working.values()]


class _Standings(Collector):
    """What queues show when somebody looks."""

    def __init__(self, queues: dict[str, QueueSeries]) -> None:
        self._queues = queues

    def collect(self) -> Iterator[Metric]:
        labels = ("name", "controller")
        depth = GaugeMetricFamily(
            "workqueue_depth", "Keys that are ready and wait for a pass.", labels=(*labels, "priority")
        )
        for name, queue in self._queues.items():
            depth.add_metric((name, name, PRIORITY), queue.depth)
        yield depth
        families: tuple[tuple[str, str, Callable[[list[float]], float]], ...] = (
            ("workqueue_unfinished_work_seconds", "Seconds of all passes that are under way.", sum),
            (
                "workqueue_longest_running_processor_seconds",
                "Seconds of the longest pass that is under way.",
                lambda running: max(running, default=0.0),
            ),
        )
        for family, told, value in families:
            made = GaugeMetricFamily(family, told, labels=labels)
            for name, queue in self._queues.items():
                made.add_metric((name, name), value(queue.running()))
            yield made
