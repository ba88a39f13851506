"""The contract's metrics: names, label values, and series that come and go with their group."""

from __future__ import annotations

import re

import pytest

from fairlead.engine.controller import RolloutKey
from fairlead.engine.metrics import LONGEST_WORD, MOST_WORDS, GroupSeries, Metrics, client_path
from kubeloop.calls import Call
from kubeloop.request import Request

G = RolloutKey(("test", "g"))

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

    GroupSeries(metrics).started(G)

    assert value(metrics, FOUR[0], "g") == 1
    assert value(metrics, FOUR[1], "g") == 0
    assert value(metrics, FOUR[3], "g") == 0


def test_a_pass_that_failed_counts_and_leaves_the_time_of_the_last_success() -> None:
    """zones rule 8."""
    metrics = Metrics()
    series = GroupSeries(metrics)

    series.started(G)
    series.ended(G, 0.1, failed=False, at=1000)
    series.started(G)
    series.ended(G, 0.1, failed=True, at=2000)

    assert [value(metrics, name, "g") for name in FOUR] == [2, 1, 2, 1000]


def test_the_series_of_a_group_without_statefulsets_disappear() -> None:
    metrics = Metrics()
    series = GroupSeries(metrics)
    series.started(G)
    series.ended(G, 0.1, failed=False, at=1000)

    series.vanished(G)

    assert [value(metrics, name, "g") for name in FOUR] == [None] * 4
    assert b'rollout_group="g"' not in metrics.exposition()


def test_while_another_group_fails_the_series_stay_and_go_with_its_next_success() -> None:
    """zones H-20."""
    metrics = Metrics()
    series = GroupSeries(metrics)
    gone, failing = RolloutKey(("test", "gone")), RolloutKey(("test", "failing"))
    for key in (gone, failing):
        series.started(key)
        series.ended(key, 0.1, failed=key == failing, at=1000)

    series.vanished(gone)
    before = value(metrics, FOUR[0], "gone")
    series.started(failing)
    series.ended(failing, 0.1, failed=False, at=1001)

    assert before == 1
    assert value(metrics, FOUR[0], "gone") is None
    assert value(metrics, FOUR[0], "failing") == 2


def test_a_group_that_comes_back_starts_anew() -> None:
    metrics = Metrics()
    series = GroupSeries(metrics)
    series.started(G)
    series.ended(G, 0.1, failed=True, at=1000)
    series.vanished(G)

    series.started(G)

    assert value(metrics, FOUR[0], "g") == 1
    assert value(metrics, FOUR[1], "g") == 0


def test_the_series_of_a_name_stay_until_the_last_namespace_has_no_such_group() -> None:
    metrics = Metrics()
    series = GroupSeries(metrics)
    here, there = RolloutKey(("here", "g")), RolloutKey(("there", "g"))
    for key in (here, there):
        series.started(key)
        series.ended(key, 0.1, failed=False, at=1000)

    series.vanished(here)
    between = value(metrics, FOUR[0], "g")
    series.vanished(there)

    assert between == 2
    assert [value(metrics, name, "g") for name in FOUR] == [None] * 4


def test_a_failure_in_one_namespace_is_not_forgotten_by_a_success_in_another() -> None:
    metrics = Metrics()
    series = GroupSeries(metrics)
    here, there, gone = RolloutKey(("here", "g")), RolloutKey(("there", "g")), RolloutKey(("here", "gone"))
    for key in (here, there, gone):
        series.started(key)
        series.ended(key, 0.1, failed=key == here, at=1000)

    series.vanished(gone)

    assert value(metrics, FOUR[0], "gone") == 1


def test_there_are_no_series_about_when_a_series_began() -> None:
    metrics = Metrics()

    GroupSeries(metrics).started(G)
    metrics.observe_call(Request("GET", "/api/v1/pods"), 200, 0.2)

    assert b"_created" not in metrics.exposition()


def test_who_leads_is_told_for_each_part() -> None:
    metrics = Metrics()

    metrics.lead(("zones", "environments"), False)
    metrics.lead(("zones",), True)

    told = metrics.exposition().decode()
    assert 'fairlead_leader{part="zones"} 1.0' in told
    assert 'fairlead_leader{part="environments"} 0.0' in told


def test_paths_of_pod_calls_are_bounded() -> None:
    """They come from annotations: whoever may write those must not make the operator grow."""
    metrics = Metrics()

    for number in range(3000):
        metrics.observe_pod_call(Call(method="POST", url=f"http://pod/{number}/{'x' * (number % 300)}"), 200, 0.1)

    paths = set(re.findall(r'path="([^"]*)"', metrics.exposition().decode()))
    assert len(paths) == MOST_WORDS + 1
    assert "other" in paths
    assert max(map(len, paths)) <= LONGEST_WORD
