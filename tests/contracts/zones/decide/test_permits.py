"""The rollout asks the disruption budgets for every pod it deletes, and what it deletes counts for everybody else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide import Snapshot, decide
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.explain import explain
from fairlead.core.act import Delete
from fairlead.core.ask import (
    Answer,
    Answers,
    Ask,
    Bad,
    Listing,
    Need,
    Question,
    Read,
    ReadRecord,
    StartOver,
    SwapRecord,
)
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.eviction_record import KEPT
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from tests.builders import GROUP, NAMESPACE, NOW
from tests.contracts.zones.decide.evicting import (
    REGEX,
    Live,
    a_guard,
    a_guarded_pod,
    a_guarded_zone,
    changed,
    three_zones,
)
from tests.contracts.zones.decide.judging import deleted


def seen(live: Live, *guards: DisruptionBudget) -> Snapshot:
    return Snapshot(NAMESPACE, GROUP, tuple(live.zones.values()), tuple(live.pods.values()), budgets=guards)


def settled(live: Live, *guards: DisruptionBudget) -> tuple[Snapshot, Decision]:
    """The decision of a round, and what it was made of; what it deletes is only recorded, not deleted."""
    for _ in range(3):
        known: dict[Question, Answer] = {}
        for _ in range(8):
            snapshot = structs.replace(seen(live, *guards), answers=Answers(dict(known)))
            outcome = decide(snapshot, NOW)
            if not isinstance(outcome, Need):
                break
            known |= {question: live.answer(question) for stage in outcome.stages for question in stage}
        if isinstance(outcome, Decision):
            return snapshot, outcome
        assert isinstance(outcome, StartOver)
    raise AssertionError("it never settles")


def verdict(live: Live, *guards: DisruptionBudget) -> Decision:
    return settled(live, *guards)[1]


def outdated(max_unavailable: str = "2", **given: object) -> Live:
    """Three zones of three pods, all to be rolled."""
    return three_zones(3, max_unavailable=max_unavailable, **given)


def asked(live: Live, kind: type) -> int:
    return sum(isinstance(ask, Ask) and isinstance(ask.to, kind) for ask in live.asked)


def test_without_a_budget_nothing_more_is_asked() -> None:
    live = outdated()

    assert deleted(verdict(live)) == ["a-0", "a-1"]
    assert [type(ask.to) for ask in live.asked if isinstance(ask, Ask)] == [Read]


def test_pods_outside_of_all_budgets_cost_nothing_either() -> None:
    live = outdated()

    assert deleted(verdict(live, a_guard(labels={"app": "other"}))) == ["a-0", "a-1"]
    assert [type(ask.to) for ask in live.asked if isinstance(ask, Ask)] == [Read]


def test_what_the_budget_does_not_let_go_is_skipped_and_the_batch_is_not_refilled() -> None:
    live, guard = outdated("3"), a_guard(max_unavailable=2)

    assert deleted(verdict(live, guard)) == ["a-0", "a-1"]
    assert list(live.marked(guard)) == ["ingester-zone-a-0", "ingester-zone-a-1"]
    assert asked(live, SwapRecord) == 1


def test_the_record_is_read_before_the_lists() -> None:
    live = outdated()

    verdict(live, a_guard())

    kinds = [type(ask.to) for ask in live.asked if isinstance(ask, Ask)]
    assert kinds.index(ReadRecord) < kinds.index(Listing)


def test_an_eviction_in_another_zone_holds_the_rollout_until_it_is_forgotten() -> None:
    live, guard = outdated(), a_guard()
    assert live.evict("ingester-zone-b-0", guard).allowed

    snapshot, decision = settled(live, guard)

    held = decision.verdict
    assert isinstance(held, Hold)
    assert (held.reason, held.again) == (Reason.DISRUPTION_BUDGET, NOW + KEPT)
    blocks = explain(snapshot, decision, NOW).blocked_by
    assert [block.object for block in blocks] == ["pod/ingester-zone-a-0", "pod/ingester-zone-a-1"]
    assert "1 pod not ready in ingester-zone-b" in blocks[0].text


def test_an_eviction_in_the_same_zone_uses_the_same_budget() -> None:
    live, guard = outdated(), a_guard(max_unavailable=2)
    live.evict("ingester-zone-a-2", guard)

    assert deleted(verdict(live, guard)) == ["a-0"]


def test_what_the_rollout_deletes_counts_for_evictions() -> None:
    live, guard = outdated(), a_guard(max_unavailable=2)
    verdict(live, guard)

    denied = live.evict("ingester-zone-b-0", guard)

    assert denied.message == "2 pods not ready in ingester-zone-a"


def test_a_round_that_recorded_and_did_not_delete_may_try_again() -> None:
    live, guard = outdated(), a_guard(max_unavailable=2)

    assert deleted(verdict(live, guard)) == deleted(verdict(live, guard)) == ["a-0", "a-1"]


@pytest.mark.parametrize(
    ("regex", "expected"), [("", ["a-0", "a-1"]), (REGEX, ["a-0", "a-1"])], ids=["zone mode", "partition mode"]
)
def test_a_maximum_of_zero_is_for_others(regex: str, expected: list[str]) -> None:
    live, guard = outdated(), a_guard(max_unavailable=0, regex=regex)

    assert deleted(verdict(live, guard)) == expected
    assert live.evict("ingester-zone-a-0", guard).code == 403


def test_a_maximum_of_zero_in_partition_mode_is_one() -> None:
    live, guard = outdated(), a_guard(max_unavailable=0, regex=REGEX)
    live.evict("ingester-zone-b-1", a_guard(regex=REGEX))

    assert deleted(verdict(live, guard)) == ["a-0"]


def test_a_maximum_above_zero_is_never_overridden() -> None:
    assert deleted(verdict(outdated("3"), a_guard(max_unavailable=1))) == ["a-0"]


def test_two_budgets_for_the_first_outdated_pod_fail_the_pass() -> None:
    snapshot, decision = settled(outdated(), a_guard(name="one"), a_guard(name="two"))

    assert decision.verdict.reason is Reason.BUDGETS_OVERLAP
    assert decision.verdict.reason.fails
    assert "one, two" in explain(snapshot, decision, NOW).blocked_by[0].text
    assert "one, two" in decision.tell[0].text


def test_two_budgets_for_a_later_pod_keep_that_one() -> None:
    live = outdated()
    name = "ingester-zone-a-1"
    live.pods[name] = changed(live.pods[name], labels={**live.pods[name].metadata.labels, "extra": "yes"})

    assert deleted(verdict(live, a_guard(max_unavailable=2), a_guard(name="two", labels={"extra": "yes"}))) == ["a-0"]


def test_a_stuck_pod_still_passes_the_budget() -> None:
    live, guard = outdated("1"), a_guard()
    zone = live.zones["ingester-zone-a"]
    stuck = a_guarded_pod(zone, 0, state="stuck")
    alone = Live(*live.zones.values(), *live.pods.values(), stuck)
    assert deleted(verdict(alone, guard)) == ["a-0"]

    live.evict("ingester-zone-a-1", guard)
    live.pods[stuck.metadata.name] = stuck
    held = verdict(live, guard).verdict

    assert isinstance(held, Hold)
    assert held.details == (("pod/ingester-zone-a-0", "1 pod not ready in ingester-zone-a"),)


def test_a_stuck_pod_that_is_pending_takes_nothing_away() -> None:
    live, guard = outdated("1"), a_guard()
    zone = live.zones["ingester-zone-a"]
    assert live.evict("ingester-zone-b-0", guard).allowed
    live.pods["ingester-zone-a-0"] = a_guarded_pod(zone, 0, state="stuck", phase="Pending")

    assert deleted(verdict(live, guard)) == ["a-0"]


def test_what_the_cache_denies_already_is_not_asked_for() -> None:
    live, guard = outdated(), a_guard(regex=REGEX, delay=300.0)
    for name, pod in live.pods.items():
        young = a_guarded_pod(live.zones[name[:-2]], int(name[-1]), ready_time="2026-03-01T11:58:00Z")
        live.pods[name] = structs.replace(pod, metadata=young.metadata)

    held = verdict(live, guard).verdict

    assert isinstance(held, Hold)
    assert held.reason is Reason.DISRUPTION_BUDGET
    assert held.again == NOW + timedelta(minutes=3, milliseconds=1)
    name, why = held.details[0]
    assert (name, why.partition(": ")[0]) == ("pod/ingester-zone-a-0", "2 pods not ready in partition 0")
    assert why.partition(": ")[2] == (
        "ingester-zone-b-0 is ready, and counts as ready when it has been so for 5m0s, after 2026-03-01T12:03:00Z"
    )
    assert [type(ask.to) for ask in live.asked if isinstance(ask, Ask)] == [Read]


def test_a_peer_whose_ready_time_lies_ahead_is_named_with_what_helps() -> None:
    """Z12 leaves it untouched, so it counts as ready when that time has come, or when somebody takes it off."""
    live, guard = outdated(), a_guard(regex=REGEX, delay=300.0)
    for name, pod in live.pods.items():
        ahead = a_guarded_pod(live.zones[name[:-2]], int(name[-1]), ready_time="2027-03-01T12:00:00Z")
        live.pods[name] = structs.replace(pod, metadata=ahead.metadata)

    held = verdict(live, guard).verdict

    assert isinstance(held, Hold)
    assert held.details[0][1].endswith(
        "after 2027-03-01T12:05:00Z; its annotation grafana.com/ready-time lies ahead: take it off, and the operator"
        " writes it anew"
    )


@pytest.mark.parametrize("ready_time", [None, "yesterday"])
def test_a_peer_of_which_nobody_knows_since_when_it_is_ready_is_named(ready_time: str | None) -> None:
    """Where the operator may not patch pods no peer ever counts: all pods are ready, and the rollout waits."""
    live, guard = outdated(), a_guard(regex=REGEX, delay=300.0)
    for name, pod in live.pods.items():
        marked = a_guarded_pod(live.zones[name[:-2]], int(name[-1]), ready_time=ready_time)
        live.pods[name] = structs.replace(pod, metadata=marked.metadata)

    held = verdict(live, guard).verdict

    assert isinstance(held, Hold)
    name, why = held.details[0]
    assert (name, why.partition(": ")[0]) == ("pod/ingester-zone-a-0", "2 pods not ready in partition 0")
    assert why.partition(": ")[2] == (
        "ingester-zone-b-0 is ready, but its annotation grafana.com/ready-time does not say since when; the operator"
        " writes it where it may patch pods"
    )


def test_an_eviction_is_answered_in_the_words_of_the_contract_whatever_the_reason() -> None:
    live, guard = outdated(), a_guard(regex=REGEX, delay=300.0)

    refused = live.evict("ingester-zone-a-0", guard)

    assert (refused.code, refused.message) == (429, "2 pods not ready in partition 0")


def test_a_lost_swap_begins_anew() -> None:
    live, guard = outdated(), a_guard(max_unavailable=2)
    lost = iter((True,))

    def refuse(ask: Ask) -> Bad | None:
        return Bad("conflict") if isinstance(ask.to, SwapRecord) and next(lost, False) else None

    live.refuse = refuse

    assert deleted(verdict(live, guard)) == ["a-0", "a-1"]
    assert asked(live, ReadRecord) == asked(live, SwapRecord) == 2


@pytest.mark.parametrize("kind", [ReadRecord, SwapRecord, "statefulsets", "pods"], ids=str)
def test_what_cannot_be_judged_is_not_deleted(kind: object) -> None:
    live = outdated()

    def refuse(ask: Ask) -> Bad | None:
        match ask.to:
            case Listing(resource) if resource in (STATEFULSETS, PODS):
                hit = resource.plural == kind
            case to:
                hit = type(to) is kind
        return Bad("unreachable", "no answer") if hit else None

    live.refuse = refuse
    decision = verdict(live, a_guard())
    held = decision.verdict

    assert isinstance(held, Hold)
    assert (held.reason, held.again) == (Reason.DISRUPTION_STUCK, NOW + timedelta(seconds=30))
    assert {tell.reason for tell in decision.tell} == {"RolloutBlocked"}


def test_a_budget_for_one_zone_alone_lets_nothing_go() -> None:
    zone = a_guarded_zone("a")
    live = Live(zone, *(a_guarded_pod(zone, ordinal) for ordinal in range(3)))

    decision = verdict(live, a_guard())

    assert decision.verdict.reason is Reason.DISRUPTION_STUCK
    (told,) = decision.tell
    assert (told.reason, told.warning) == ("RolloutBlocked", True)
    assert "give all its zones these labels, or delete it" in told.text


def test_a_name_without_partition_blocks_the_rollout_and_says_what_to_correct() -> None:
    decision = verdict(outdated(), a_guard(regex="other-(.*)"))

    assert decision.verdict.reason is Reason.DISRUPTION_STUCK
    assert "correct the expression of disruption budget budget" in decision.tell[0].text


def crashing(*ordinals: int, max_unavailable: str = "1") -> Live:
    """Three zones; of zone a these outdated pods crash again and again."""
    live = outdated(max_unavailable)
    zone = structs.replace(live.zones["ingester-zone-a"], status=a_guarded_zone("a", ready=3 - len(ordinals)).status)
    live.zones["ingester-zone-a"] = zone
    for ordinal in ordinals:
        pod = a_guarded_pod(zone, ordinal, state="stuck")
        live.pods[pod.metadata.name] = pod
    return live


@pytest.mark.parametrize(
    ("guard", "help_"),
    [
        (a_guard(), "delete it by hand, or give disruption budget budget a larger maximum"),
        (a_guard(max_unavailable=0), "delete it by hand, or give the zone a larger rollout-max-unavailable"),
    ],
    ids=["a budget of one", "no budget of its own"],
)
def test_crashing_pods_that_keep_one_another_block_the_rollout_and_say_how_to_go_on(
    guard: DisruptionBudget, help_: str
) -> None:
    decision = verdict(crashing(0, 1, 2), guard)

    assert decision.verdict.reason is Reason.DISRUPTION_STUCK
    assert [tell.reason for tell in decision.tell] == ["RolloutBlocked"] * 3
    assert all(help_ in tell.text for tell in decision.tell)


def test_a_crashing_pod_that_waits_for_others_is_only_held() -> None:
    """A budget that is used up by pods on their way up is free again soon."""
    live = crashing(0)
    live.pods["ingester-zone-a-1"] = a_guarded_pod(live.zones["ingester-zone-a"], 1, revision="new", state="notReady")

    decision = verdict(live, a_guard())

    assert decision.verdict.reason is Reason.DISRUPTION_BUDGET
    assert decision.tell == ()


def test_zones_outside_of_the_group_count_when_the_budget_is_for_them() -> None:
    live, guard = outdated(), a_guard()
    stranger = a_guarded_zone("x")
    everything = Live(*live.zones.values(), *live.pods.values(), stranger)
    everything.pods["ingester-zone-x-0"] = a_guarded_pod(stranger, 0, state="notReady")
    group = structs.replace(seen(live, guard))

    known: dict[Question, Answer] = {}
    for _ in range(8):
        outcome = decide(structs.replace(group, answers=Answers(dict(known))), NOW)
        if not isinstance(outcome, Need):
            break
        known |= {question: everything.answer(question) for stage in outcome.stages for question in stage}

    assert isinstance(outcome, Decision)
    assert isinstance(outcome.verdict, Hold)
    assert outcome.verdict.details[0][1] == "1 pod not ready, 2 pods unknown in ingester-zone-x"


def test_the_own_zone_counts_though_it_lacks_the_labels_of_the_budget() -> None:
    live, guard = outdated(), a_guard(labels={"app": "x"})
    for name, pod in live.pods.items():
        live.pods[name] = changed(pod, labels={**pod.metadata.labels, **guard.labels})
    for name in ("ingester-zone-b", "ingester-zone-c"):
        zone = live.zones[name]
        labels = {**zone.metadata.labels, **guard.labels}
        live.zones[name] = structs.replace(zone, metadata=structs.replace(zone.metadata, labels=labels))

    assert deleted(verdict(live, guard)) == ["a-0"]


def test_the_revision_of_a_finished_zone_is_recorded_though_the_next_is_held() -> None:
    live, guard = outdated(), a_guard()
    zone = live.zones["ingester-zone-a"]
    for ordinal in range(3):
        live.pods[f"ingester-zone-a-{ordinal}"] = a_guarded_pod(zone, ordinal, revision="new")
    live.evict("ingester-zone-c-0", guard)

    move = verdict(live, guard).verdict

    assert isinstance(move, Move)
    assert [type(write).__name__ for write in move.writes] == ["Replace"]


def test_deletes_are_of_the_pods_that_were_recorded() -> None:
    live, guard = outdated(), a_guard(max_unavailable=2)

    move = verdict(live, guard).verdict

    assert isinstance(move, Move)
    uids = {write.ref.name: write.ref.uid for write in move.writes if isinstance(write, Delete)}
    assert {name: mark["uid"] for name, mark in live.marked(guard).items() if isinstance(mark, dict)} == uids
