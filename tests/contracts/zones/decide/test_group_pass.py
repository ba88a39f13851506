"""The zones of a group together: order, pauses, records, and what stops all of them."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.contracts.zones.decide import RULES, Snapshot, decide
from fairlead.contracts.zones.explain import explain
from fairlead.core.act import Replace
from fairlead.core.ask import Answer, Answers, Bad, Good, Need, Question
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from tests.builders import NOW, a_pod, a_zone, body_of, pods_of, seen
from tests.contracts.zones.decide.judging import completed, deleted, ref_in, settled, waits_for


def test_rules_are_tried_in_the_order_of_the_contract() -> None:
    assert [rule.name for rule in RULES] == ["strategy", "blocked", "roll", "complete"]


def test_an_empty_group_is_complete() -> None:
    assert settled(seen()) == Decision("complete", Hold(Reason.COMPLETE))


def test_a_later_zone_waits_for_an_earlier_one() -> None:
    a, b = a_zone("a"), a_zone("b")

    decision = settled(seen(a, b, pods_of(a, "new", _0="notReady"), pods_of(b)))

    assert waits_for(decision) is Reason.PODS_NOT_READY


def test_the_wrong_strategy_is_found_before_two_zones_not_ready() -> None:
    a, b = a_zone("a", strategy="RollingUpdate"), a_zone("b")

    decision = settled(seen(a, b, pods_of(a, _0="notReady"), pods_of(b, _0="notReady")))

    assert decision.rule == "strategy"


def test_stuck_pods_do_not_go_while_two_zones_are_not_ready() -> None:
    a, b = a_zone("a"), a_zone("b")

    decision = settled(seen(a, b, pods_of(a, _0="stuck"), pods_of(b, _0="stuck")))

    assert decision.verdict == Hold(Reason.TWO_ZONES_NOT_READY)


@pytest.mark.parametrize("value", ["True", "yes", "1", "", " true"])
def test_only_the_exact_word_pauses(value: str) -> None:
    a = a_zone("a", paused=value)

    assert deleted(settled(seen(a, pods_of(a)))) == ["a-0"]


def test_a_paused_zone_is_not_recorded_as_complete() -> None:
    a = a_zone("a", paused="true")

    assert settled(seen(a, pods_of(a, "new"))).verdict == Hold(Reason.PAUSED)


def test_a_paused_zone_with_work_left_keeps_the_group_from_being_complete() -> None:
    a, b = a_zone("a", paused="true"), a_zone("b", current="new")

    assert settled(seen(a, b, pods_of(a), pods_of(b, "new"))).verdict == Hold(Reason.PAUSED)


def test_a_paused_zone_without_work_does_not() -> None:
    a = a_zone("a", paused="true", current="new")

    assert settled(seen(a, pods_of(a, "new"))).verdict == Hold(Reason.COMPLETE)


def test_a_paused_zone_that_is_not_ready_keeps_another_from_being_recorded() -> None:
    a, b = a_zone("a"), a_zone("b", paused="true")

    decision = settled(seen(a, b, pods_of(a, "new"), pods_of(b, _0="terminating")))

    assert waits_for(decision) is Reason.PAUSED_ZONE_NOT_READY


def test_a_paused_zone_that_is_not_ready_blocks_nobody_who_has_nothing_to_do() -> None:
    a, b = a_zone("a", paused="true"), a_zone("b", current="new")
    done = a_zone("a", paused="true", current="new")

    with_work = settled(seen(a, b, pods_of(a, _0="notReady"), pods_of(b, "new")))
    without = settled(seen(done, b, pods_of(done, "new", _0="notReady"), pods_of(b, "new")))

    assert with_work.verdict == Hold(Reason.PAUSED)
    assert waits_for(without) is Reason.PODS_NOT_READY


def test_a_zone_whose_status_is_stale_counts_as_one_with_work() -> None:
    a, b = a_zone("a", paused="true", current="new"), a_zone("b", current="new", generation=2)

    decision = settled(seen(a, b, pods_of(a, "new", _0="notReady"), pods_of(b, "new")))

    assert waits_for(decision) is Reason.PAUSED_ZONE_NOT_READY


def test_all_finished_zones_up_to_the_active_one_are_recorded_at_once() -> None:
    a, b, c = a_zone("a"), a_zone("b", current="new"), a_zone("c", 0)
    d, e = a_zone("d"), a_zone("e", 0)

    decision = settled(seen(e, d, c, b, a, pods_of(a, "new"), pods_of(b, "new"), pods_of(d)))

    assert (completed(decision), deleted(decision)) == (["a", "c"], ["d-0"])


def answered(snapshot: Snapshot, answer: Answer) -> Decision:
    """The decision when zone a is answered with this and every other zone as it was seen."""
    live: dict[str, Answer] = {zone.metadata.name: Good(body_of(zone)) for zone in snapshot.statefulsets}
    live["ingester-zone-a"] = answer
    known: dict[Question, Answer] = {}
    for _ in range(3):
        outcome = decide(msgspec.structs.replace(snapshot, answers=Answers(known)), NOW)
        if isinstance(outcome, Decision):
            return outcome
        assert isinstance(outcome, Need)
        known |= {ask: live[ref_in(ask).name] for stage in outcome.stages for ask in stage}
    raise AssertionError("a pass asks twice at most")


A, B = a_zone("a"), a_zone("b")
FINISHING = seen(A, B, pods_of(A, "new"), pods_of(B))


def test_whatever_is_written_to_is_read_live_before() -> None:
    need = decide(FINISHING, NOW)

    assert isinstance(need, Need)
    (stage,) = need.stages
    assert [str(ref_in(ask)) for ask in stage] == ["statefulset/ingester-zone-a", "statefulset/ingester-zone-b"]
    assert [ref_in(ask).uid for ask in stage] == [A.metadata.uid, B.metadata.uid]
    assert not need.has_effect


def test_a_pod_of_a_revision_that_the_cache_does_not_know_yet_stays() -> None:
    cached = a_zone("a", current="v1", update="v1")
    pods = (a_pod(cached, 0, "v2"), a_pod(cached, 1, "v1"), a_pod(cached, 2, "v1"))
    live = a_zone("a", current="v1", update="v2", generation=2, observed=2, version="2")

    decision = answered(seen(cached, *pods), Good(body_of(live)))

    assert deleted(decision) == ["a-1"]


def test_a_rollback_that_the_cache_does_not_show_yet_is_not_worked_against() -> None:
    live = a_zone("a", current="old", update="old", generation=2, observed=2, version="2")

    decision = answered(seen(A, pods_of(A)), Good(body_of(live)))

    assert decision.verdict == Hold(Reason.COMPLETE)


def test_a_pause_that_the_cache_does_not_show_yet_holds() -> None:
    decision = answered(seen(A, pods_of(A)), Good(body_of(a_zone("a", paused="true", version="2"))))

    assert decision.verdict == Hold(Reason.PAUSED)


def test_when_an_answer_changes_the_course_all_zones_are_read_at_once() -> None:
    zones = [a_zone(letter) for letter in "abcde"]
    snapshot = seen(*zones, *(pods_of(zone) for zone in zones))
    done = a_zone("a", current="old", update="old", generation=2, observed=2, version="2")
    first = decide(snapshot, NOW)
    assert isinstance(first, Need)
    known: dict[Question, Answer] = {ask: Good(body_of(done)) for stage in first.stages for ask in stage}

    second = decide(msgspec.structs.replace(snapshot, answers=Answers(known)), NOW)

    assert isinstance(second, Need)
    (stage,) = second.stages
    assert [ref_in(ask).name[-1] for ask in stage] == ["b", "c", "d", "e"]


MOVED: dict[str, Answer] = {
    "it is another one of that name": Good(body_of(a_zone("a")).replace(b"uid-ingester-zone-a", b"uid-another")),
    "it has moved to another group": Good(body_of(a_zone("a", group="elsewhere", version="2"))),
}


@pytest.mark.parametrize("answer", MOVED.values(), ids=MOVED.keys())
def test_a_zone_that_is_no_longer_what_the_cache_shows_is_waited_for(answer: Answer) -> None:
    decision = answered(FINISHING, answer)

    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.reason is Reason.CACHE_BEHIND
    assert not decision.verdict.reason.fails
    assert decision.verdict.again is not None
    assert 0 < (decision.verdict.again - NOW).total_seconds() <= 1


def test_a_record_is_bound_to_the_version_that_was_read() -> None:
    decision = answered(FINISHING, Good(body_of(a_zone("a", version="2"))))

    assert isinstance(decision.verdict, Move)
    record = decision.verdict.writes[0]
    assert isinstance(record, Replace)
    assert (record.resource_version, record.subresource, record.scope) == ("2", "status", A.metadata.uid)
    assert (record.change_from, record.change_to) == ("old", "new")
    assert record.tell is not None
    assert (record.tell.about.name, record.tell.reason) == ("ingester-zone-a", "RevisionCompleted")


def test_a_record_waits_when_the_cache_has_overtaken_what_was_read() -> None:
    newer = a_zone("a", version="3")

    decision = answered(seen(newer, B, pods_of(newer, "new"), pods_of(B)), Good(body_of(a_zone("a", version="2"))))

    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.reason is Reason.CACHE_BEHIND


def test_when_the_zone_has_vanished_there_is_nothing_to_record_and_the_next_goes_on() -> None:
    decision = answered(FINISHING, Bad("absent"))

    assert (completed(decision), deleted(decision)) == ([], ["b-0"])


def test_when_the_only_zone_has_vanished_nothing_is_left() -> None:
    assert answered(seen(A, pods_of(A, "new")), Bad("absent")).verdict == Hold(Reason.COMPLETE)


def test_a_zone_that_asks_for_very_many_pods_costs_what_exists() -> None:
    many = a_zone("a", 2**31 - 1, ready=3, known=3)

    decision = settled(seen(many, pods_of(a_zone("a"), "new")))
    shown = explain(seen(many, pods_of(a_zone("a"), "new")), decision, NOW)

    assert decision.verdict == Hold(Reason.POD_MISSING)
    assert shown.stands.total == 2**31 - 1
    assert len(shown.blocked_by) <= 11
    assert shown.blocked_by[-1].text.endswith(f"{2**31 - 1 - 3 - 10} more of its pods are not ready")


BROKEN: dict[str, Answer] = {
    "refused": Bad("refused", "forbidden"),
    "too late": Bad("timeout"),
    "no JSON": Good(b"<html>"),
    "not text": Good(b'{"metadata": "\xff'),
    "no metadata": Good(b'{"status": {}}'),
    "no version": Good(b'{"metadata": {}, "status": {}}'),
    "no status": Good(b'{"metadata": {"resourceVersion": "1"}}'),
    "status of another shape": Good(b'{"metadata": {"resourceVersion": "1"}, "status": []}'),
    "a list": Good(b"[]"),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_an_answer_that_cannot_be_used_fails_the_pass_and_touches_nothing(answer: Answer) -> None:
    decision = answered(FINISHING, answer)

    assert decision.verdict == Hold(Reason.READ_FAILED)
    assert decision.verdict.reason.fails


def test_an_invalid_annotation_is_told_also_while_nothing_rolls() -> None:
    a = a_zone("a", current="new", max_unavailable="many")

    decision = settled(seen(a, pods_of(a, "new")))

    assert decision.verdict == Hold(Reason.COMPLETE)
    assert [tell.reason for tell in decision.tell] == ["InvalidAnnotation"]


def test_a_name_label_that_the_pods_lack_does_not_stop_the_rollout_that_brings_it() -> None:
    a = a_zone("a", label="renamed")

    assert deleted(settled(seen(a, pods_of(a)))) == ["a-0"]


def test_a_pod_of_another_controller_is_neither_counted_nor_deleted() -> None:
    a = a_zone("a", 1)
    foreign = a_pod(a, name="ingester-job", owner="uid-job", state="notReady")

    assert deleted(settled(seen(a, pods_of(a), foreign))) == ["a-0"]


def test_a_loose_pod_with_the_label_counts_and_goes_in_its_turn() -> None:
    a = a_zone("a", 1, max_unavailable="2")
    loose = a_pod(a, name="ingester-zone-a-extra", owner="")

    assert deleted(settled(seen(a, pods_of(a), loose))) == ["a-0", "a-extra"]
