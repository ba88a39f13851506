"""A zone with minReadySeconds is ready when its pods have been ready for that long, and is looked at when they have."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.contracts.zones.decide.groups import Zone, group_of
from fairlead.contracts.zones.explain import explain
from fairlead.core.decision import Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.core import Pod
from tests.builders import EARLIER, NOW, a_pod, a_zone, pods_of, seen
from tests.contracts.zones.decide.judging import completed, deleted, settled

JUST_NOW = NOW - timedelta(seconds=10)
"""When a pod became ready that has to be so for 30 seconds."""
RIPE = NOW + timedelta(seconds=20)


def pods(zone_letter: str, *since: datetime | None, revision: str = "new") -> tuple[Pod, ...]:
    zone = a_zone(zone_letter)
    return tuple(a_pod(zone, place, revision, since=moment) for place, moment in enumerate(since))


def judged(zone: Zone) -> tuple[bool, int]:
    return zone.is_ready, zone.not_ready


HEALTH = {
    "all pods ready for long": ((EARLIER, EARLIER, EARLIER), 3, (True, 0)),
    "one just became ready": ((EARLIER, JUST_NOW, EARLIER), 3, (False, 1)),
    "all just became ready": ((JUST_NOW, JUST_NOW, JUST_NOW), 0, (False, 3)),
    "one reaches its time at this moment": ((EARLIER, NOW - timedelta(seconds=30), EARLIER), 3, (True, 0)),
    "one is a microsecond short": ((EARLIER, NOW - timedelta(seconds=29.999999), EARLIER), 3, (False, 1)),
    "one is ready since the future": ((EARLIER, NOW + timedelta(hours=1), EARLIER), 3, (False, 1)),
    "one does not say since when": ((EARLIER, None, EARLIER), 3, (False, 1)),
    "the status counts fewer as available": ((EARLIER, EARLIER, EARLIER), 2, (False, 1)),
    "the status does not count them": ((EARLIER, EARLIER, EARLIER), None, (True, 0)),
}


@pytest.mark.parametrize(("since", "available", "wanted"), HEALTH.values(), ids=HEALTH.keys())
def test_pods_and_status_say_whether_a_zone_has_been_ready_for_long_enough(
    since: tuple[datetime | None, ...], available: int | None, wanted: tuple[bool, int]
) -> None:
    zone = a_zone("a", min_ready=30, available=available)

    found = group_of(seen(zone, pods("a", *since)), NOW).zones[0]

    assert judged(found) == wanted


@given(some.lists(some.one_of(some.none(), some.datetimes().map(lambda time: time.replace(tzinfo=NOW.tzinfo)))))
def test_without_min_ready_seconds_neither_times_nor_the_count_of_available_pods_matter(
    since: list[datetime | None],
) -> None:
    zone = a_zone("a", len(since), available=0)

    found = group_of(seen(zone, pods("a", *since)), NOW).zones[0]

    assert (judged(found), found.not_yet_available, found.ripens_at) == ((True, 0), (), None)


def test_a_zone_is_recorded_only_when_its_pods_are_ripe() -> None:
    zone = a_zone("a", min_ready=30)

    early = settled(seen(zone, pods("a", EARLIER, JUST_NOW, EARLIER)))
    late = settled(seen(zone, pods("a", EARLIER, JUST_NOW, EARLIER)), RIPE)

    assert early.verdict == Hold(Reason.POD_UNRIPE, again=RIPE)
    assert (completed(late), late.verdict.again) == (["a"], None)


def test_the_next_batch_counts_pods_that_are_not_ripe() -> None:
    zone = a_zone("a", 4, min_ready=30, max_unavailable="2")
    some_new = (*pods("a", JUST_NOW), *(a_pod(zone, place) for place in (1, 2, 3)))

    decision = settled(seen(zone, some_new))

    assert deleted(decision) == ["a-1"]
    assert decision.verdict.again == RIPE


def test_a_used_budget_is_looked_at_again_when_the_next_pod_is_ripe() -> None:
    zone = a_zone("a", min_ready=30)
    later = JUST_NOW + timedelta(seconds=5)
    some_new = (*pods("a", later, JUST_NOW), a_pod(zone, 2))

    assert settled(seen(zone, some_new)).verdict == Hold(Reason.BUDGET_USED, again=RIPE)


def test_no_other_zone_starts_before_the_pods_are_ripe() -> None:
    a, b = a_zone("a", min_ready=30, current="new"), a_zone("b")

    decision = settled(seen(a, b, pods("a", EARLIER, EARLIER, JUST_NOW), pods_of(b)))

    assert decision.verdict == Hold(Reason.POD_UNRIPE, again=RIPE)


def test_two_zones_that_are_not_ripe_hold_the_group_until_the_first_is() -> None:
    a, b, c = (a_zone(letter, min_ready=30) for letter in "abc")
    everything = seen(a, b, c, pods("a", JUST_NOW, EARLIER, EARLIER), pods("b", NOW, EARLIER, EARLIER), pods_of(c))

    assert settled(everything).verdict == Hold(Reason.ZONES_NOT_READY, again=RIPE)


def test_a_pod_that_does_not_say_since_when_is_not_waited_for_by_time() -> None:
    zone = a_zone("a", min_ready=30)

    decision = settled(seen(zone, pods("a", EARLIER, None, EARLIER)))

    assert decision.verdict == Hold(Reason.POD_UNRIPE)


def test_a_wait_of_many_years_does_not_break_the_calendar() -> None:
    zone = a_zone("a", min_ready=2**31 - 1)
    distant = datetime(9999, 1, 1, tzinfo=NOW.tzinfo)

    assert settled(seen(zone, pods("a", distant, distant, distant))).verdict == Hold(Reason.POD_UNRIPE)


def test_the_explanation_says_until_when() -> None:
    snapshot = seen(a_zone("a", min_ready=30), pods("a", EARLIER, JUST_NOW, EARLIER))

    shown = explain(snapshot, settled(snapshot), NOW)

    (block,) = shown.blocked_by
    assert (block.reason, block.object, block.since) == ("PodUnripe", "pod/ingester-zone-a-1", JUST_NOW)
    assert "until 2026-03-01T12:00:20Z" in block.text
    assert [cell.state for cell in shown.stands.lanes[0].cells] == ["ready", "notReady", "ready"]
    assert shown.again == RIPE


def test_at_rest_nobody_is_woken() -> None:
    zone = a_zone("a", min_ready=30, current="new")

    verdict = settled(seen(zone, pods("a", EARLIER, EARLIER, EARLIER))).verdict

    assert verdict == Hold(Reason.COMPLETE)
    assert not isinstance(verdict, Move)
