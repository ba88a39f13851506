"""The explain document of each kind of decision."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.zones.decide import Snapshot
from fairlead.contracts.zones.decide.groups import group_of
from fairlead.contracts.zones.explain import explain
from fairlead.core.ask import Answers, Ask, Bad, Good, Read
from fairlead.core.explain import Explain, wait_key
from kubeloop.objects.apps import StatefulSet, Template
from kubeloop.objects.core import Container, Pod, PodSpec
from tests.builders import EARLIER, NOW, a_pod, a_zone, body_of, pods_of, seen, waiting
from tests.contracts.zones.decide.judging import settled


def explained(*parts: StatefulSet | Pod | tuple[Pod, ...]) -> Explain:
    snapshot = seen(*parts)
    return explain(snapshot, settled(snapshot), NOW)


def blocks(shown: Explain) -> list[tuple[str, str, str]]:
    return [(block.rule, block.reason, block.object) for block in shown.blocked_by]


def phases(shown: Explain) -> list[str]:
    return [lane.phase for lane in shown.stands.lanes]


def test_a_rollout_on_its_way_shows_every_pod_and_what_comes_next() -> None:
    a, b, c = a_zone("a"), a_zone("b", max_unavailable="2"), a_zone("c", current="new")

    shown = explained(a, b, c, pods_of(a, _0="ready new"), pods_of(b), pods_of(c, "new"))

    assert (shown.part, shown.namespace, shown.rollout) == ("zones", "test", "ingester")
    assert (shown.stands.phase, shown.stands.done, shown.stands.total, shown.stands.unit) == ("Rolling", 4, 9, "pods")
    assert phases(shown) == ["Rolling", "Pending", "Current"]
    first, second, _ = shown.stands.lanes
    assert (first.name, first.done, first.total, first.budget) == ("ingester-zone-a", 1, 3, 1)
    assert (first.from_revision, first.to_revision, second.budget) == ("old", "new", 2)
    assert [(cell.ordinal, cell.state, cell.revision) for cell in first.cells] == [
        (0, "ready", "new"),
        (1, "ready", "old"),
        (2, "ready", "old"),
    ]
    assert shown.next == ("delete ingester-zone-a-1", "then delete ingester-zone-a-2", "then zone ingester-zone-b")
    assert shown.blocked_by == ()


def test_cells_show_every_state_and_pods_beyond_the_wanted_ones() -> None:
    a = a_zone("a", 4, known=6, ready=2, start=2, max_unavailable="9")
    extra, stray = a_pod(a, 9), a_pod(a, name="debug", owner="")
    pods = pods_of(a, _2="missing", _3="notReady", _4="terminating", _5="stuck new")

    shown = explained(a, pods, extra, stray)

    cells = shown.stands.lanes[0].cells
    assert [(cell.name.removeprefix("ingester-zone-"), cell.ordinal, cell.state, cell.revision) for cell in cells] == [
        ("debug", -1, "ready", "old"),
        ("a-2", 2, "missing", "none"),
        ("a-3", 3, "notReady", "old"),
        ("a-4", 4, "terminating", "old"),
        ("a-5", 5, "stuck", "new"),
        ("a-9", 9, "ready", "old"),
    ]


def test_a_used_budget_names_the_zone_and_the_pod_behind_it_with_its_exact_time() -> None:
    a, b = a_zone("a", ready=2), a_zone("b")

    shown = explained(a, b, pods_of(a, _0="notReady new"), pods_of(b))

    assert blocks(shown) == [
        ("roll", "BudgetUsed", "statefulset/ingester-zone-a"),
        ("roll", "PodsNotReady", "pod/ingester-zone-a-0"),
    ]
    assert [(block.since, block.since_exact) for block in shown.blocked_by] == [(EARLIER, True)] * 2
    assert shown.blocked_by[1].clears == "the pod becomes ready"
    assert "container ingester is not ready" in shown.blocked_by[1].text
    assert (shown.stands.phase, phases(shown)) == ("Waiting", ["Waiting", "Pending"])
    assert shown.next == ("delete ingester-zone-a-1", "then zone ingester-zone-b")
    (ahead,) = shown.stands.lanes[1].waits
    assert (ahead.reason, ahead.object) == ("OtherZoneAhead", "statefulset/ingester-zone-a")


def test_a_terminating_pod_dates_from_the_start_of_its_grace_period() -> None:
    a = a_zone("a")
    going = a_pod(a, 0, "new", state="terminating", grace=30)

    (block,) = explained(a, going, pods_of(a, "new")[1:]).blocked_by

    assert (block.reason, block.object) == ("PodTerminating", "pod/ingester-zone-a-0")
    assert (block.since, block.since_exact) == (NOW - timedelta(seconds=30), True)


def test_a_pod_that_says_it_is_ready_while_a_container_is_not_is_not_dated_by_its_condition() -> None:
    a = a_zone("a")
    unsure = a_pod(a, 0, "new", state="notReady")
    ready = msgspec.structs.replace(unsure.status, conditions=a_pod(a).status.conditions)

    (block,) = explained(a, msgspec.structs.replace(unsure, status=ready), pods_of(a, "new")[1:]).blocked_by

    assert (block.since, block.since_exact) == (None, False)


def test_a_pod_that_is_on_its_way_out_is_not_announced_again() -> None:
    a = a_zone("a")

    assert explained(a, pods_of(a, _0="terminating")).next == ("delete ingester-zone-a-1",)
    assert explained(a, pods_of(a, "new", _0="terminating old")).next == (
        "record revision new as current in ingester-zone-a",
    )


def test_a_wait_that_no_fact_dates_is_dated_by_who_saw_it_first() -> None:
    a = a_zone("a")
    pods = pods_of(a, "new", _1="missing")
    (undated,) = explained(a, pods).blocked_by

    snapshot = seen(a, pods, since={wait_key(undated): EARLIER})
    (dated,) = explain(snapshot, settled(snapshot), NOW).blocked_by

    assert (undated.since, undated.since_exact) == (None, False)
    assert (dated.since, dated.since_exact) == (EARLIER, False)


REASONS_OF_PODS = {
    "its image": (
        a_pod(a_zone(), 0, "new", containers=(waiting("ErrImagePull"),)),
        "is in ImagePullBackOff",
    ),
    "its phase": (a_pod(a_zone(), 0, "new", phase="Pending"), "phase is Pending"),
    "an unknown phase": (a_pod(a_zone(), 0, "new", phase=""), "phase is unknown"),
}


@pytest.mark.parametrize(("pod", "words"), REASONS_OF_PODS.values(), ids=REASONS_OF_PODS.keys())
def test_a_pod_that_is_not_ready_says_why(pod: Pod, words: str) -> None:
    a = a_zone()

    (block,) = explained(a, pod, pods_of(a, "new")[1:]).blocked_by

    assert words in block.text


def test_settling_waits_for_the_pod_and_then_records() -> None:
    a = a_zone("a")

    shown = explained(a, pods_of(a, "new", _2="notReady"))

    assert (shown.stands.phase, phases(shown)) == ("Settling", ["Settling"])
    assert blocks(shown) == [("roll", "PodsNotReady", "pod/ingester-zone-a-2")]
    assert shown.next == ("record revision new as current in ingester-zone-a",)


def test_a_status_that_lags_is_named_when_no_pod_is_to_blame() -> None:
    a = a_zone("a", ready=2)

    shown = explained(a, pods_of(a, "new"))

    assert blocks(shown) == [("roll", "PodsNotReady", "statefulset/ingester-zone-a")]
    assert "2 ready of 3" in shown.blocked_by[0].text


def test_finishing_records_and_the_next_zone_goes_on() -> None:
    a, b = a_zone("a"), a_zone("b")

    shown = explained(a, b, pods_of(a, "new"), pods_of(b))

    assert phases(shown) == ["Finishing", "Rolling"]
    assert shown.next == (
        "record revision new as current in ingester-zone-a",
        "delete ingester-zone-b-0",
        "then delete ingester-zone-b-1",
    )


def test_two_zones_not_ready_block_with_both_zones_and_their_pods() -> None:
    a, b, c = a_zone("a"), a_zone("b"), a_zone("c")

    shown = explained(a, b, c, pods_of(a, _0="stuck"), pods_of(b, _1="missing"), pods_of(c))

    assert blocks(shown) == [
        ("blocked", "TwoZonesNotReady", "statefulset/ingester-zone-a"),
        ("blocked", "PodStuck", "pod/ingester-zone-a-0"),
        ("blocked", "PodMissing", "pod/ingester-zone-b-1"),
    ]
    assert shown.blocked_by[0].text == (
        "2 zones are not ready (ingester-zone-a, ingester-zone-b): no pod is deleted while more than one is"
    )
    assert shown.blocked_by[2].advice == (
        "see what keeps it from being made: kubectl -n test describe statefulset ingester-zone-b",
    )
    assert (shown.stands.phase, phases(shown)) == ("Blocked", ["Pending", "Pending", "Pending"])
    assert shown.next == ()


def test_of_a_zone_that_is_being_deleted_nothing_is_to_come() -> None:
    a, b = a_zone("a"), a_zone("b")
    leaving = structs.replace(a, metadata=structs.replace(a.metadata, deletion_timestamp=NOW))

    shown = explained(leaving, b, pods_of(a), pods_of(b))

    assert blocks(shown) == [("roll", "ZoneLeaving", "statefulset/ingester-zone-a")]
    assert shown.next == ("delete ingester-zone-b-0",)


def test_a_wrong_strategy_blocks_with_the_zone_that_has_it() -> None:
    a, b = a_zone("a"), a_zone("b", strategy="RollingUpdate")

    shown = explained(a, b, pods_of(a), pods_of(b))

    assert blocks(shown) == [("strategy", "WrongStrategy", "statefulset/ingester-zone-b")]
    assert (shown.stands.phase, phases(shown)) == ("Blocked", ["Pending", "Pending"])


def test_a_paused_zone_that_is_not_ready_is_what_holds_the_others_back() -> None:
    a, b = a_zone("a", paused="true"), a_zone("b")

    shown = explained(a, b, pods_of(a, _0="notReady"), pods_of(b))

    assert blocks(shown) == [
        ("roll", "PausedZoneNotReady", "statefulset/ingester-zone-a"),
        ("roll", "PodsNotReady", "pod/ingester-zone-a-0"),
    ]
    assert (shown.outcome, phases(shown)) == ("waiting", ["Paused", "Pending"])
    assert shown.next == ("delete ingester-zone-b-0",)


def test_a_pause_is_said_where_nothing_waits_for_it() -> None:
    a, b = a_zone("a", current="new", paused="true"), a_zone("b", current="new")
    shown = explained(a, b, pods_of(a, "new"), pods_of(b, "new"))

    assert (shown.outcome, shown.stands.phase, phases(shown)) == ("done", "Paused", ["Paused", "Current"])
    (block,) = shown.blocked_by
    assert block.kind == "held"
    assert block.text == "ingester-zone-a is paused: nothing waits for that now, and the next change will"


def test_a_paused_zone_says_what_is_left_in_it() -> None:
    a, b = a_zone("a", paused="true"), a_zone("b", paused="true")

    shown = explained(a, b, pods_of(a), pods_of(b, "new"))

    assert blocks(shown) == [
        ("complete", "Paused", "statefulset/ingester-zone-a"),
        ("complete", "Paused", "statefulset/ingester-zone-b"),
    ]
    assert "3 outdated pods" in shown.blocked_by[0].text
    assert "not recorded" in shown.blocked_by[1].text
    assert (shown.stands.phase, phases(shown), shown.next) == ("Paused", ["Paused", "Paused"], ())
    assert shown.outcome == "held"
    assert shown.blocked_by[0].advice == ("let the group go on: fairlead resume ingester -n test",)


def test_a_rollback_shows_the_abandoned_revision_as_where_it_comes_from() -> None:
    a, b = a_zone("a", current="old", update="old"), a_zone("b", current="old", update="old")

    shown = explained(a, b, pods_of(a, "old", _1="ready new"), pods_of(b, "old", _0="ready new"))

    first, second = shown.stands.lanes
    assert (first.phase, second.phase) == ("Rolling", "RolledBack")
    assert (second.from_revision, second.to_revision) == ("new", "old")


def test_a_stale_status_and_an_unknown_revision_are_named() -> None:
    stale, unknown = a_zone("a", generation=4, observed=3), a_zone("a", current="")

    assert blocks(explained(stale, pods_of(stale))) == [("roll", "StatusStale", "statefulset/ingester-zone-a")]
    assert "generation 3, the newest is 4" in explained(stale, pods_of(stale)).blocked_by[0].text
    assert blocks(explained(unknown, pods_of(unknown))) == [("roll", "RevisionUnknown", "statefulset/ingester-zone-a")]
    assert phases(explained(stale, pods_of(stale))) == ["Waiting"]
    assert explained(stale, pods_of(stale)).next == ("zone ingester-zone-a",)


def with_answer(snapshot: Snapshot, answer: Good | Bad) -> Snapshot:
    ask = Ask(Read(group_of(snapshot, NOW).zones[0].ref))
    return msgspec.structs.replace(snapshot, answers=Answers({ask: answer}))


def test_a_read_that_failed_and_a_cache_that_is_behind_are_named() -> None:
    a = a_zone("a")
    refused = with_answer(seen(a, pods_of(a, "new")), Bad("refused", "statefulsets is forbidden"))
    behind = with_answer(seen(a, pods_of(a, "new")), Good(body_of(a_zone("a", group="elsewhere"))))

    failed = explain(refused, settled(refused), NOW)
    waiting_for_cache = explain(behind, settled(behind), NOW)

    assert blocks(failed) == [("roll", "ReadFailed", "statefulset/ingester-zone-a")]
    assert "forbidden" in failed.blocked_by[0].text
    assert blocks(waiting_for_cache) == [("roll", "CacheBehind", "statefulset/ingester-zone-a")]
    assert waiting_for_cache.again == NOW + timedelta(seconds=1)


def test_a_complete_group_has_nothing_to_say() -> None:
    a = a_zone("a", current="new")

    shown = explained(a, pods_of(a, "new"))

    assert (shown.stands.phase, shown.stands.done, shown.stands.total) == ("Current", 3, 3)
    assert (shown.next, shown.blocked_by, shown.stands.lanes[0].waits) == ((), (), ())


def with_images(pod: Pod, **images: str) -> Pod:
    return msgspec.structs.replace(pod, spec=PodSpec(tuple(Container(name, image) for name, image in images.items())))


def test_images_that_change_stand_beside_the_revisions() -> None:
    a = a_zone("a")
    template = Template(a.spec.template.metadata, PodSpec((Container("app", "app:2"), Container("side", "side:1"))))
    a = msgspec.structs.replace(a, spec=msgspec.structs.replace(a.spec, template=template))
    old = tuple(with_images(pod, app="app:1", side="side:1") for pod in pods_of(a))
    new = tuple(with_images(pod, app="app:2", side="side:1") for pod in pods_of(a, "new"))

    (lane,) = explained(a, old).stands.lanes
    (done,) = explained(a, new).stands.lanes

    assert (lane.from_images, lane.to_images) == (("app:1",), ("app:2",))
    assert (done.from_images, done.to_images) == ((), ())


def test_an_image_beside_a_revision_is_of_a_pod_of_that_revision() -> None:
    """The lowest outdated pod is of an attempt that was given up."""
    a = a_zone("a")
    template = Template(a.spec.template.metadata, PodSpec((Container("app", "app:3"),)))
    a = msgspec.structs.replace(a, spec=msgspec.structs.replace(a.spec, template=template))
    given_up = with_images(a_pod(a, 0, "broken"), app="app:2")
    old = tuple(with_images(pod, app="app:1") for pod in pods_of(a)[1:])

    (lane,) = explained(a, (given_up, *old)).stands.lanes
    (left,) = explained(a, (given_up,)).stands.lanes

    assert (lane.from_revision, lane.from_images, lane.to_images) == ("old", ("app:1",), ("app:3",))
    assert (left.from_images, left.to_images) == ((), ())
