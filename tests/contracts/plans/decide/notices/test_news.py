"""Which events of a rollout are told in chats and to webhooks, how severe they are, and to whom (R-33)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fairlead.contracts.plans.kinds import Json
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.act import EventNote
from fairlead.core.ask import Bad, Good
from tests.contracts.plans.decide.cluster import NOON, Cluster, a_pair
from tests.contracts.plans.decide.metrics.measured import Prometheus, a_metric, measured_pair
from tests.prometheus_answers import value

BOTH = PlanSettings(slack_url="https://chat.example/s3cret", event_webhook="https://hooks.example/s3cret")
SLACK = PlanSettings(slack_url="https://chat.example/s3cret")


def noticed(cluster: Cluster) -> list[EventNote]:
    return [each for each in cluster.told if each.to]


def events(cluster: Cluster) -> list[tuple[str, str]]:
    """Each with its severity."""
    return [(dict(each.facts)["event"], dict(each.facts)["severity"]) for each in noticed(cluster)]


def test_a_rollout_tells_of_its_batches_and_of_its_success() -> None:
    cluster = a_pair()
    cluster.settings = SLACK

    cluster.play("rolloutSucceed")

    assert events(cluster) == [*[("Batch Available", "info")] * 3, ("Rollout Succeeded", "info")]
    assert all(each.reason == "" and each.to == "slack" for each in noticed(cluster))
    assert "s3cret" not in repr(noticed(cluster))


def test_what_a_notice_tells() -> None:
    cluster = a_pair()
    cluster.settings = SLACK
    cluster.play("rolloutSucceed")

    first, *_ = noticed(cluster)

    assert first.text == "the pods of batch 0 are ready"
    facts = dict(first.facts)
    assert {key: facts[key] for key in ("kind", "phase", "batch", "workload")} == {
        "kind": "RolloutTrait",
        "phase": "rollingInBatches",
        "batch": "0",
        "workload": "d2",
    }
    assert datetime.fromtimestamp(int(facts["timestamp"]) / 1000, UTC).date() == NOON.date()


def test_a_refused_check_is_told_with_the_failure_and_with_its_end() -> None:
    prometheus = Prometheus()
    prometheus.put()
    prometheus.answer = lambda _query: value("5")
    cluster = measured_pair(a_metric(), prometheus=prometheus, onFailure="revert")
    cluster.settings = SLACK

    cluster.play("rolloutFailed")

    told = [("Check Refused", "error"), ("Rollout Failing", "error"), ("Rollout Reverted", "warn")]
    assert events(cluster) == [*told, ("Rollout Failed", "error")]
    assert all("the metric errors is 5" in each.text for each in noticed(cluster) if "everted" not in repr(each.facts))


def test_a_failed_verification_is_told_once() -> None:
    cluster = a_pair({"rolloutBatches": [{"replicas": 9}, {"replicas": 9}]})
    cluster.settings = SLACK

    cluster.play("rolloutFailed")
    for _ in range(5):
        cluster.run()

    assert events(cluster) == [("Rollout Failed", "error")]
    assert "batch size mismatch" in noticed(cluster)[0].text


def test_a_pause_and_a_restart_are_told() -> None:
    cluster = a_pair()
    cluster.settings = SLACK
    cluster.play_to("batchInitializing", 0)
    cluster.edit(paused=True)
    for _ in range(5):
        cluster.run()
        cluster.now += timedelta(seconds=5)
    assert events(cluster) == [("Rollout paused", "info")]
    cluster.edit(paused=None)
    cluster.play("rolloutSucceed")

    cluster.change(targetRef=cluster.reference("d1"), sourceRef=[cluster.reference("d2")])
    cluster.run()

    assert events(cluster)[-1] == ("Rollout Restarted", "info")


def test_a_hook_that_refuses_is_told_once_for_its_phase() -> None:
    hook = {"type": "pre-batch-rollout", "name": "ask", "url": "http://hooks/ask"}
    batches = [{"replicas": 2, "batchRolloutWebhooks": [hook]}, {"replicas": 3, "batchRolloutWebhooks": [hook]}]
    cluster = a_pair({"rolloutBatches": batches})
    cluster.settings = SLACK
    cluster.hook = lambda _body, _call: Bad("failed", code=403)

    for _ in range(20):
        cluster.run()
        cluster.now += timedelta(seconds=5)

    assert events(cluster) == [("Hook Refused", "warn")]
    assert "failed to invoke a webhook: ask" in noticed(cluster)[0].text
    cluster.hook = lambda _body, _call: Good(code=200)
    cluster.play("rolloutSucceed")
    assert events(cluster).count(("Hook Refused", "warn")) == 1


def test_a_deadline_that_is_near_is_told_once_before_it_is_over() -> None:
    cluster = a_pair({"rolloutBatches": [{"replicas": 2}, {"replicas": 3}], "progressDeadlineSeconds": 100})
    cluster.settings = SLACK
    cluster.play_to("batchInRolling", 0)
    begun = cluster.rollout.batch_start_time
    assert begun is not None
    for _ in range(60):
        cluster.now += timedelta(seconds=2)
        cluster.run()
        cluster.settle(ready=False)

    assert events(cluster) == [("Deadline Near", "warn"), ("Rollout Failing", "error"), ("Rollout Failed", "error")]
    near, over, _ = noticed(cluster)
    assert int(dict(near.facts)["timestamp"]) / 1000 - begun.timestamp() == 80
    assert "most of the 100 s are over: 0 of 2 pods" in near.text
    assert "no progress within 100 s" in over.text


def test_each_batch_has_its_own_deadline() -> None:
    cluster = a_pair({"rolloutBatches": [{"replicas": 2}, {"replicas": 3}], "progressDeadlineSeconds": 100})
    cluster.settings = SLACK
    cluster.play_to("batchInRolling", 0)
    cluster.run()
    cluster.now += timedelta(seconds=90)
    cluster.run()
    assert cluster.rollout.deadline_near_time == cluster.now

    cluster.settle()
    cluster.play_to("batchInRolling", 1)

    assert cluster.rollout.deadline_near_time is None


def test_deleting_a_rollout_is_no_failure() -> None:
    cluster = a_pair()
    cluster.settings = SLACK
    cluster.play_to("batchInRolling", 0)

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    assert events(cluster) == []


def test_all_receivers_of_the_operator_are_told() -> None:
    cluster = a_pair()
    cluster.settings = BOTH

    cluster.play("rolloutSucceed")

    assert {each.to for each in noticed(cluster)} == {"slack", "webhook"}
    assert len(noticed(cluster)) == 8


def test_nobody_is_told_where_there_is_nobody() -> None:
    cluster = a_pair()

    cluster.play("rolloutSucceed")

    assert noticed(cluster) == []


@pytest.mark.parametrize(
    ("alert", "told"),
    [
        ({}, {"info", "warn", "error"}),
        ({"severity": "info"}, {"info", "warn", "error"}),
        ({"severity": "warn"}, {"warn", "error"}),
        ({"severity": "error"}, {"error"}),
        ({"severity": "fatal"}, {"info", "warn", "error"}),
    ],
)
def test_alerts_take_what_is_severe_enough_in_the_place_of_the_operators_receivers(alert: Json, told: set[str]) -> None:
    prometheus = Prometheus()
    prometheus.put()
    batches = [{"replicas": 2}, {"replicas": 3, "canaryMetric": [a_metric()]}]
    alerts = [{"name": "a", "providerRef": {"name": "chat"}, **alert}]
    cluster = measured_pair(prometheus=prometheus, rolloutBatches=batches, alerts=alerts, onFailure="revert")
    cluster.settings = BOTH
    prometheus.answer = lambda _query: value("5")

    cluster.play("rolloutFailed")

    assert {each.to for each in noticed(cluster)} == {"alert ns/chat"}
    assert {severity for _, severity in events(cluster)} == told


def test_several_alerts_to_one_provider_tell_it_once() -> None:
    alerts = [
        {"name": "a", "providerRef": {"name": "chat", "namespace": "shared"}},
        {"name": "b", "severity": "info", "providerRef": {"name": "chat", "namespace": "shared"}},
        {"name": "c", "providerRef": {"name": "chat"}},
        {"name": "d"},
    ]
    cluster = a_pair({"alerts": alerts})

    cluster.play("rolloutSucceed")

    first = [each.to for each in noticed(cluster)][:2]
    assert first == ["alert shared/chat", "alert ns/chat"]
    assert len(noticed(cluster)) == 8
