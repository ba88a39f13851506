"""What people do to a rollout on its way (R-12 to R-15): other targets and sizes, and plans that cannot be kept."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.contracts.plans.kinds import Json
from fairlead.core.decision import Hold
from tests.contracts.plans.decide.cluster import Cluster, a_clone_set, a_pair
from tests.contracts.plans.decide.swapping import HOOK, states_of, swap
from tests.contracts.plans.decide.workloads.objects import merged


def crash(cluster: Cluster, name: str) -> None:
    """None of its pods is ready."""
    resource, tree = cluster.objects[name]
    cluster.put(resource, merged(tree, {"status": {"readyReplicas": 0}}))


def test_target_and_source_are_exchanged_in_mid_rollout() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)

    swap(cluster)
    cluster.play("rolloutAbandoned")
    assert cluster.condition("RolloutInProgress") == ("False", "Rollout Spec is modified")
    cluster.play("verifyingSpec")
    assert cluster.owners("d1") == cluster.owners("d2") == []
    cluster.play("rolloutSucceed")

    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    assert cluster.rollout.rollout_target_size == 5
    assert min(each.sizes["d1"] + each.sizes["d2"] for each in cluster.history) == 5


def test_they_are_exchanged_between_the_halves() -> None:
    """T is carried over, and ready pods never fall below it."""
    cluster = a_pair({"rolloutBatches": [{"replicas": 2}, {"replicas": 3}]})
    cluster.play_to("batchInRolling", 0)
    cluster.run()
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 2)
    cluster.settle(ready=False)

    swap(cluster)
    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"
    assert (cluster.size("d1"), cluster.size("d2"), cluster.rollout.rollout_target_size) == (5, 0, 5)
    assert all(each.sizes["d1"] == 5 for each in cluster.history)


def test_a_third_target_has_both_older_ones_as_sources() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 2)
    assert (cluster.size("d1"), cluster.size("d2")) == (2, 3)
    cluster.add_deployment("d3", 0, paused=True)

    cluster.change(targetRef=cluster.reference("d3"), sourceRef=[cluster.reference("d2")])
    cluster.play("rolloutSucceed")

    assert {name: cluster.size(name) for name in ("d1", "d2", "d3")} == {"d1": 0, "d2": 0, "d3": 5}
    sums = [sum(each.sizes.values()) for each in cluster.history if "d3" in each.sizes]
    assert min(sums) == 5
    emptied = [each.sizes for each in cluster.history if each.sizes["d2"] < 3 and "d3" in each.sizes]
    assert all(each["d1"] == 0 for each in emptied)


def test_a_third_target_takes_no_ready_pod_for_those_of_the_second_that_crash() -> None:
    """I-4: d1 has all its pods and d2 two that never become ready, so those are the two that are too many."""
    cluster = a_pair({"rolloutBatches": [{"replicas": 2}, {"replicas": 3}]})
    cluster.play_to("batchInRolling", 0)
    cluster.run()
    cluster.settle(ready=False)
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 2)
    cluster.add_deployment("d3", 0, paused=True)

    cluster.change(targetRef=cluster.reference("d3"), sourceRef=[cluster.reference("d2")])
    for _ in range(100):
        cluster.run()
        cluster.settle()
        crash(cluster, "d2")
        cluster.now += timedelta(seconds=5)

    assert cluster.state == "rolloutSucceed"
    assert min(each.sizes["d1"] + each.sizes.get("d3", 0) for each in cluster.history) == 5


def test_another_size_while_it_runs_abandons_the_attempt() -> None:
    cluster = a_pair({"targetSize": 5})
    cluster.play_to("batchReady", 0)

    cluster.edit(targetSize=6)
    cluster.play("rolloutSucceed")

    assert "rolloutAbandoned" in states_of(cluster)
    assert (cluster.size("d1"), cluster.size("d2")) == (0, 6)


@pytest.mark.parametrize("end", ["rolloutSucceed", "rolloutFailed"])
def test_the_same_names_again_change_nothing_after_the_end(end: str) -> None:
    """But that the status is about the spec as it is now: else nobody could tell that nothing begins again."""
    cluster = a_pair()
    if end == "rolloutFailed":
        cluster.play_to("batchInRolling", 1)
        cluster.ask("abort@2026-03-01T12:00:00Z")
    cluster.play(end)
    before, generation = cluster.status, cluster.meta.generation
    assert before["observedGeneration"] == generation

    cluster.edit(paused=True)
    cluster.play(most=3)

    assert cluster.status == {**before, "observedGeneration": generation + 1}


def test_a_new_target_after_the_end_starts_again() -> None:
    cluster = a_pair()
    cluster.play("rolloutSucceed")
    cluster.add_deployment("d3", 0, paused=True)

    cluster.change(targetRef=cluster.reference("d3"), sourceRef=[cluster.reference("d2")])
    cluster.run()
    assert (cluster.state, cluster.rollout.rollout_target_size, cluster.reasons()[-1]) == (
        "verifyingSpec",
        -1,
        "Rollout Restarted",
    )
    cluster.play("rolloutSucceed")

    assert cluster.size("d3") == 5


def test_scaling_again_after_the_end() -> None:
    cluster = Cluster({"targetSize": 3}, sources=())
    cluster.add_deployment("d2", 1)
    cluster.play("rolloutSucceed")

    for size in (7, 2):
        cluster.edit(targetSize=size)
        cluster.run()
        cluster.play("rolloutSucceed")
        assert cluster.size("d2") == size


def test_a_pair_is_scaled_again_after_its_end_in_batches_where_it_shrinks() -> None:
    """Its source is still named, and has no pods; what stops in the middle may be tried again."""
    cluster = a_pair({"targetSize": 5, "rolloutBatches": [{"replicas": "50%"}, {}]})
    cluster.play("rolloutSucceed")

    cluster.edit(targetSize=1)
    cluster.run()
    cluster.play_to("batchReady", 0)
    cluster.ask("abort@2026-03-01T12:00:00Z")
    cluster.play("rolloutFailed")
    assert (cluster.size("d1"), cluster.size("d2")) == (0, 3)
    cluster.ask("retry@2026-03-01T12:01:00Z")
    cluster.run()
    cluster.play("rolloutSucceed")

    assert cluster.sizes("d2")[-4:] == [5, 3, 2, 1]
    assert cluster.size("d1") == 0
    cluster.edit(targetSize=4)
    cluster.run()
    cluster.play("rolloutSucceed")
    assert (cluster.size("d1"), cluster.size("d2")) == (0, 4)
    assert cluster.owners("d1") == cluster.owners("d2") == []


def test_a_corrected_plan_starts_again_after_a_failed_verification() -> None:
    cluster = a_pair({"rolloutBatches": [{"replicas": each} for each in (1, "20%", "50%", 2)]}, old=6)
    before = (cluster.tree("d1"), cluster.tree("d2"))
    cluster.play("rolloutFailed")
    assert (cluster.tree("d1"), cluster.tree("d2")) == before
    assert cluster.condition("RolloutSpecVerifying") == (
        "False",
        "the rollout plan batch size mismatch, total batch size = 6, totalReplicas size = 6",
    )
    rests = cluster.run().verdict
    assert isinstance(rests, Hold)
    assert rests.again is None

    cluster.edit(rolloutBatches=[{"replicas": 1}, {}])
    cluster.run()
    cluster.play("rolloutSucceed")

    assert cluster.size("d2") == 6


def test_a_spec_that_cannot_be_read_moves_no_pod() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    before = (cluster.size("d1"), cluster.size("d2"))

    cluster.edit(rolloutBatches="many")
    cluster.play(most=3)
    assert (cluster.state, cluster.size("d1"), cluster.size("d2")) == ("rollingInBatches", *before)
    assert cluster.condition("RolloutInProgress")[1].startswith("spec.rolloutPlan.rolloutBatches: Invalid value")
    cluster.edit(rolloutBatches=[{"replicas": "10%"}, {"replicas": "40%"}, {"replicas": "50%"}])
    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"numBatches": "x"}, "must be a whole number"),
        ({"rolloutStrategy": "Sideways"}, "rolloutStrategy is Sideways: write IncreaseFirst or DecreaseFirst"),
        ({"lastBatchToRollout": 1, "batchPartition": 2}, "they are one field"),
        ({"canaryMetric": [{"name": "request-duration"}]}, "metricsRange: Required value: give min, max or both"),
        (
            {"canaryMetric": [{"name": "request-duration", "metricsRange": {"max": 500}}]},
            "read from --metrics-server, and this operator has none",
        ),
        ({"trafficRouting": {"provider": "istio"}}, "trafficRouting.ingressRef.name is missing"),
        ({"rolloutBatches": [{"replicas": "20"}, {}]}, 'rolloutBatches[0].replicas is "20"'),
    ],
)
def test_a_plan_that_cannot_be_kept_fails_before_anything_is_claimed(plan: Json, said: str) -> None:
    """I-12."""
    cluster = a_pair(plan)
    before = dict(cluster.objects)

    cluster.play("rolloutFailed")

    assert cluster.state == "rolloutFailed"
    assert said in cluster.condition("RolloutFailed")[1]
    assert cluster.objects == before
    assert cluster.reasons() == ["VerifyFailed"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sourceRef": [Cluster.reference("d2")]}, "is both source and target"),
        ({"sourceRef": [Cluster.reference("d1", "StatefulSet")]}, "must be a Deployment as the target is"),
        ({"targetRef": {**Cluster.reference("d2"), "namespace": "b"}}, "it must be in ns"),
        ({"targetRef": {"kind": "Deployment"}}, "is not supported"),
        ({"sourceRef": [{"name": "d1"}]}, "need apiVersion, kind and name"),
    ],
)
def test_references_are_looked_at_where_there_are_no_webhooks(change: Json, said: str) -> None:
    cluster = a_pair()
    cluster.spec |= change

    cluster.play("rolloutFailed")

    assert said in cluster.condition("RolloutFailed")[1]


def test_a_failed_clone_set_is_paused_where_it_stands() -> None:
    cluster = a_clone_set()
    cluster.play_to("batchVerifying", 1)

    cluster.scale("c", 6)
    cluster.play("rolloutFailed")

    assert cluster.tree("c")["spec"]["updateStrategy"] == {"paused": True, "partition": 2}
    assert cluster.owners("c") == []


def test_finalize_hooks_are_told_how_it_ends() -> None:
    cluster = a_pair({"rolloutWebhooks": [HOOK]})
    cluster.play_to("batchVerifying", 1)

    cluster.scale("d1", 9)
    cluster.play("rolloutFailed")

    assert [each["phase"] for each in cluster.calls] == ["rolloutFailing"]


def test_a_pass_at_rest_writes_nothing() -> None:
    """A rollout that waits in the same words stores nothing again."""
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    cluster.run()
    cluster.settle(ready=False)
    cluster.run()
    before = len(cluster.history)

    for _ in range(5):
        cluster.run()

    assert len(cluster.history) == before
