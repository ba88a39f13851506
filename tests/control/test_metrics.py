"""The contract's metrics: names, label values, and series that come and go with their group."""

from __future__ import annotations

import pytest

from fairlead.control.metrics import GroupSeries, Metrics, client_path
from fairlead.kube.request import Request

FOUR = (
    "rollout_operator_group_reconciles_total",
    "rollout_operator_group_reconciles_failed_total",
    "rollout_operator_group_reconcile_duration_seconds_count",
    "rollout_operator_last_successful_group_reconcile_timestamp_seconds",
)


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


def value(metrics: Metrics, name: str, group: str) -> float | None:
    return metrics.registry.get_sample_value(name, {"rollout_group": group})


def test_failed_counter_and_last_success_exist_from_the_first_pass_on() -> None:
    metrics = Metrics()

    GroupSeries(metrics).started("g")

    assert value(metrics, FOUR[0], "g") == 1
    assert value(metrics, FOUR[1], "g") == 0
    assert value(metrics, FOUR[3], "g") == 0


def test_a_pass_that_failed_counts_and_leaves_the_time_of_the_last_success() -> None:
    metrics = Metrics()
    series = GroupSeries(metrics)

    series.started("g")
    series.ended("g", 0.1, failed=False, at=1000)
    series.started("g")
    series.ended("g", 0.1, failed=True, at=2000)

    assert [value(metrics, name, "g") for name in FOUR] == [2, 1, 2, 1000]


def test_the_series_of_a_group_without_statefulsets_disappear() -> None:
    metrics = Metrics()
    series = GroupSeries(metrics)
    series.started("g")
    series.ended("g", 0.1, failed=False, at=1000)

    series.vanished("g")

    assert [value(metrics, name, "g") for name in FOUR] == [None] * 4
    assert b'rollout_group="g"' not in metrics.exposition()


def test_while_another_group_fails_the_series_stay_and_go_with_its_next_success() -> None:
    metrics = Metrics()
    series = GroupSeries(metrics)
    for group in ("gone", "failing"):
        series.started(group)
        series.ended(group, 0.1, failed=group == "failing", at=1000)

    series.vanished("gone")
    before = value(metrics, FOUR[0], "gone")
    series.started("failing")
    series.ended("failing", 0.1, failed=False, at=1001)

    assert before == 1
    assert value(metrics, FOUR[0], "gone") is None
    assert value(metrics, FOUR[0], "failing") == 2


def test_a_group_that_comes_back_starts_anew() -> None:
    metrics = Metrics()
    series = GroupSeries(metrics)
    series.started("g")
    series.ended("g", 0.1, failed=True, at=1000)
    series.vanished("g")

    series.started("g")

    assert value(metrics, FOUR[0], "g") == 1
    assert value(metrics, FOUR[1], "g") == 0
