"""What others write on the way of a rollout (R-12 to R-15): sizes, batches, partitions, statuses by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.contracts.plans.kinds import Json
from tests.contracts.plans.decide.cluster import Cluster, a_clone_set, a_pair
from tests.contracts.plans.decide.workloads.objects import merged


def test_two_rollouts_do_not_write_one_workload() -> None:
    """I-6."""
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    other = a_pair()
    other.objects = dict(cluster.objects)
    for name in ("d1", "d2"):
        tree = other.tree(name)
        owners = [
            {**each, "uid": "uid-x"} if each.get("controller") else each for each in tree["metadata"]["ownerReferences"]
        ]
        other.put(other.objects[name][0], merged(tree, {"metadata": {"ownerReferences": owners}}))
    before = dict(other.objects)

    other.play("rolloutFailed")

    assert other.state == "rolloutFailed"
    assert other.objects == before
    assert "has a controller owner" in other.condition("RolloutFailed")[1]


@pytest.mark.parametrize("name", ["d1", "d2"])
def test_somebody_who_scales_ends_the_attempt_and_is_not_written_against(name: str) -> None:
    cluster = a_pair()
    cluster.autoscalers = {name: "hpa"}
    cluster.play_to("batchVerifying", 1)

    cluster.scale(name, 9)
    cluster.play("rolloutFailed")

    assert cluster.state == "rolloutFailed"
    assert cluster.size(name) == 9
    status, message = cluster.condition("BatchVerifying")
    assert status == "False"
    assert "hpa" in message
    assert "9" in message
    assert cluster.owners("d1") == cluster.owners("d2") == []
    assert "AutoscalerActive" in cluster.reasons()


def test_a_workload_that_is_deleted_is_waited_for() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    kept = cluster.objects.pop("d1")

    cluster.play(most=3)
    assert cluster.condition("RolloutInProgress") == ("False", "the Deployment d1 is not there")
    assert cluster.size("d2") == 1
    cluster.put(*kept)
    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


def test_batches_that_are_removed_behind_the_webhook_end_the_attempt() -> None:
    """R-6."""
    cluster = a_pair()
    cluster.play_to("batchReady", 1)

    cluster.edit(rolloutBatches=[{"replicas": 5}])
    cluster.play("rolloutFailed")

    assert cluster.state == "rolloutFailed"
    assert "the plan ends with batch 0" in cluster.condition("BatchReady")[1]


@pytest.mark.parametrize("make", [a_pair, a_clone_set])
@pytest.mark.parametrize("gate", [None, 1])
@pytest.mark.parametrize("place", ["batchVerifying", "batchFinalizing", "batchReady"])
def test_a_batch_that_is_made_larger_once_it_is_rolled_ends_the_attempt(
    place: str, gate: int | None, make: Callable[[Json], Cluster]
) -> None:
    """R-6: nobody would bring the pods that it lacks, and so nobody waits for them."""
    cluster = make({"rolloutBatches": [{"replicas": 1}, {"replicas": 2}, {}], "lastBatchToRollout": gate})
    cluster.play_to(place, 1)

    cluster.edit(rolloutBatches=[{"replicas": 1}, {}])
    cluster.play("rolloutFailed")

    assert cluster.state == "rolloutFailed"
    assert cluster.condition("RolloutFailed")[1]


def test_a_gate_that_is_opened_says_who_keeps_the_batch_from_its_approval() -> None:
    """R-21: sizes that somebody changed fail nothing there, and nobody writes against them."""
    cluster = a_pair({"lastBatchToRollout": 0})
    cluster.play(most=60)
    cluster.scale("d1", 8)
    cluster.settle()

    cluster.edit(lastBatchToRollout=2)
    cluster.run()

    said = "the sources have 8 pods, and go to 4: the source Deployment d1 has 8 replicas; expected: 4"
    assert cluster.condition("BatchReady") == ("False", f"{said}; put it back, or stop the rollout")
    cluster.scale("d1", 4)
    cluster.settle()
    cluster.play("rolloutSucceed")
    assert cluster.state == "rolloutSucceed"


def test_batches_behind_the_partition_may_be_others() -> None:
    cluster = a_pair({"rolloutBatches": [{"replicas": 2}, {"replicas": 2}, {"replicas": 1}], "lastBatchToRollout": 0})
    cluster.play(most=40)

    cluster.edit(rolloutBatches=[{"replicas": 2}, {"replicas": 1}, {"replicas": 2}], lastBatchToRollout=2)
    cluster.play("rolloutSucceed")

    assert cluster.sizes("d2") == [0, 2, 3, 5]
    assert cluster.rollout.effective_batches == (2, 1, 2)


def test_a_partition_that_is_lowered_ends_the_attempt() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)

    cluster.edit(lastBatchToRollout=0)
    cluster.play("rolloutFailed")

    assert "the partition is 0, but batch 1 is being rolled" in cluster.condition("BatchFinalizing")[1]


@pytest.mark.parametrize(
    "status",
    [
        {"rollingState": "rollingInBatches", "batchRollingState": "batchInRolling"},
        {"rollingState": "rollingInBatches", "batchRollingState": "batchReady", "targetGeneration": "a"},
        {"rollingState": "initializing", "targetGeneration": "a", "rolloutTargetSize": "x"},
        {
            "rollingState": "rollingInBatches",
            "batchRollingState": "batchInRolling",
            "targetGeneration": "a",
            "rolloutTargetSize": 5,
            "rolloutOriginalSize": 5,
            "currentBatch": -2,
        },
        {"rollingState": "locatingTargetApp"},
        {"rollingState": "rollingInBatches", "batchRollingState": "batchVerifyFailed", "targetGeneration": "a"},
    ],
)
def test_a_status_that_somebody_wrote_ends_the_attempt_and_moves_no_pod(status: Json) -> None:
    cluster = a_pair()
    cluster.status = status
    before = {name: cluster.size(name) for name in cluster.objects}

    cluster.play("rolloutFailed")

    assert cluster.state == "rolloutFailed"
    assert {name: cluster.size(name) for name in cluster.objects} == before
    cluster.delete()
    cluster.play()
    assert not cluster.is_there


def test_what_others_keep_in_the_status_stays() -> None:
    cluster = a_pair()
    cluster.status = {"LastSourceAppRevision": "kept"}

    cluster.play("rolloutSucceed")

    assert cluster.status["LastSourceAppRevision"] == "kept"
