"""Going back when a rollout is deleted (V-1 to V-4 and V-6)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.contracts.plans.decide.workloads.reverts import NO_TEMPLATE
from fairlead.contracts.plans.kinds import Json
from fairlead.core.ask import Bad, Good
from kubeloop.objects.apps import STATEFULSETS
from tests.contracts.plans.decide.cluster import Cluster, Died, a_clone_set, a_pair
from tests.contracts.plans.decide.workloads.objects import merged, pod, stateful_set

REVERT: Json = {"revertOnDelete": True}


def _is_clean(cluster: Cluster) -> bool:
    return all(
        cluster.owners(name) == [] and not cluster.tree(name)["metadata"].get("annotations") for name in cluster.objects
    )


LAST: Json = {"type": "finalize-rollout", "name": "last", "url": "http://hooks/last"}


def _held_up_at_the_end(cluster: Cluster) -> None:
    """All pods are new and released, and the last hook refuses; it accepts what comes then."""
    cluster.hook = lambda _body, _call: Bad("http", code=500)
    cluster.play("finalising")
    cluster.play(most=4)
    assert _is_clean(cluster)
    cluster.hook = lambda _body, _call: Good(code=200)


@pytest.mark.parametrize("how", ["delete", "revert", "abort and delete"])
def test_v_1_what_was_released_before_its_last_hooks_goes_back_too(how: str) -> None:
    cluster = a_pair({**REVERT, "rolloutWebhooks": [LAST]})
    _held_up_at_the_end(cluster)

    if how == "revert":
        cluster.ask("revert@2026-03-01T00:00:00Z")
    if how == "abort and delete":
        cluster.ask("abort@2026-03-01T00:00:00Z")
        cluster.play("rolloutFailed")
        assert (cluster.size("d1"), cluster.size("d2")) == (0, 5)
    if how != "revert":
        cluster.delete()
    cluster.play()

    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    assert _is_clean(cluster)
    assert cluster.reasons().count("Rollout Reverted") == 1


def test_what_somebody_changed_after_its_release_stays() -> None:
    cluster = a_pair({**REVERT, "rolloutWebhooks": [LAST]})
    _held_up_at_the_end(cluster)
    cluster.scale("d1", 1)
    cluster.scale("d2", 7)

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    assert (cluster.size("d1"), cluster.size("d2")) == (1, 7)


@pytest.mark.parametrize(
    "place", [("batchInitializing", 0), ("batchInRolling", 1), ("batchVerifying", 1), ("batchFinalizing", 2)]
)
def test_v_2_the_old_pods_are_there_before_the_new_ones_go(place: tuple[str, int]) -> None:
    cluster = a_pair(REVERT)
    cluster.play_to(*place)

    cluster.delete()
    began = len(cluster.history)
    cluster.play()

    assert not cluster.is_there
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    for each in cluster.history[began:]:
        assert each.sizes["d2"] == cluster.history[began].sizes["d2"] or each.sizes["d1"] == 5
    assert _is_clean(cluster)
    assert cluster.reasons().count("Rollout Reverted") == 1


def test_v_2_pods_that_are_not_ready_keep_the_new_ones() -> None:
    cluster = a_pair(REVERT)
    cluster.play_to("batchInRolling", 2)
    cluster.delete()

    cluster.play(most=10, ready=False)
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 3)
    assert cluster.condition("RolloutDeleting") == (
        "False",
        "2 of 5 pods of the Deployment d1 are ready, and new pods stay until then",
    )
    cluster.now += timedelta(minutes=10)
    cluster.play(ready=False)

    assert not cluster.is_there
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 3)
    (told,) = (each for each in cluster.told if each.reason == "Rollout Reverted")
    assert told.warning
    assert told.text.startswith("incomplete: 2 of 5 pods")
    assert _is_clean(cluster)


def test_v_2_with_decrease_first_the_target_goes_first() -> None:
    cluster = a_pair({**REVERT, "rolloutStrategy": "DecreaseFirst"})
    cluster.play_to("batchInRolling", 2)

    cluster.delete()
    cluster.play()

    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    assert max(each.sizes["d1"] + each.sizes["d2"] for each in cluster.history) == 5


def test_v_1_a_failed_rollout_goes_back_too() -> None:
    cluster = a_pair({**REVERT, "progressDeadlineSeconds": 30})
    cluster.play_to("batchInRolling", 1)
    cluster.play("rolloutFailed", ready=False)
    assert (cluster.size("d1"), cluster.size("d2")) == (4, 3)
    assert cluster.owners("d1") == []

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    assert _is_clean(cluster)


@pytest.mark.parametrize("until", ["rolloutSucceed", "verifyingSpec"])
def test_v_1_a_success_and_a_verification_have_nothing_to_go_back_from(until: str) -> None:
    cluster = a_pair(REVERT)
    cluster.play(until)
    before = {name: cluster.size(name) for name in cluster.objects}

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    assert {name: cluster.size(name) for name in cluster.objects} == before


def test_v_1_what_was_never_claimed_stays() -> None:
    hook = {"type": "initialize-rollout", "name": "h", "url": "http://hooks"}
    cluster = a_pair({**REVERT, "rolloutWebhooks": [hook]})
    cluster.scale("d2", 4)
    cluster.settle()
    cluster.hook = lambda _body, _call: Bad("failed", code=500)
    cluster.play(most=6)

    cluster.delete()
    cluster.play()

    assert (cluster.state, cluster.is_there, cluster.size("d2")) == ("RolloutDeletingState", False, 4)


def test_v_2_a_pair_that_was_turned_round_goes_back_to_before_the_first_attempt() -> None:
    cluster = a_pair(REVERT)
    cluster.play_to("batchInRolling", 2)
    cluster.change(targetRef=cluster.reference("d1"), sourceRef=[cluster.reference("d2")])
    cluster.play("verifyingSpec")
    cluster.play_to("batchInitializing", 1)

    cluster.delete()
    cluster.play()

    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    assert min(each.sizes["d1"] + each.sizes["d2"] for each in cluster.history) == 5


def test_a_note_that_a_rollout_of_before_left_does_not_count() -> None:
    cluster = a_pair(REVERT)
    resource, tree = cluster.objects["d1"]
    note = {"app.oam.dev/rollout-original": '{"replicas":1}'}
    cluster.put(resource, merged(tree, {"metadata": {"annotations": note}}))
    cluster.play_to("batchInRolling", 1)

    cluster.delete()
    cluster.play()

    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    assert _is_clean(cluster)


def test_nor_does_it_count_for_a_later_attempt() -> None:
    """Of 8 pods the revert left 5, which is what another rollout had found there."""
    cluster = a_pair(REVERT, old=8)
    resource, tree = cluster.objects["d1"]
    note = {"app.oam.dev/rollout-original": '{"replicas":5}'}
    cluster.put(resource, merged(tree, {"metadata": {"annotations": note}}))
    cluster.add_deployment("d3", 0, paused=True)
    cluster.play_to("batchInRolling", 1)
    cluster.change(targetRef=cluster.reference("d3"))
    cluster.play("verifyingSpec")
    cluster.play_to("batchInRolling", 1)

    cluster.delete()
    cluster.play()

    assert [cluster.size(name) for name in ("d1", "d2", "d3")] == [8, 0, 0]
    assert _is_clean(cluster)


def test_another_rollouts_workload_is_left_alone() -> None:
    cluster = a_pair({**REVERT, "progressDeadlineSeconds": 30})
    cluster.play_to("batchInRolling", 1)
    cluster.play("rolloutFailed", ready=False)
    other = {"apiVersion": "v1", "kind": "RolloutTrait", "name": "x", "uid": "uid-x", "controller": True}
    resource, tree = cluster.objects["d1"]
    cluster.put(resource, merged(tree, {"metadata": {"ownerReferences": [other]}}))

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    assert (cluster.size("d1"), cluster.size("d2")) == (4, 3)
    (told,) = (each for each in cluster.told if each.reason == "Rollout Reverted")
    assert "has a controller owner" in told.text


def test_v_3_a_clone_set_keeps_all_pods_old() -> None:
    cluster = a_clone_set(REVERT)
    cluster.play_to("batchVerifying", 1)

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    assert cluster.tree("c")["spec"]["updateStrategy"] == {"paused": False, "partition": 5}
    assert _is_clean(cluster)


def test_v_6_a_scale_goes_back() -> None:
    cluster = Cluster({"targetSize": 9, "numBatches": 3, **REVERT}, sources=())
    cluster.add_deployment("d2", 3)
    cluster.play_to("batchReady", 1)

    cluster.delete()
    cluster.play()

    assert (cluster.is_there, cluster.size("d2")) == (False, 3)


def test_a_stateful_set_is_released_with_a_warning() -> None:
    cluster = Cluster({"rolloutBatches": [{"replicas": 1}, {}], **REVERT}, sources=())
    cluster.spec["targetRef"] = cluster.reference("s", "StatefulSet")
    cluster.put(STATEFULSETS, stateful_set(4, partition=4).tree)
    cluster.pods = [pod(f"s-{place}", "old", of="s") for place in range(4)]
    cluster.play_to("batchVerifying", 0)

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    assert cluster.tree("s")["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 3}
    assert [(each.warning, each.text) for each in cluster.told if each.reason == "Rollout Reverted"] == [
        (True, NO_TEMPLATE)
    ]


def test_a_revert_does_not_begin_twice() -> None:
    """While the last hook refuses, somebody scales: that is theirs by then."""
    hook = {"type": "finalize-rollout", "name": "h", "url": "http://hooks"}
    cluster = a_pair({**REVERT, "rolloutWebhooks": [hook]})
    cluster.play_to("batchInRolling", 2)
    cluster.hook = lambda _body, _call: Bad("failed", code=500)
    cluster.delete()
    while not cluster.calls:
        cluster.run()
        cluster.settle()

    cluster.scale("d1", 2)
    cluster.hook = lambda _body, _call: Good(code=200)
    cluster.play()

    assert (cluster.is_there, cluster.size("d1"), cluster.size("d2")) == (False, 2, 0)


def _reverted(cluster: Cluster) -> None:
    while cluster.is_there:
        if cluster.rollout.current_batch == 2 and cluster.meta.deletion_timestamp is None:
            cluster.delete()
        cluster.run()
        cluster.settle()


def test_a_process_that_dies_while_it_goes_back_changes_nothing() -> None:
    """L-4."""
    undisturbed = a_pair(REVERT)
    _reverted(undisturbed)
    for writes in range(len(undisturbed.history)):
        cluster = a_pair(REVERT)
        cluster.writes_left = writes
        with pytest.raises(Died):
            _reverted(cluster)
        cluster.writes_left = None
        cluster.settle()
        _reverted(cluster)

        assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
        assert _is_clean(cluster)
        assert min(each.sizes["d1"] + each.sizes["d2"] for each in cluster.history) == 5
