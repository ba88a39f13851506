"""A clock that was ahead and is set right in the middle of a rollout: nothing waits for the time that it had.

And one that nobody looked at for long: what came meanwhile has come.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.contracts.plans.decide import conditions
from fairlead.core.ask import Bad
from fairlead.core.decision import Hold
from tests.contracts.plans.decide.cluster import Cluster, a_clone_set, a_pair

AHEAD = timedelta(days=400)
HOOK = {"type": "pre-batch-rollout", "name": "gate", "url": "http://hooks/gate"}


def set_right(cluster: Cluster) -> None:
    cluster.now -= AHEAD


def rolling(**plan: object) -> Cluster:
    """In its first batch, by a clock that is ahead."""
    cluster = a_pair({"rolloutBatches": [{"replicas": 3}, {}], **plan})
    cluster.play_to("batchInRolling", 0)
    return cluster


def test_pods_that_go_one_at_a_time_go_on() -> None:
    cluster = rolling(rolloutBatches=[{"replicas": 3, "instanceInterval": 60}, {}])
    cluster.play(most=2)
    assert cluster.size("d2") == 1
    set_right(cluster)

    cluster.play(most=14)  # 70 seconds

    assert cluster.size("d2") == 2


def test_the_deadline_of_a_batch_counts_from_now() -> None:
    cluster = rolling(progressDeadlineSeconds=60)
    cluster.run()
    set_right(cluster)

    cluster.play(most=14, ready=False)

    assert cluster.state in ("rolloutFailing", "rolloutFailed")


def test_a_soak_counts_from_now() -> None:
    cluster = rolling(rolloutBatches=[{"replicas": 3, "soakSeconds": 60}, {}])
    cluster.play(most=4)
    assert cluster.rollout.batch_available_time is not None
    set_right(cluster)

    first = cluster.run()
    assert cluster.rollout.current_batch == 0
    cluster.play(most=18)

    assert isinstance(first.verdict, Hold)
    assert (first.verdict.reason.word, cluster.rollout.current_batch) == ("BatchSoaking", 1)


def test_a_hook_that_refuses_does_not_hold_a_deletion_up() -> None:
    cluster = a_pair({"rolloutWebhooks": [{**HOOK, "type": "finalize-rollout"}]})
    cluster.hook = lambda _body, _call: Bad("refused", code=500)
    cluster.play_to("batchInRolling", 0)
    cluster.delete()
    cluster.play(most=3)
    assert cluster.is_there
    set_right(cluster)

    cluster.play(most=6)

    assert not cluster.is_there


@pytest.mark.parametrize("ahead", [timedelta(), AHEAD])
def test_what_ended_the_last_attempt_is_its_cause(ahead: timedelta) -> None:
    """A rollout that went wrong by a clock that was ahead, and is then begun again and stopped by a person."""
    cluster = rolling(rolloutBatches=[{"replicas": 3, "soakSeconds": 600}, {}], progressDeadlineSeconds=60)
    cluster.play()
    assert conditions.cause_reason(cluster.rollout) == "DeadlinePassed"
    cluster.now -= ahead
    cluster.ask("retry@1")
    cluster.play_to("batchInRolling", 0)
    cluster.ask("abort@2")

    cluster.play()

    assert (cluster.state, conditions.cause_reason(cluster.rollout)) == ("rolloutFailed", "Aborted")


def test_once_it_is_right_nothing_more_is_written() -> None:
    cluster = rolling()
    cluster.edit(paused=True)
    cluster.play(most=2)
    set_right(cluster)
    cluster.run()
    before = len(cluster.history)

    cluster.play(most=5)

    assert len(cluster.history) == before


def slept(cluster: Cluster, *, ready: bool) -> None:
    """Pods come or not, and nobody looks for two hours."""
    cluster.settle(ready=ready)
    cluster.now += timedelta(hours=2)


def waiting(**plan: object) -> Cluster:
    """For the pods of its only batch, a minute before its deadline."""
    cluster = a_pair({"rolloutBatches": [{}], "progressDeadlineSeconds": 60, **plan})
    while not cluster.size("d2"):
        cluster.run()
        cluster.settle(ready=False)
    cluster.run()
    return cluster


def test_pods_that_came_while_no_operator_ran_came_in_time() -> None:
    cluster = waiting()
    slept(cluster, ready=True)

    cluster.play()

    assert cluster.state == "rolloutSucceed"


def test_pods_of_one_workload_that_came_meanwhile_came_in_time() -> None:
    cluster = a_clone_set({"rolloutBatches": [{}], "progressDeadlineSeconds": 60})
    cluster.play_to("batchVerifying", 0)
    slept(cluster, ready=True)

    cluster.play()

    assert cluster.state == "rolloutSucceed"


def test_nothing_is_written_to_one_workload_after_the_deadline() -> None:
    cluster = a_clone_set({"rolloutBatches": [{}], "progressDeadlineSeconds": 60})
    cluster.play_to("batchInRolling", 0)
    before = cluster.tree("c")["spec"]
    slept(cluster, ready=True)

    cluster.run()

    assert (cluster.state, cluster.tree("c")["spec"]) == ("rolloutFailing", before)


def test_pods_that_did_not_come_did_not() -> None:
    cluster = waiting()
    slept(cluster, ready=False)

    cluster.run()

    assert cluster.state == "rolloutFailing"


@pytest.mark.parametrize(
    "left",
    [{"rolloutBatches": [{"soakSeconds": 5}]}, {"rolloutWebhooks": [{**HOOK, "type": "post-batch-rollout"}]}],
    ids=["a soak", "a hook that refuses"],
)
def test_what_is_left_to_wait_for_ends_at_the_deadline(left: dict[str, object]) -> None:
    cluster = waiting(**left)
    cluster.hook = lambda _body, _call: Bad("refused", code=500)
    slept(cluster, ready=True)

    cluster.play(most=6)

    assert cluster.state in ("rolloutFailing", "rolloutFailed")
    assert conditions.cause_reason(cluster.rollout) == "DeadlinePassed"


def test_no_pod_goes_after_the_deadline() -> None:
    cluster = waiting(rolloutBatches=[{"instanceInterval": 1}])
    slept(cluster, ready=True)

    cluster.play()

    assert cluster.state == "rolloutFailed"
    assert cluster.size("d2") == 1
