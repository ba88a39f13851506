"""What every process measures: names and label values."""

from __future__ import annotations

import re

import pytest
from prometheus_client import Counter

from fairlead.engine.metrics import LONGEST_WORD, MOST_WORDS, Metrics, client_path
from kubeloop.calls import Call
from kubeloop.request import Request


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/api/v1/namespaces/n/pods", "core/v1/pods collection"),
        ("/api/v1/pods", "core/v1/pods collection"),
        ("/api/v1/namespaces/n/pods/a-0", "core/v1/pods object"),
        ("/apis/apps/v1/namespaces/n/statefulsets/a/status", "apps/v1/statefulsets object status subresource"),
        ("/apis/apps/v1/statefulsets", "apps/v1/statefulsets collection"),
        ("/api/v1/namespaces/n", "core/v1/namespaces object"),
        ("/api/v1/namespaces", "core/v1/namespaces collection"),
        ("/version", "/version"),
    ],
)
def test_paths_of_the_client_metric_hold_no_names(path: str, label: str) -> None:
    assert client_path(path) == label


def test_a_call_without_an_answer_has_the_status_error() -> None:
    metrics = Metrics()

    metrics.observe_call(Request("GET", "/api/v1/pods"), None, 0.2)

    labels = {"path": "core/v1/pods collection", "method": "GET", "status_code": "error"}
    name = "rollout_operator_kubernetes_api_client_request_duration_seconds_count"
    assert metrics.registry.get_sample_value(name, labels) == 1


def test_there_are_no_series_about_when_a_series_began() -> None:
    metrics = Metrics()

    metrics.count_limited("apps")
    metrics.observe_call(Request("GET", "/api/v1/pods"), 200, 0.2)

    assert b"_created" not in metrics.exposition()


def test_series_that_a_contract_adds_are_made_once() -> None:
    metrics = Metrics()

    def queries(of: Metrics) -> Counter:
        return Counter("toy_queries", "Queries.", registry=of.registry)

    metrics.of(queries).inc()
    metrics.of(queries).inc()

    assert metrics.registry.get_sample_value("toy_queries_total") == 2


def test_who_leads_is_told_for_each_part() -> None:
    metrics = Metrics()

    metrics.lead(("zones", "environments"), False)
    metrics.lead(("zones",), True)

    told = metrics.exposition().decode()
    assert 'fairlead_leader{part="zones"} 1.0' in told
    assert 'fairlead_leader{part="environments"} 0.0' in told


def test_groups_that_the_api_server_is_asked_for_are_bounded() -> None:
    """Objects name kinds of any group: whoever may write those must not make the operator grow."""
    metrics = Metrics()

    for number in range(3000):
        metrics.observe_call(Request("GET", f"/apis/group-{number}.example.com"), 404, 0.1)
    metrics.observe_call(Request("GET", "/apis/apps/v1/statefulsets"), 200, 0.1)

    paths = {labels[0] for labels in metrics.client_requests._metrics}
    assert len(paths) == MOST_WORDS + 2
    assert {"other", "apps/v1/statefulsets collection"} <= paths


def test_paths_of_pod_calls_are_bounded() -> None:
    """They come from annotations: whoever may write those must not make the operator grow."""
    metrics = Metrics()

    for number in range(3000):
        metrics.observe_pod_call(Call(method="POST", url=f"http://pod/{number}/{'x' * (number % 300)}"), 200, 0.1)

    paths = set(re.findall(r'path="([^"]*)"', metrics.exposition().decode()))
    assert len(paths) == MOST_WORDS + 1
    assert "other" in paths
    assert max(map(len, paths)) <= LONGEST_WORD
