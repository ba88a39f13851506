"""The review of evictions: which are let go, what is recorded, and what is asked (section 6.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.evictions import EvictionSnapshot, contested, judge, outpaced
from fairlead.contracts.leaderworker.kinds import (
    DISRUPTION_BUDGET,
    GROUP_INDEX,
    NAME,
)
from fairlead.core.ask import (
    Ask,
    Bad,
    Good,
    Listing,
    Read,
    ReadRecord,
    SwapRecord,
)
from fairlead.core.decision import Admit
from fairlead.core.eviction_record import KEPT
from kubeloop.objects.meta import OwnerReference
from kubeloop.objects.review import NOTHING
from tests.contracts.leaderworker.decide.evicting import RECORD, Live, a_member, an_eviction
from tests.contracts.leaderworker.decide.rounds import NOW, going
from tests.contracts.leaderworker.decide.some import a_set


def test_all_pods_of_one_group_may_go_and_none_of_another() -> None:
    live = Live()

    first, same, other = live.evict("a-1"), live.evict("a-1-1"), live.evict("a-0-1")

    assert (first.allowed, same.allowed) == (True, True)
    assert live.marked == ["a-1", "a-1-1"]
    assert (other.allowed, other.code) == (False, 429)
    assert other.message == (
        "group 1 of LeaderWorkerSet a is disturbed, and evictions may disturb 1 at once; try again when it is ready"
    )


def test_two_groups_may_be_disturbed_where_the_set_says_so() -> None:
    live = Live(asked="2", replicas=4)

    found = [live.evict(name).allowed for name in ("a-3", "a-0-1", "a-2", "a-0")]

    assert found == [True, True, False, True]
    assert live.evict("a-1").message.startswith("groups 0, 3 of LeaderWorkerSet a are disturbed")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda live: live.put(a_member(2, 1, ready=False)), id="not ready"),
        pytest.param(lambda live: live.put(going(a_member(2, 1))), id="going"),
        pytest.param(lambda live: live.put(a_member(2, 0, phase="Pending", ready=False)), id="pending"),
        pytest.param(lambda live: live.pods.pop("a-2-1"), id="worker missing"),
        pytest.param(lambda live: live.pods.pop("a-2"), id="leader missing"),
        pytest.param(lambda live: [live.pods.pop(name) for name in ("a-2", "a-2-1")], id="group missing"),
        pytest.param(lambda live: live.put(a_member(3, ready=False)), id="surge not ready"),
    ],
)
def test_a_group_that_is_away_counts_whatever_took_it_away(change: Callable[[Live], object]) -> None:
    live = Live()
    change(live)

    assert live.evict("a-0").code == 429
    assert live.marked == []


def test_the_rest_of_a_group_that_is_away_may_go() -> None:
    live = Live()
    live.put(a_member(2, 1, ready=False))

    assert live.evict("a-2").allowed
    assert live.marked == ["a-2"]


def test_a_mark_counts_until_its_pod_was_replaced() -> None:
    live = Live()
    live.evict("a-1")

    assert live.evict("a-0", after=60).code == 429
    live.put(a_member(1, uid="the next"))
    assert live.evict("a-0", after=60).allowed


def test_a_mark_of_an_eviction_that_never_came_ends() -> None:
    live = Live()
    live.evict("a-1")

    assert live.evict("a-0", after=KEPT.total_seconds() + 1).allowed


@pytest.mark.parametrize("hour", [-3600.0, 3600.0])
def test_replicas_whose_times_of_day_differ_count_what_the_other_let_go(hour: float) -> None:
    live = Live()
    live.age = 0.0
    assert live.evict("a-0").allowed

    verdicts = [live.evict("a-1", after=hour)]
    live.age = KEPT.total_seconds()
    verdicts.append(live.evict("a-1", after=hour))

    assert [each.allowed for each in verdicts] == [False, True]


def test_of_two_that_count_at_the_same_time_one_begins_anew_and_is_denied() -> None:
    live, other = Live(), Live()
    other.records = live.records
    raced = False

    def refuse(question: Ask) -> Bad | None:
        nonlocal raced
        if isinstance(question.to, SwapRecord) and not raced:
            raced = True
            assert other.evict("a-1").allowed
        return None

    live.refuse = refuse

    assert live.evict("a-0").code == 429
    assert live.marked == ["a-1"]


def test_a_pod_that_is_going_already_is_not_recorded() -> None:
    live = Live()
    live.put(going(a_member(2, 1)))

    assert live.evict("a-2-1").allowed
    assert live.marked == []


@pytest.mark.parametrize("review", [{"dry_run": True}, {"eviction": {"deleteOptions": {"dryRun": ["All"]}}}])
def test_a_trial_is_judged_and_leaves_no_trace(review: dict[str, Any]) -> None:
    live = Live()

    assert live.evict("a-0", **review).allowed
    assert live.records == {}
    live.evict("a-0")
    assert live.evict("a-1", **review).code == 429


@pytest.mark.parametrize("asked", [None, "none", "3"])
def test_a_set_without_a_budget_costs_no_call(asked: str | None) -> None:
    live = Live(asked=asked)

    assert live.evict("a-0").allowed
    assert live.asked == []


def test_a_pod_of_no_set_costs_one_call() -> None:
    live = Live()
    live.put(replace(a_member(0), metadata=replace(a_member(0).metadata, name="other", labels={})))

    assert live.evict("other", cached=False).allowed
    assert len(live.asked) == 1


def test_what_the_cache_does_not_show_is_read() -> None:
    live = Live()
    live.evict("a-1", cached=False)

    assert live.marked == ["a-1"]
    assert live.evict("a-0", cached=False).code == 429


def test_a_pod_that_is_gone_is_left_to_the_api_server() -> None:
    live = Live()

    assert live.evict("a-7", cached=False).allowed
    seen = EvictionSnapshot(an_eviction("a-7"), a_member(7), live.set)
    assert live.settle(seen).allowed
    assert live.marked == []


def test_a_namespace_of_somebody_else_is_not_looked_into() -> None:
    assert judge(EvictionSnapshot(an_eviction("a-0"), is_watched=False), NOW) == Admit(
        allowed=True, word="pod-not-in-scope"
    )


def test_pods_of_others_with_the_labels_count_for_nothing() -> None:
    live = Live()
    stranger = a_member(1, 7, ready=False, owner=OwnerReference("ReplicaSet", "x", "uid", controller=True))
    live.put(stranger)

    assert live.evict(stranger.metadata.name).allowed
    assert live.evict("a-0").allowed
    assert live.marked == ["a-0"]


def test_an_index_that_is_none_makes_a_pod_nobodys() -> None:
    live = Live()
    broken = replace(a_member(1), metadata=replace(a_member(1).metadata, labels={NAME: "a", GROUP_INDEX: "x"}))
    live.put(broken)

    assert live.evict("a-1").allowed
    assert live.marked == []


def test_a_set_that_is_going_or_gone_bounds_nothing() -> None:
    live = Live()
    seen = EvictionSnapshot(an_eviction("a-0"), live.pods["a-0"], live.set)
    assert live.set is not None
    live.set = replace(live.set, metadata=replace(live.set.metadata, deletion_timestamp=NOW))
    assert live.settle(seen).allowed

    live.set = None
    assert live.settle(seen).allowed
    assert live.marked == []


@pytest.mark.parametrize("unread", [Read, Listing, ReadRecord, SwapRecord])
def test_what_cannot_be_read_or_recorded_lets_nobody_go(unread: type) -> None:
    live = Live()
    live.refuse = lambda question: Bad("failed", "no", 500) if isinstance(question.to, unread) else None

    found = live.evict("a-0")

    assert (found.allowed, found.code, found.level) == (False, 500, "warn")
    assert found.message.endswith("could not be read or written: no; try again")


@pytest.mark.parametrize("value", [b"[]", b"null", b"{", b'{"items":null}', b"\xff"])
def test_garbage_lets_nobody_go(value: bytes) -> None:
    live = Live()
    answer = live.answer
    live.answer = lambda question: (  # type: ignore[method-assign]
        Good(value) if isinstance(question, Ask) and isinstance(question.to, Listing) else answer(question)
    )

    assert live.evict("a-0").code == 500


@pytest.mark.parametrize("change", [{"operation": "UPDATE"}, {"sub_resource": ""}, {"name": ""}, {"object": NOTHING}])
def test_what_is_no_eviction_of_a_named_pod_is_refused(change: dict[str, Any]) -> None:
    found = Live().settle(EvictionSnapshot(replace(an_eviction("a-0"), **change), a_member(0), a_set()))

    assert found.code == (0 if "object" in change else 400)


def test_evictions_of_one_set_take_turns_and_others_do_not() -> None:
    live = Live()
    seen = EvictionSnapshot(an_eviction("a-0"), live.pods["a-0"], live.set)

    assert contested(seen) == RECORD
    assert contested(replace(seen, review=an_eviction("a-0", dry_run=True))) == ""
    assert contested(replace(seen, set=None)) == ""
    assert contested(replace(seen, pod=going(a_member(0)))) == ""
    assert contested(replace(seen, set=a_set())) == ""
    assert outpaced(seen).code == 429


def test_the_budget_of_a_set_that_is_left_alone_is_none() -> None:
    live = Live(a_member(0), a_member(0, 1))
    live.set = a_set(replicas=2**31 - 1, annotations={DISRUPTION_BUDGET: "1"})

    assert live.evict("a-0").allowed
    assert live.marked == []
