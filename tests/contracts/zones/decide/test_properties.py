"""What holds for any state of the world, found or made up."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as some

from fairlead.contracts.zones.decide import Snapshot, decide
from fairlead.contracts.zones.explain import explain
from fairlead.contracts.zones.kinds import ROTATE
from fairlead.core.act import Delete, Replace
from fairlead.core.ask import Need
from fairlead.core.decision import Decision, Move
from kubeloop.objects.apps import REVISION_LABEL
from tests.builders import NOW
from tests.contracts.zones.decide.judging import settled
from tests.strategies import snapshots


@given(snapshots(), some.randoms(use_true_random=False))
def test_the_same_facts_in_any_order_give_the_same_decision_and_explanation(snapshot: Snapshot, random: Random) -> None:
    zones, pods = list(snapshot.statefulsets), list(snapshot.pods)
    random.shuffle(zones)
    random.shuffle(pods)
    shuffled = msgspec.structs.replace(snapshot, statefulsets=tuple(zones), pods=tuple(pods))

    first, again, other = decide(snapshot, NOW), decide(snapshot, NOW), decide(shuffled, NOW)

    assert first == again == other
    if isinstance(first, Decision):
        assert explain(snapshot, first, NOW) == explain(shuffled, first, NOW)


@given(snapshots())
def test_writes_go_to_what_was_seen_and_each_object_gets_one(snapshot: Snapshot) -> None:
    outcome = settled(snapshot)

    if isinstance(outcome.verdict, Move):
        writes = [write for write in outcome.verdict.writes if isinstance(write, Delete | Replace)]
        assert len(writes) == len(outcome.verdict.writes) > 0
        uids = [write.ref.uid for write in writes]
        known = [pod.metadata.uid for pod in snapshot.pods] + [zone.metadata.uid for zone in snapshot.statefulsets]
        assert len(set(uids)) == len(uids)
        assert set(uids) <= set(known)


@given(snapshots())
def test_no_pod_goes_that_terminates_or_is_up_to_date_in_its_zone(snapshot: Snapshot) -> None:
    outcome = settled(snapshot)

    if isinstance(outcome.verdict, Move):
        pods = {pod.metadata.uid: pod for pod in snapshot.pods}
        for write in outcome.verdict.writes:
            if isinstance(write, Delete):
                pod = pods[write.ref.uid]
                assert pod.metadata.deletion_timestamp is None
                assert pod.metadata.labels.get(REVISION_LABEL, "") == write.change_from
                assert write.change_from != write.change_to or pod.metadata.labels.get(ROTATE) == "true"
                assert pod.metadata.controller_uid != "uid-stranger"


@given(snapshots())
def test_a_question_is_asked_once(snapshot: Snapshot) -> None:
    outcome = decide(snapshot, NOW)

    if isinstance(outcome, Need):
        assert not outcome.has_effect
        asked = [ask for stage in outcome.stages for ask in stage]
        assert asked
        assert not [ask for ask in asked if ask in snapshot.answers.known]


@given(snapshots())
def test_every_hold_has_a_reason_that_the_explanation_names(snapshot: Snapshot) -> None:
    outcome = decide(snapshot, NOW)

    if isinstance(outcome, Decision):
        shown = explain(snapshot, outcome, NOW)
        waits = outcome.verdict.reason.kind.value not in ("moving", "done")
        assert bool(shown.blocked_by) is (waits or bool(outcome.asides))
        assert all(block.text and block.clears and block.object.split("/")[1] for block in shown.blocked_by)
        assert shown.stands.done == sum(lane.done for lane in shown.stands.lanes) <= shown.stands.total
        assert bool(shown.next) or not isinstance(outcome.verdict, Move)
