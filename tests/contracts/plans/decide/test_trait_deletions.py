"""Rollouts that are deleted on their way (R-12 to R-15): what is released, and what holds that up."""

from __future__ import annotations

import pytest

from fairlead.core.ask import Bad
from tests.contracts.plans.decide.cluster import a_pair
from tests.contracts.plans.decide.swapping import HOOK, states_of, swap
from tests.contracts.plans.decide.workloads.objects import merged


def test_a_modification_during_deletion_is_ignored() -> None:
    """R-13."""
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    cluster.delete()
    cluster.run()

    swap(cluster)
    cluster.play()

    assert not cluster.is_there
    assert "rolloutAbandoned" not in states_of(cluster)


@pytest.mark.parametrize(
    "place", [("batchInitializing", 0), ("batchInRolling", 1), ("batchVerifying", 1), ("batchReady", 1)]
)
def test_deleting_releases_and_leaves_sizes_as_they_are(place: tuple[str, int]) -> None:
    cluster = a_pair()
    cluster.play_to(*place)
    before = {name: cluster.size(name) for name in cluster.objects}

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    assert {name: cluster.size(name) for name in cluster.objects} == before
    for name in cluster.objects:
        assert cluster.owners(name) == []
        assert "app.oam.dev/rollout-original" not in cluster.tree(name)["metadata"].get("annotations", {})
    assert cluster.reasons()[-1] == "Rollout Deleted"


def test_deleting_before_or_after_the_work_takes_one_pass() -> None:
    fresh, done = a_pair(), a_pair()
    fresh.run()
    done.play("rolloutSucceed")

    for cluster in (fresh, done):
        cluster.delete()
        cluster.run()
        assert not cluster.is_there


def test_deletion_does_not_wait_for_what_is_gone() -> None:
    """R-15 and R-27: workloads that are gone, and hooks that never answer."""
    cluster = a_pair({"rolloutWebhooks": [HOOK]})
    cluster.play_to("batchInRolling", 1)
    cluster.hook = lambda _body, _call: Bad("unreachable", "nobody listens")
    cluster.delete()
    cluster.objects.clear()

    cluster.play(most=12)

    assert not cluster.is_there
    assert {each["phase"] for each in cluster.calls} == {"RolloutDeletingState"}
    assert len(cluster.calls) >= 3


def test_hooks_that_refuse_in_other_words_each_time_do_not_hold_up_a_deletion() -> None:
    cluster = a_pair({"rolloutWebhooks": [HOOK]})
    cluster.play_to("batchInRolling", 1)
    cluster.hook = lambda _body, _call: Bad("failed", code=400 + len(cluster.calls))
    cluster.delete()

    cluster.play(most=12)

    assert not cluster.is_there


def test_whatever_wakes_a_rollout_a_refusal_counts_once_in_five_seconds() -> None:
    cluster = a_pair({"rolloutWebhooks": [HOOK]})
    cluster.play_to("batchInRolling", 1)
    cluster.hook = lambda _body, _call: Bad("failed", code=500)
    cluster.delete()
    cluster.run()
    cluster.run()

    for _ in range(9):
        cluster.run()

    assert cluster.rollout.hook_failures == 1


def test_a_rollout_that_was_stripped_by_hand_is_finished_by_another() -> None:
    """The garbage collector took the claims; guard and note are still there."""
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    again = a_pair()
    for resource, tree in cluster.objects.values():
        owners = [each for each in tree["metadata"]["ownerReferences"] if each["kind"] == "Namespace"]
        again.put(resource, merged(tree, {"metadata": {"ownerReferences": owners}}))

    again.play("rolloutSucceed")

    assert (again.size("d1"), again.size("d2")) == (0, 5)
    assert again.owners("d1") == again.owners("d2") == []
