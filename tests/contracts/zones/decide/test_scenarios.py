"""The acceptance scenarios of the contract that are about rolling, on pure snapshots."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.core.decision import Hold, Move
from fairlead.core.reason import Reason
from tests.builders import a_pod, a_zone, body_of, pods_of, seen, waiting
from tests.contracts.zones.decide.judging import completed, deleted, settled, waits_for


def test_1_by_default_one_pod_of_the_first_zone_goes() -> None:
    a, b = a_zone("a"), a_zone("b")

    decision = settled(seen(b, a, pods_of(b), pods_of(a)))

    assert deleted(decision) == ["a-0"]
    assert not decision.verdict.reason.fails


def test_2_a_budget_of_two_lets_two_pods_go_in_one_pass() -> None:
    a, b = a_zone("a", max_unavailable="2"), a_zone("b")

    assert deleted(settled(seen(a, b, pods_of(a), pods_of(b)))) == ["a-0", "a-1"]


def test_3_pods_go_in_natural_order() -> None:
    a = a_zone("a", 12, max_unavailable="3")

    assert deleted(settled(seen(a, pods_of(a)))) == ["a-0", "a-1", "a-2"]


def test_4_a_pod_that_is_not_ready_uses_budget_and_its_zone_goes_first() -> None:
    a = a_zone("a", current="new")
    b = a_zone("b", ready=2, max_unavailable="2")

    decision = settled(seen(a, b, pods_of(a, "new"), pods_of(b, _2="notReady")))

    assert deleted(decision) == ["b-0"]


def test_4_the_zone_that_is_not_ready_goes_before_one_that_sorts_first_and_is_outdated() -> None:
    a, b = a_zone("a"), a_zone("b", ready=2, max_unavailable="2")

    assert deleted(settled(seen(a, b, pods_of(a), pods_of(b, _2="notReady")))) == ["b-0"]


def test_5_with_two_zones_not_ready_nothing_goes_and_both_are_named() -> None:
    a, b, c = a_zone("a", ready=2), a_zone("b", ready=2), a_zone("c")

    decision = settled(seen(a, b, c, pods_of(a, _0="notReady"), pods_of(b, _0="notReady"), pods_of(c)))

    assert waits_for(decision) is Reason.ZONES_NOT_READY
    assert not decision.verdict.reason.fails
    assert decision.tell == (), "they may become ready by themselves"


def test_5_two_zones_whose_pods_do_not_become_ready_block_and_both_are_told() -> None:
    a, b, c = a_zone("a", ready=2), a_zone("b", ready=2), a_zone("c")

    decision = settled(seen(a, b, c, pods_of(a, _0="stuck"), pods_of(b, _0="stuck"), pods_of(c)))

    assert decision.verdict == Hold(Reason.TWO_ZONES_NOT_READY)
    assert not decision.verdict.reason.fails
    assert [(tell.about.name[-1], tell.warning, tell.reason) for tell in decision.tell] == [
        ("a", True, "RolloutBlocked"),
        ("b", True, "RolloutBlocked"),
    ]
    assert all("ingester-zone-a" in tell.text and "ingester-zone-b" in tell.text for tell in decision.tell)


def test_6_terminating_pods_count_before_the_status_shows_them() -> None:
    a, b = a_zone("a"), a_zone("b")

    decision = settled(seen(a, b, pods_of(a, _0="terminating"), pods_of(b, _2="terminating")))

    assert waits_for(decision) is Reason.ZONES_NOT_READY


def test_7_a_missing_pod_counts_before_the_status_shows_it() -> None:
    a, b = a_zone("a"), a_zone("b")

    decision = settled(seen(a, b, pods_of(a, "new", _1="missing"), pods_of(b)))

    assert decision.verdict == Hold(Reason.POD_MISSING)


def test_8_one_zone_of_another_strategy_stops_the_whole_group_and_fails_the_pass() -> None:
    a, b = a_zone("a"), a_zone("b", strategy="RollingUpdate")

    decision = settled(seen(a, b, pods_of(a), pods_of(b)))

    assert decision.verdict == Hold(Reason.WRONG_STRATEGY)
    assert decision.verdict.reason.fails
    assert [(tell.about.name, tell.reason) for tell in decision.tell] == [("ingester-zone-b", "RolloutBlocked")]
    assert "RollingUpdate" in decision.tell[0].text


def test_9_a_finished_zone_is_recorded_and_the_next_starts_in_the_same_pass() -> None:
    a, b = a_zone("a"), a_zone("b")

    decision = settled(seen(a, b, pods_of(a, "new"), pods_of(b)))

    assert isinstance(decision.verdict, Move)
    assert [type(write).__name__ for write in decision.verdict.writes] == ["Replace", "Delete"]
    assert (completed(decision), deleted(decision)) == (["a"], ["b-0"])


def test_9_the_record_changes_nothing_but_the_current_revision() -> None:
    a = a_zone("a")
    before = msgspec.json.decode(body_of(a))

    decision = settled(seen(a, pods_of(a, "new")))

    assert isinstance(decision.verdict, Move)
    (record,) = decision.verdict.writes
    after = msgspec.json.decode(record.body)  # type: ignore[union-attr]
    assert after.pop("status") == {**before.pop("status"), "currentRevision": "new"}
    assert after == before


def test_10_after_a_rollback_pods_of_the_abandoned_revision_go() -> None:
    a = a_zone("a", current="old", update="old")

    assert deleted(settled(seen(a, pods_of(a, "old", _1="ready new")))) == ["a-1"]


@pytest.mark.parametrize("text", ["abc", "0", "-3", "300%"])
def test_11_an_invalid_budget_lets_one_pod_go_with_a_warning(text: str) -> None:
    a = a_zone("a", max_unavailable=text)

    decision = settled(seen(a, pods_of(a)))

    assert deleted(decision) == ["a-0"]
    assert [(tell.about.name, tell.warning, tell.reason) for tell in decision.tell] == [
        ("ingester-zone-a", True, "InvalidAnnotation")
    ]
    assert text in decision.tell[0].text


def test_13_pods_of_nobody_in_the_group_are_never_touched() -> None:
    a, stranger = a_zone("a", current="new"), a_zone("stranger")

    decision = settled(seen(a, pods_of(a, "new"), pods_of(stranger)))

    assert decision.verdict == Hold(Reason.COMPLETE)


@pytest.mark.parametrize(("replicas", "text", "expected"), [(10, "25%", 2), (3, "50%", 1), (3, "300%", 1)])
def test_34_a_percentage_is_of_the_replicas_rounded_down(replicas: int, text: str, expected: int) -> None:
    a = a_zone("a", replicas, max_unavailable=text)

    assert deleted(settled(seen(a, pods_of(a)))) == [f"a-{i}" for i in range(expected)]


def test_35_a_paused_zone_is_left_alone_and_the_next_rolls() -> None:
    a, b = a_zone("a", paused="true"), a_zone("b")

    assert deleted(settled(seen(a, b, pods_of(a), pods_of(b)))) == ["b-0"]


def test_35_a_paused_zone_that_is_not_ready_holds_the_others_back() -> None:
    a, b = a_zone("a", paused="true"), a_zone("b")

    decision = settled(seen(a, b, pods_of(a, _1="notReady"), pods_of(b)))

    assert waits_for(decision) is Reason.PAUSED_ZONE_NOT_READY
    assert decision.tell == (), "it may become ready by itself"


def test_35_a_paused_zone_that_does_not_become_ready_blocks_the_others() -> None:
    a, b = a_zone("a", paused="true"), a_zone("b")

    decision = settled(seen(a, b, pods_of(a, _1="stuck"), pods_of(b)))

    assert decision.verdict == Hold(Reason.OTHER_ZONE_NOT_READY)
    assert [(tell.about.name, tell.reason) for tell in decision.tell] == [("ingester-zone-a", "RolloutBlocked")]
    assert "ingester-zone-b" in decision.tell[0].text


def test_40_a_stuck_pod_goes_though_no_budget_is_left_and_no_healthy_one_does() -> None:
    a = a_zone("a", ready=2)
    stuck = a_pod(a, 0, containers=(waiting("CrashLoopBackOff"),))

    assert deleted(settled(seen(a, stuck, pods_of(a)[1:]))) == ["a-0"]
