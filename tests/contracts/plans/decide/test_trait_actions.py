"""Going back by itself (X-1), and what people ask for by an annotation (X-5)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.core.ask import Bad, Good
from tests.contracts.plans.decide.cluster import Cluster, a_pair

NOW = "2026-03-01T12:00:00Z"


def _stuck(**plan: object) -> Cluster:
    """In its second batch, whose pods do not become ready within 30 s."""
    cluster = a_pair({"progressDeadlineSeconds": 30, **plan})
    cluster.play_to("batchInRolling", 1)
    cluster.play("rolloutFailing", ready=False)
    assert cluster.state == "rolloutFailing"
    return cluster


@pytest.mark.parametrize("strategy", ["IncreaseFirst", "DecreaseFirst"])
def test_x_1_a_failure_goes_back_with_the_old_pods_first(strategy: str) -> None:
    cluster = _stuck(onFailure="revert", rolloutStrategy=strategy)
    began = len(cluster.history)

    cluster.play("rolloutFailed")

    assert cluster.state == "rolloutFailed"
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    grown = cluster.history[began].sizes
    assert all(each.sizes["d2"] == grown["d2"] or each.sizes["d1"] == 5 for each in cluster.history[began:])
    assert cluster.owners("d1") == cluster.owners("d2") == []
    assert cluster.reasons().count("Rollout Reverted") == 1
    assert "no progress within 30 s" in cluster.condition("RolloutFailed")[1]


def test_x_1_old_pods_that_do_not_come_keep_the_new_ones() -> None:
    cluster = _stuck(onFailure="revert")

    cluster.play(most=5, ready=False)
    assert (cluster.state, cluster.size("d1"), cluster.size("d2")) == ("rolloutFailing", 5, 3)
    cluster.now += timedelta(minutes=10)
    cluster.play("rolloutFailed", ready=False)

    assert (cluster.state, cluster.size("d2")) == ("rolloutFailed", 3)
    (told,) = (each for each in cluster.told if each.reason == "Rollout Reverted")
    assert told.warning


def test_x_1_drift_is_left_as_it_is() -> None:
    cluster = a_pair({"onFailure": "revert"})
    cluster.play_to("batchVerifying", 1)

    cluster.scale("d1", 9)
    cluster.play("rolloutFailed")

    assert (cluster.size("d1"), cluster.size("d2")) == (9, 3)
    assert "Rollout Reverted" not in cluster.reasons()


def test_x_1_without_it_everything_stays() -> None:
    cluster = _stuck()

    cluster.play("rolloutFailed")

    assert (cluster.size("d1"), cluster.size("d2")) == (4, 3)


@pytest.mark.parametrize("paused", [None, True])
def test_x_5_an_abort_leaves_everything_mixed(paused: bool | None) -> None:
    cluster = a_pair({"onFailure": "revert"})
    cluster.play_to("batchReady", 1)
    cluster.edit(paused=paused)

    cluster.ask(f"abort@{NOW}")
    cluster.play("rolloutFailed")

    assert (cluster.state, cluster.size("d1"), cluster.size("d2")) == ("rolloutFailed", 2, 3)
    assert cluster.condition("BatchReady") == ("False", "aborted")
    assert cluster.rollout.last_action == f"abort@{NOW}"
    assert cluster.owners("d1") == []


def test_x_5_a_revert_goes_back() -> None:
    cluster = a_pair()
    cluster.play_to("batchReady", 1)

    cluster.ask(f"revert@{NOW}")
    cluster.play("rolloutFailed")

    assert (cluster.state, cluster.size("d1"), cluster.size("d2")) == ("rolloutFailed", 5, 0)
    assert cluster.reasons().count("Rollout Reverted") == 1


def test_x_5_a_retry_goes_on_from_the_mixed_sizes() -> None:
    cluster = _stuck()
    cluster.play("rolloutFailed")

    cluster.ask(f"retry@{NOW}")
    cluster.run()
    assert cluster.state == "verifyingSpec"
    cluster.settle()
    cluster.play("rolloutSucceed")

    assert (cluster.state, cluster.size("d1"), cluster.size("d2")) == ("rolloutSucceed", 0, 5)
    assert cluster.rollout.rollout_target_size == 5
    assert cluster.rollout.last_action == f"retry@{NOW}"


@pytest.mark.parametrize("action", [f"retry@{NOW}", f"dance@{NOW}", "abort"])
def test_x_5_what_cannot_be_done_is_recorded_and_does_nothing(action: str) -> None:
    cluster = a_pair()
    cluster.play("rolloutSucceed")

    cluster.ask(action)
    cluster.play(most=3)

    assert (cluster.state, cluster.rollout.last_action) == ("rolloutSucceed", action)
    assert (cluster.size("d1"), cluster.size("d2")) == (0, 5)


def test_x_5_an_action_counts_once() -> None:
    cluster = _stuck()
    cluster.play("rolloutFailed")
    cluster.ask(f"retry@{NOW}")
    cluster.run()

    cluster.play("rolloutFailed", ready=False)
    cluster.play(most=5)

    assert cluster.state == "rolloutFailed"


def test_what_ended_an_attempt_is_not_what_it_waited_for_before() -> None:
    """It ends in the words of the attempt before, and a hook refused in between: an abort would go back."""
    hook = {"type": "pre-batch-rollout", "name": "h", "url": "http://h"}
    batches = [{"replicas": 2, "batchRolloutWebhooks": [hook]}, {}]
    cluster = a_pair({"onFailure": "revert", "rolloutBatches": batches})
    cluster.play_to("batchVerifying", 0)
    cluster.ask("abort@2026-03-01T12:01:00Z")
    cluster.play("rolloutFailed")
    cluster.hook = lambda _body, _call: Bad("refused", "not now", 403)
    cluster.ask("retry@2026-03-01T12:02:00Z")
    cluster.play(most=5)
    cluster.hook = lambda _body, _call: Good(code=200)
    cluster.play_to("batchVerifying", 0)

    cluster.ask("abort@2026-03-01T12:03:00Z")
    cluster.play("rolloutFailed")

    assert (cluster.size("d1"), cluster.size("d2")) == (3, 2)
    assert cluster.condition("RolloutFailed") == ("True", "aborted")


LAST = {"type": "finalize-rollout", "name": "last", "url": "http://hooks/last"}


def _held_by_its_last_hook(**plan: object) -> Cluster:
    cluster = _stuck(rolloutWebhooks=[LAST], **plan)
    cluster.hook = lambda _body, _call: Bad("refused", "not now", 403)
    cluster.play(most=4)
    assert cluster.state == "rolloutFailing"
    return cluster


def test_x_5_a_failure_that_is_not_over_yet_goes_back_after_all() -> None:
    """Its last hook refuses, so that the pods of both would stay for as long."""
    cluster = _held_by_its_last_hook()
    assert (cluster.size("d1"), cluster.size("d2")) == (4, 3)

    cluster.ask(f"revert@{NOW}")
    cluster.play(most=8)

    assert (cluster.state, cluster.size("d1"), cluster.size("d2")) == ("rolloutFailing", 5, 0)
    cluster.hook = lambda _body, _call: Good(code=200)
    cluster.play("rolloutFailed")
    assert cluster.condition("RolloutFailed")[1].startswith("no progress within 30 s")
    assert cluster.owners("d1") == cluster.owners("d2") == []


def test_x_5_what_goes_back_is_stopped_by_an_abort() -> None:
    """Old pods that do not come would be waited for, ten minutes long."""
    cluster = _stuck(onFailure="revert")
    cluster.play(most=3, ready=False)
    assert (cluster.state, cluster.size("d1"), cluster.size("d2")) == ("rolloutFailing", 5, 3)

    cluster.ask(f"abort@{NOW}")
    cluster.play("rolloutFailed", most=3, ready=False)

    assert (cluster.state, cluster.size("d1"), cluster.size("d2")) == ("rolloutFailed", 5, 3)
    assert "Rollout Reverted" not in cluster.reasons()


@pytest.mark.parametrize(
    ("action", "plan"), [("abort", {"onFailure": "stop"}), ("revert", {"onFailure": "revert"})], ids=["abort", "revert"]
)
def test_x_5_what_happens_already_changes_nothing(action: str, plan: dict[str, str]) -> None:
    cluster = _stuck(**plan)
    before = cluster.rollout

    cluster.ask(f"{action}@{NOW}")
    cluster.run()

    after = cluster.rollout
    assert after.last_action == f"{action}@{NOW}"
    assert (after.conditions, after.batch_start_time) == (before.conditions, before.batch_start_time)


@pytest.mark.parametrize("action", ["abort", "revert"])
def test_x_5_an_attempt_that_is_released_for_another_is_stopped_before_that_begins(action: str) -> None:
    cluster = a_pair()
    cluster.add_deployment("d3", 0, paused=True)
    cluster.play_to("batchVerifying", 1)
    cluster.change(targetRef=cluster.reference("d3"))
    cluster.play("rolloutAbandoned")

    cluster.ask(f"{action}@{NOW}")
    cluster.play("rolloutFailed")

    assert cluster.state == "rolloutFailed"
    assert [cluster.size(name) for name in ("d1", "d2", "d3")] == [2, 3, 0]
    assert cluster.condition("RolloutFailed")[1].startswith("aborted")
    assert all(cluster.owners(name) == [] for name in ("d1", "d2", "d3"))
