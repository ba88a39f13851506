"""When traffic goes back (V-2, X-1, L-2): before the pods that it went to, and never in the way of a deletion."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.contracts.plans.kinds import Json
from tests.contracts.plans.decide.traffic.routed_cluster import a_routed_pair

BACK: Json = {"onFailure": "revert", "progressDeadlineSeconds": 60}


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_v_2_traffic_goes_back_before_the_new_pods_go(batch: int) -> None:
    cluster = a_routed_pair({"revertOnDelete": True})
    cluster.play_to("batchVerifying", batch)

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    assert (cluster.share, cluster.size("d1"), cluster.size("d2")) == ((0,), 5, 0)
    assert cluster.lost == []


def test_x_1_after_a_failure_traffic_goes_back_by_itself() -> None:
    cluster = a_routed_pair(BACK)
    cluster.play_to("batchInRolling", 1)

    cluster.play("rolloutFailing", ready=False)
    cluster.play("rolloutFailed")

    assert (cluster.state, cluster.share, cluster.rollout.traffic_weight) == ("rolloutFailed", (0,), 0)
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    assert cluster.reasons().count("Rollout Reverted") == 1


def test_r_32_a_failure_leaves_traffic_as_it_is() -> None:
    cluster = a_routed_pair({"progressDeadlineSeconds": 60})
    cluster.play_to("batchInRolling", 1)

    cluster.play("rolloutFailed", ready=False)

    assert (cluster.state, cluster.share) == ("rolloutFailed", (20,))


def test_v_2_with_decrease_first_traffic_goes_back_first() -> None:
    cluster = a_routed_pair({"revertOnDelete": True, "rolloutStrategy": "DecreaseFirst"})
    cluster.play_to("batchVerifying", 1)

    cluster.delete()
    cluster.play()

    assert (cluster.is_there, cluster.share, cluster.lost) == (False, (0,), [])


def test_v_2_a_route_that_cannot_go_back_keeps_the_new_pods_for_ten_minutes() -> None:
    cluster = a_routed_pair({"revertOnDelete": True})
    cluster.play_to("batchVerifying", 1)
    cluster.silent = {"shop-v1"}
    cluster.delete()

    cluster.play(most=20)
    assert (cluster.is_there, cluster.share, cluster.size("d2")) == (True, (60,), 3)
    cluster.now += timedelta(minutes=10)
    cluster.play()

    assert (cluster.is_there, cluster.share, cluster.size("d2")) == (False, (60,), 3)
    (told,) = (each.text for each in cluster.told if each.reason == "Rollout Reverted")
    assert told == "incomplete: waiting for an endpoint of the Service shop-v1 to become ready"


def test_l_2_a_route_that_is_gone_holds_up_no_deletion() -> None:
    cluster = a_routed_pair({"revertOnDelete": True})
    cluster.play_to("batchVerifying", 1)
    cluster.route = None

    cluster.delete()
    cluster.play()

    assert (cluster.is_there, cluster.size("d1"), cluster.size("d2")) == (False, 5, 0)


@pytest.mark.parametrize("place", [("batchInRolling", 1), ("batchVerifying", 1), ("batchInRolling", 2)], ids=str)
def test_a_rollout_that_is_turned_round_gives_the_old_pods_no_less_than_they_have(place: tuple[str, int]) -> None:
    cluster = a_routed_pair()
    cluster.play_to(*place)
    (begun,) = cluster.share

    cluster.exchange()
    cluster.play("rolloutSucceed")

    assert (cluster.state, cluster.share, cluster.size("d1"), cluster.size("d2")) == ("rolloutSucceed", (0,), 5, 0)
    assert max(each[0] for each in cluster.shares[-3:]) <= begun
    assert cluster.lost == []


@pytest.mark.parametrize("passes", range(24))
def test_v_2_a_rollout_that_was_turned_round_goes_back_to_its_first_route(passes: int) -> None:
    """Also where it is deleted before the new plan is seen, or while the old attempt is released.

    What is not verified yet has nothing to go back from (V-1).
    """
    cluster = a_routed_pair({"revertOnDelete": True})
    cluster.play_to("batchVerifying", 1)
    cluster.exchange()
    cluster.play(most=passes)
    is_unverified = cluster.state == "verifyingSpec"

    cluster.delete()
    cluster.play()

    left = ((60,), 2, 3) if is_unverified else ((0,), 5, 0)
    assert (cluster.share, cluster.size("d1"), cluster.size("d2")) == left
    assert cluster.lost == []
