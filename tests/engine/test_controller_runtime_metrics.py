"""The families of controller-runtime, from what the engine tells."""

from __future__ import annotations

import asyncio

from fairlead.engine.controller import RolloutKey
from fairlead.engine.controller_runtime_metrics import ControllerRuntimeMetrics
from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.server import AnsweredRequest
from kubeloop.request import Request
from kubesim.time import run

KEY = RolloutKey(("test", "a"))
PATH = "/mutate--v1-pod"


def value(metrics: Metrics, name: str, /, **labels: str) -> float | None:
    found = metrics.registry.get_sample_value(name, labels)
    return None if found is None else float(found)


def answered(route: str, status: int = 200) -> AnsweredRequest:
    return AnsweredRequest("POST", route, status, False, 0.002, 10, 10)


def test_passes_are_counted_by_what_came_of_them() -> None:
    metrics = Metrics()
    passes = metrics.of(ControllerRuntimeMetrics).passes("pod")

    passes.started(KEY)
    assert value(metrics, "controller_runtime_active_workers", controller="pod") == 1
    passes.ended(KEY, 0.02, failed=False, at=0.0)
    passes.started(KEY)
    passes.ended(KEY, 0.02, failed=True, at=0.0)

    for result in ("success", "error"):
        assert value(metrics, "controller_runtime_reconcile_total", controller="pod", result=result) == 1
    assert value(metrics, "controller_runtime_reconcile_errors_total", controller="pod") == 1
    assert value(metrics, "controller_runtime_reconcile_time_seconds_count", controller="pod") == 2
    assert value(metrics, "controller_runtime_active_workers", controller="pod") == 0


def test_reviews_of_known_webhooks_are_counted_from_the_start() -> None:
    metrics = Metrics()
    metrics.of(ControllerRuntimeMetrics).webhooks(frozenset({PATH}))
    assert value(metrics, "controller_runtime_webhook_requests_total", webhook=PATH, code="200") == 0

    metrics.served(answered(PATH))
    metrics.served(answered(PATH, 500))
    metrics.served(answered("/elsewhere"))

    for code in ("200", "500"):
        assert value(metrics, "controller_runtime_webhook_requests_total", webhook=PATH, code=code) == 1
    assert value(metrics, "controller_runtime_webhook_requests_total", webhook="/elsewhere", code="200") is None
    assert value(metrics, "controller_runtime_webhook_latency_seconds_count", webhook=PATH) == 2


def test_calls_have_the_host_of_the_server_and_those_without_an_answer_count_too() -> None:
    metrics = Metrics()
    metrics.of(ControllerRuntimeMetrics)
    metrics.host = "10.0.0.1:443"

    metrics.observe_call(Request("GET", "/api/v1/pods"), 200, 0.1)
    metrics.observe_call(Request("GET", "/api/v1/pods"), None, 0.1)

    for code in ("200", "<error>"):
        assert value(metrics, "rest_client_requests_total", code=code, method="GET", host="10.0.0.1:443") == 1


def test_leadership_is_a_gauge_by_lease() -> None:
    metrics = Metrics()
    runtime = metrics.of(ControllerRuntimeMetrics)
    for leading in (True, False):
        runtime.lead("lease", leading)
        assert value(metrics, "leader_election_master_status", name="lease") == int(leading)


def test_queues_show_what_waits_and_what_is_under_way() -> None:
    metrics = Metrics()
    queue = metrics.of(ControllerRuntimeMetrics).queue("pod")
    labels = {"name": "pod", "controller": "pod"}

    async def scenario() -> None:
        queue.added("a")
        queue.added("b")
        assert value(metrics, "workqueue_depth", **labels, priority="") == 2
        await asyncio.sleep(3)
        queue.taken("a")
        await asyncio.sleep(2)
        queue.taken("b")
        await asyncio.sleep(1)
        assert value(metrics, "workqueue_unfinished_work_seconds", **labels) == 4
        assert value(metrics, "workqueue_longest_running_processor_seconds", **labels) == 3
        queue.done("a")
        queue.delayed("a")
        queue.done("b")

    run(scenario(), seed=0)
    assert value(metrics, "workqueue_depth", **labels, priority="") == 0
    assert value(metrics, "workqueue_adds_total", **labels) == 2
    assert value(metrics, "workqueue_retries_total", **labels) == 1
    assert value(metrics, "workqueue_queue_duration_seconds_sum", **labels) == 8
    assert value(metrics, "workqueue_work_duration_seconds_sum", **labels) == 4
