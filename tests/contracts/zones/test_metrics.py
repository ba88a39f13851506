"""The contract's metrics: series that come and go with their group."""

from __future__ import annotations

import pytest

from fairlead.contracts.zones.metrics import GroupSeries, ZoneMetrics
from fairlead.contracts.zones.progress_metrics import ZoneProgress
from fairlead.engine.controller import RolloutKey
from fairlead.engine.metrics import Metrics
from kubeloop.calls import Call

G = RolloutKey(("test", "g"))

FOUR = (
    "rollout_operator_group_reconciles_total",
    "rollout_operator_group_reconciles_failed_total",
    "rollout_operator_group_reconcile_duration_seconds_count",
    "rollout_operator_last_successful_group_reconcile_timestamp_seconds",
)


def value(metrics: Metrics, name: str, group: str) -> float | None:
    return metrics.registry.get_sample_value(name, {"rollout_group": group})


def test_failed_counter_and_last_success_exist_from_the_first_pass_on() -> None:
    metrics = Metrics()

    GroupSeries(metrics.of(ZoneMetrics)).started(G)

    assert value(metrics, FOUR[0], "g") == 1
    assert value(metrics, FOUR[1], "g") == 0
    assert value(metrics, FOUR[3], "g") == 0


def test_invalid_budgets_count_from_zero_on() -> None:
    """Of a series that begins with its first count Prometheus sees no increase, and an alert looks for that."""
    metrics = Metrics()
    series = metrics.of(ZoneMetrics)

    def counted() -> float | None:
        name = "rollout_operator_zpdb_configurations_observed_total"
        return metrics.registry.get_sample_value(name, {"result": "invalid"})

    assert counted() == 0
    series.observed_configuration("invalid")
    assert counted() == 1


def test_a_pass_that_failed_counts_and_leaves_the_time_of_the_last_success() -> None:
    """Rule 8."""
    metrics = Metrics()
    series = GroupSeries(metrics.of(ZoneMetrics))

    series.started(G)
    series.ended(G, 0.1, failed=False, at=1000)
    series.started(G)
    series.ended(G, 0.1, failed=True, at=2000)

    assert [value(metrics, name, "g") for name in FOUR] == [2, 1, 2, 1000]


def test_the_series_of_a_group_without_statefulsets_disappear() -> None:
    metrics = Metrics()
    series = GroupSeries(metrics.of(ZoneMetrics))
    series.started(G)
    series.ended(G, 0.1, failed=False, at=1000)

    series.vanished(G)

    assert [value(metrics, name, "g") for name in FOUR] == [None] * 4
    assert b'rollout_group="g"' not in metrics.exposition()


def test_while_another_group_fails_the_series_stay_and_go_with_its_next_success() -> None:
    """H-20."""
    metrics = Metrics()
    series = GroupSeries(metrics.of(ZoneMetrics))
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
    series = GroupSeries(metrics.of(ZoneMetrics))
    series.started(G)
    series.ended(G, 0.1, failed=True, at=1000)
    series.vanished(G)

    series.started(G)

    assert value(metrics, FOUR[0], "g") == 1
    assert value(metrics, FOUR[1], "g") == 0


def test_the_series_of_a_name_stay_until_the_last_namespace_has_no_such_group() -> None:
    metrics = Metrics()
    series = GroupSeries(metrics.of(ZoneMetrics))
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
    series = GroupSeries(metrics.of(ZoneMetrics))
    here, there, gone = RolloutKey(("here", "g")), RolloutKey(("there", "g")), RolloutKey(("here", "gone"))
    for key in (here, there, gone):
        series.started(key)
        series.ended(key, 0.1, failed=key == here, at=1000)

    series.vanished(gone)

    assert value(metrics, FOUR[0], "gone") == 1


def test_there_are_no_series_about_when_a_series_began() -> None:
    metrics = Metrics()

    GroupSeries(metrics.of(ZoneMetrics)).started(G)

    assert b"_created" not in metrics.exposition()


def test_a_replica_that_no_longer_leads_tells_nothing_of_its_zones() -> None:
    """Another one decides from then on; an alert would go by the worse of the two."""
    metrics = Metrics()
    zones = metrics.of(ZoneMetrics)
    zones.progress.passed(G, (ZoneProgress("a", 1, 2, 1, is_held=True),))

    zones.leads(True)
    assert b'zone="a"' in metrics.exposition()
    zones.leads(False)

    assert b'zone="a"' not in metrics.exposition()


@pytest.mark.parametrize(
    ("url", "is_query"),
    [
        ("http://prometheus:9090/api/v1/query", True),
        ("http://prometheus:9090/base/api/v1/query?x=1", True),
        ("http://pod:80/prepare", False),
    ],
)
def test_queries_to_prometheus_are_counted_apart(url: str, is_query: bool) -> None:
    metrics = Metrics()

    counted = metrics.of(ZoneMetrics).counts(Call(method="POST", url=url), None, 0.1)

    name = "rollout_operator_health_check_query_duration_seconds_count"
    assert counted is is_query
    assert metrics.registry.get_sample_value(name, {"status_code": "error"}) == (1 if is_query else None)
