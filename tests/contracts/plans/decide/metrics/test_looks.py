"""When metrics are looked at, what the looks come to, and what stays of them (R-28, R-29, X-3)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest

from fairlead.contracts.plans.kinds import Json
from fairlead.core.ask import Answer, Bad, Good
from fairlead.core.decision import Hold, Move
from fairlead.core.reason import Reason
from tests.contracts.plans.decide.cluster import Cluster, Died
from tests.contracts.plans.decide.metrics.measured import Prometheus, a_metric, measured_pair, record
from tests.prometheus_answers import reply, value, vector

SECOND = timedelta(seconds=1)


def verifying(*metrics: Json, **plan: object) -> tuple[Cluster, Prometheus]:
    """A pass after the pods of batch 0 became available: nothing was looked at yet."""
    prometheus = Prometheus()
    prometheus.put()
    cluster = measured_pair(*metrics, prometheus=prometheus, **plan)
    cluster.play_to("batchVerifying", 0)
    cluster.settle()
    cluster.run()
    return cluster, prometheus


def later(cluster: Cluster, seconds: float) -> None:
    cluster.now += timedelta(seconds=seconds)
    cluster.run()


def test_the_first_look_comes_an_interval_after_the_pods_and_then_one_each_interval() -> None:
    cluster, prometheus = verifying(a_metric(successCount=3))
    available = cluster.rollout.batch_available_time
    assert available == cluster.now
    assert cluster.condition("BatchVerifying") == ("False", "waiting for the first look at the metric errors")

    for _ in range(40):  # whatever wakes it, once a second
        later(cluster, 1)
        if cluster.rollout.batch_rolling_state != "batchVerifying":
            break

    assert len(prometheus.asked) == 3
    assert cluster.rollout.batch_rolling_state == "batchFinalizing"
    assert cluster.now == available + timedelta(seconds=30)
    assert (record(cluster).value, record(cluster).outcome, record(cluster).successes) == ("0.5", "inRange", 3)


def test_a_pass_is_asked_for_at_the_moment_of_the_next_look() -> None:
    cluster, _ = verifying(a_metric(interval="3s"))

    decision = cluster.run()

    assert isinstance(decision.verdict, Hold)
    assert (decision.verdict.reason, decision.verdict.again) == (Reason.METRIC_PENDING, cluster.now + 3 * SECOND)


def test_a_value_out_of_range_refuses_the_batch_and_releases_the_workloads() -> None:
    cluster, prometheus = verifying(a_metric())
    prometheus.answer = lambda _query: value("5")

    later(cluster, 10)

    said = "the metric errors is 5, above its max 1: once out of its range in this batch, where 0 are tolerated"
    assert (cluster.state, cluster.rollout.batch_rolling_state) == ("rolloutFailing", "batchVerifyFailed")
    assert cluster.condition("BatchVerifying") == ("False", said)
    assert [(each.reason, each.text, each.warning) for each in cluster.told][-1] == ("MetricCheckFailed", said, True)
    cluster.play("rolloutFailed")
    assert (cluster.state, cluster.rollout.batch_rolling_state) == ("rolloutFailed", "batchVerifyFailed")
    assert cluster.condition("RolloutFailed") == ("True", said)
    assert (cluster.size("d1"), cluster.size("d2")) == (3, 2)
    assert cluster.owners("d1") == cluster.owners("d2") == []


def test_a_rollout_that_was_refused_goes_on_when_it_is_retried() -> None:
    cluster, prometheus = verifying(a_metric())
    prometheus.answer = lambda _query: value("5")
    cluster.play("rolloutFailed")
    prometheus.answer = lambda _query: value("0.5")
    size = cluster.rollout.rollout_target_size

    cluster.ask("retry@1")
    cluster.play("rolloutSucceed")

    assert (cluster.state, cluster.rollout.rollout_target_size, size) == ("rolloutSucceed", 5, 5)
    assert (cluster.size("d1"), cluster.size("d2")) == (0, 5)


def test_a_refusal_goes_back_by_itself_where_the_plan_says_so() -> None:
    cluster, prometheus = verifying(a_metric(), onFailure="revert")
    prometheus.answer = lambda _query: value("5")

    cluster.play("rolloutFailed")

    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    assert "Rollout Reverted" in cluster.reasons()
    assert cluster.rollout.batch_rolling_state == "batchVerifyFailed"


def test_failures_are_tolerated_up_to_their_limit_and_counted_for_the_batch() -> None:
    cluster, prometheus = verifying(a_metric(failureLimit=2))
    prometheus.answer = lambda _query: value("5")

    later(cluster, 10)
    later(cluster, 10)

    assert (record(cluster).failures, cluster.state) == (2, "rollingInBatches")
    said = "the metric errors is 5, above its max 1: 2 times out of its range in this batch, where 2 are tolerated"
    assert cluster.condition("BatchVerifying") == ("False", said)
    later(cluster, 10)
    assert (record(cluster).failures, cluster.state) == (3, "rolloutFailing")


def test_a_tolerated_failure_passes_once_the_last_look_is_in_range() -> None:
    cluster, prometheus = verifying(a_metric(failureLimit=1))
    prometheus.answer = lambda _query: value("5")
    later(cluster, 10)
    prometheus.answer = lambda _query: value("1")

    later(cluster, 10)

    assert cluster.rollout.batch_rolling_state == "batchFinalizing"
    assert (record(cluster).failures, record(cluster).successes) == (1, 1)


INCONCLUSIVE: dict[str, tuple[Answer, str, str]] = {
    "no series": (vector(), "noData", "has no data"),
    "NaN": (value("NaN"), "noData", "has no data"),
    "two series": (vector("0", "0"), "error", "the query gives 2 series and must give one"),
    "HTML": (Good(b"<html>502</html>"), "error", "the answer is not a number"),
    "a matrix": (reply("matrix", []), "error", "the answer is not a number"),
    "a word": (value("many"), "error", "'many' is not a number"),
    "a refusal": (Bad("failed", "it answered with status 400", 400), "error", "it answered with status 400"),
    "nobody": (Bad("unreachable", "no connection"), "error", "no connection"),
    "64 MB": (Bad("unreachable", "the answer is larger than 16 MB"), "error", "larger than 16 MB"),
    "a Secret without the key": (Bad("sign-in", "secret/s has no token"), "error", "has no token"),
}


@pytest.mark.parametrize(("answer", "outcome", "said"), INCONCLUSIVE.values(), ids=INCONCLUSIVE.keys())
def test_what_says_nothing_neither_passes_nor_fails(answer: Answer, outcome: str, said: str) -> None:
    cluster, prometheus = verifying(a_metric())
    prometheus.answer = lambda _query: answer

    for _ in range(20):
        later(cluster, 5)

    found = record(cluster)
    assert (cluster.state, cluster.rollout.batch_rolling_state) == ("rollingInBatches", "batchVerifying")
    assert (found.outcome, found.failures, found.successes, found.value) == (outcome, 0, 0, "")
    status, message = cluster.condition("BatchVerifying")
    assert (status, said in message, "the metric errors" in message) == ("False", True, True)
    assert ("MetricCheckFailed" in cluster.reasons()) is (outcome == "error")
    prometheus.answer = lambda _query: value("0")
    later(cluster, 10)
    assert cluster.rollout.batch_rolling_state == "batchFinalizing"


def test_only_the_deadline_ends_a_metric_that_cannot_be_read() -> None:
    cluster, prometheus = verifying(a_metric(), progressDeadlineSeconds=120)
    prometheus.answer = lambda _query: Bad("unreachable", "no connection")

    cluster.play("rolloutFailed")

    assert cluster.rollout.batch_rolling_state == "batchInitializing"
    assert "no progress within 120 s: the metric errors cannot be read" in cluster.condition("RolloutFailed")[1]


def test_a_look_that_cannot_be_made_is_tried_again_soon_and_writes_nothing_new() -> None:
    cluster, prometheus = verifying(a_metric(interval="1h"))
    prometheus.answer = lambda _query: Bad("unreachable", "no connection")
    later(cluster, 3600)
    version = cluster.meta.resource_version

    decision = cluster.run()
    later(cluster, 5)

    assert isinstance(decision.verdict, Hold)
    assert (decision.verdict.reason, decision.verdict.again) == (Reason.METRIC_UNKNOWN, cluster.now)
    assert cluster.meta.resource_version == version
    assert len({*prometheus.asks}) == 1  # the same look, so that an answer of a moment ago serves
    prometheus.answer = lambda _query: value("0")
    later(cluster, 5)
    assert cluster.rollout.batch_rolling_state == "batchFinalizing"


def test_each_look_is_another_question() -> None:
    """Else the answer to the one before would serve for it."""
    cluster, prometheus = verifying(a_metric(interval="1s", successCount=5))

    for _ in range(4):
        later(cluster, 1)

    assert len(prometheus.asks) == len({*prometheus.asks}) == 4


def test_lost_pods_start_the_looks_anew_but_what_was_out_of_range_counts() -> None:
    cluster, prometheus = verifying(a_metric(failureLimit=1, successCount=3))
    later(cluster, 10)
    prometheus.answer = lambda _query: value("5")
    later(cluster, 10)
    assert (record(cluster).successes, record(cluster).failures) == (1, 1)
    tree = cluster.tree("d2")
    tree["status"] = {**tree["status"], "readyReplicas": 1}
    later(cluster, 1)
    assert cluster.rollout.batch_available_time is None

    cluster.settle()
    later(cluster, 1)
    asked = len(prometheus.asked)
    later(cluster, 9)

    assert len(prometheus.asked) == asked
    assert (record(cluster).successes, record(cluster).failures, record(cluster).outcome) == (0, 1, "")
    later(cluster, 1)
    assert cluster.state == "rolloutFailing"


def test_counts_start_anew_with_the_next_batch() -> None:
    batches = [{"replicas": 2, "canaryMetric": [a_metric(failureLimit=1)]}, {"replicas": 1}, {"replicas": 2}]
    cluster, prometheus = verifying(rolloutBatches=batches)
    prometheus.answer = lambda _query: value("5")
    later(cluster, 10)
    prometheus.answer = lambda _query: value("0")
    later(cluster, 10)
    assert record(cluster).failures == 1

    cluster.play_to("batchVerifying", 1)

    assert cluster.rollout.metrics == ()


def test_metrics_of_the_plan_judge_the_last_batch_beside_its_own() -> None:
    prometheus = Prometheus()
    prometheus.put()
    prometheus.put("slow", query="latency")
    plan = {
        "rolloutBatches": [{"replicas": 2}, {"replicas": 3, "canaryMetric": [a_metric()]}],
        "canaryMetric": [a_metric("slow")],
    }
    cluster = measured_pair(prometheus=prometheus, **plan)

    cluster.play_to("batchVerifying", 1)
    assert prometheus.asked == []
    cluster.play("rolloutSucceed")

    assert prometheus.asked == ['errors{pod=~"d2-.*"}', "latency"]
    assert cluster.state == "rolloutSucceed"


def test_two_metrics_of_one_name_are_counted_apart() -> None:
    strict, lax = a_metric(metricsRange={"max": 1}, failureLimit=9), a_metric(metricsRange={"max": 9})
    cluster, prometheus = verifying(strict, lax)
    prometheus.answer = lambda _query: value("5")

    later(cluster, 10)
    later(cluster, 10)

    assert [(each.failures, each.successes) for each in cluster.rollout.metrics] == [(2, 0), (0, 2)]


def test_a_dry_run_is_told_and_decides_nothing() -> None:
    cluster, prometheus = verifying(a_metric(dryRun=True))
    prometheus.answer = lambda _query: value("5")
    assert cluster.condition("BatchVerifying")[1] == "waiting for the first look at the metric errors"

    later(cluster, 10)

    assert cluster.rollout.batch_rolling_state == "batchFinalizing"
    assert (record(cluster).outcome, record(cluster).failures) == ("outOfRange", 1)
    assert any("a dry run decides nothing" in each.text for each in cluster.told if each.warning)


def test_a_dry_run_that_cannot_be_read_holds_nothing_up() -> None:
    cluster, prometheus = verifying(a_metric(dryRun=True))
    prometheus.templates.clear()

    later(cluster, 10)

    assert cluster.rollout.batch_rolling_state == "batchFinalizing"
    assert record(cluster).outcome == "error"


def test_metrics_are_watched_while_the_batch_soaks() -> None:
    batches = [{"replicas": 2, "soakSeconds": 60, "canaryMetric": [a_metric()]}, {"replicas": 3}]
    cluster, prometheus = verifying(rolloutBatches=batches)
    later(cluster, 10)
    decision = cluster.run()
    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.reason is Reason.BATCH_SOAKING
    prometheus.answer = lambda _query: value("5")

    later(cluster, 10)

    assert cluster.state == "rolloutFailing"


def test_nothing_is_looked_at_while_the_plan_is_paused() -> None:
    cluster, prometheus = verifying(a_metric())
    cluster.edit(paused=True)

    later(cluster, 10)
    later(cluster, 10)

    assert prometheus.asked == []
    cluster.edit(paused=None)
    cluster.run()
    assert len(prometheus.asked) == 1


def at_gate(*metrics: Json, **plan: object) -> tuple[Cluster, Prometheus]:
    cluster, prometheus = verifying(*metrics, lastBatchToRollout=0, **plan)
    cluster.play_to("batchReady", 0)
    cluster.run()
    prometheus.asked.clear()
    return cluster, prometheus


def test_a_value_that_leaves_its_range_at_the_gate_fails_the_rollout() -> None:
    cluster, prometheus = at_gate(a_metric(whileWaiting=True))
    for _ in range(60):
        later(cluster, 1)
    assert len(prometheus.asked) == 6
    assert (cluster.state, cluster.rollout.batch_rolling_state) == ("rollingInBatches", "batchReady")
    prometheus.answer = lambda _query: value("5")

    later(cluster, 10)

    assert (cluster.state, cluster.rollout.batch_rolling_state) == ("rolloutFailing", "batchVerifyFailed")
    assert "the metric errors is 5, above its max 1" in cluster.condition("BatchReady")[1]


def test_a_metric_is_watched_at_the_gate_only_where_it_says_so() -> None:
    cluster, prometheus = at_gate(a_metric())
    prometheus.answer = lambda _query: value("5")
    before = record(cluster)

    for _ in range(20):
        later(cluster, 5)

    assert (prometheus.asked, record(cluster), cluster.state) == ([], before, "rollingInBatches")


def test_what_cannot_be_read_at_the_gate_holds_nobody_and_lets_nobody_fail() -> None:
    cluster, prometheus = at_gate(a_metric(whileWaiting=True))
    prometheus.answer = lambda _query: Bad("unreachable", "no connection")
    for _ in range(20):
        later(cluster, 5)
    assert cluster.state == "rollingInBatches"
    assert "MetricCheckFailed" in cluster.reasons()

    cluster.edit(lastBatchToRollout=1)
    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


def test_metrics_of_the_plan_are_watched_at_every_gate_where_they_say_so() -> None:
    cluster, prometheus = at_gate(canaryMetric=[a_metric(whileWaiting=True)])
    assert prometheus.asked == []
    prometheus.answer = lambda _query: value("5")

    later(cluster, 10)

    assert (cluster.state, len(prometheus.asked)) == ("rolloutFailing", 1)


def test_a_look_whose_write_was_lost_counts_once() -> None:
    cluster, prometheus = verifying(a_metric(failureLimit=5))
    prometheus.answer = lambda _query: value("5")
    cluster.now += timedelta(seconds=10)
    cluster.writes_left = 0
    with suppress(Died):
        cluster.run()
    assert record(cluster).failures == 0
    cluster.writes_left = None

    cluster.run()
    cluster.run()

    assert record(cluster).failures == 1
    assert len({*prometheus.asks}) == 1


def test_a_status_with_garbage_in_its_records_waits_for_the_next_look() -> None:
    cluster, _ = verifying(a_metric())
    later(cluster, 10)
    cluster.status["batchRollingState"] = "batchVerifying"
    for held in (
        [{"name": "errors", "outcome": "outOfRange", "value": "much", "time": cluster.status["batchAvailableTime"]}],
        [{"name": "errors", "outcome": "unheard-of", "failures": "x", "time": 7}],
        "none",
    ):
        cluster.status["metrics"] = held

        decision = cluster.run()

        assert isinstance(decision.verdict, Hold | Move)
        assert cluster.state == "rollingInBatches"


def test_a_clock_that_goes_back_does_not_stop_the_looks() -> None:
    cluster, prometheus = verifying(a_metric(successCount=2))
    later(cluster, 10)
    cluster.now -= timedelta(hours=5)

    for _ in range(30):
        later(cluster, 1)

    assert cluster.rollout.current_batch == 1
    assert len(prometheus.asks) == 2
