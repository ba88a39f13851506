"""The pause between zones: how long the next zone waits for those that were rolled."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.contracts.zones.explain import explain
from fairlead.contracts.zones.kinds import ZONE_SOAK
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from tests.builders import EARLIER, NOW, a_pod, a_zone, pods_of, seen
from tests.contracts.zones.decide.judging import completed, deleted, settled

END = EARLIER + timedelta(minutes=10)
"""Of a soak of ten minutes; five are over."""


def a_soaking_zone(letter: str = "a", text: str = "10m", current: str = "new", **more: str) -> StatefulSet:
    return a_zone(letter, current=current, annotations={ZONE_SOAK: text}, **more)  # type: ignore[arg-type]


def rolled(zone: StatefulSet, *since: datetime | None) -> tuple[Pod, ...]:
    """All pods of the update revision, ready since."""
    return tuple(a_pod(zone, place, "new", since=moment) for place, moment in enumerate(since or (EARLIER,) * 3))


A, B, C = a_soaking_zone(), a_zone("b"), a_zone("c")


def test_the_next_zone_starts_when_the_pods_have_been_ready_for_the_whole_soak() -> None:
    snapshot = seen(A, B, rolled(A), pods_of(B))

    held, just_before, free = (settled(snapshot, time) for time in (NOW, END - timedelta(microseconds=1), END))

    assert held.verdict == just_before.verdict == Hold(Reason.SOAKING, again=END)
    assert deleted(free) == ["b-0"]


def test_the_newest_of_the_pods_counts() -> None:
    recent = NOW - timedelta(seconds=1)

    decision = settled(seen(A, B, rolled(A, EARLIER, recent, EARLIER), pods_of(B)))

    assert decision.verdict == Hold(Reason.SOAKING, again=recent + timedelta(minutes=10))


def test_the_longest_of_several_soaks_counts() -> None:
    b = a_soaking_zone("b", "1h")

    decision = settled(seen(A, b, C, rolled(A), rolled(b), pods_of(C)))

    assert decision.verdict == Hold(Reason.SOAKING, again=EARLIER + timedelta(hours=1))


def test_the_revision_of_the_zone_that_soaks_is_recorded_at_once() -> None:
    a = a_soaking_zone(current="old")

    decision = settled(seen(a, B, rolled(a), pods_of(B)))

    assert (completed(decision), deleted(decision)) == (["a"], [])


UNHELD = {
    "the first zone": (seen(a_soaking_zone(current="old"), B, pods_of(A), pods_of(B)), ["a-0"]),
    "the first zone of several with a soak": (
        seen(a_soaking_zone(current="old"), a_soaking_zone("b", current="old"), pods_of(A), pods_of(B)),
        ["a-0"],
    ),
    "a zone that has begun": (seen(A, B, rolled(A), pods_of(B, _0="ready new")), ["b-1"]),
    "a zone after one without soak": (seen(a_zone("a", current="new"), B, rolled(A), pods_of(B)), ["b-0"]),
    "a zone after a soak of nothing": (seen(a_soaking_zone(text="0s"), B, rolled(A), pods_of(B)), ["b-0"]),
    "a zone whose own soak is long": (seen(a_soaking_zone(current="old", text="9h"), pods_of(A)), ["a-0"]),
    "a zone after pods that do not say since when": (seen(A, B, rolled(A, None, None, None), pods_of(B)), ["b-0"]),
    "a zone after one without pods": (seen(a_zone("a", 0, annotations={ZONE_SOAK: "1h"}), B, pods_of(B)), ["b-0"]),
}


@pytest.mark.parametrize(("snapshot", "goes"), UNHELD.values(), ids=UNHELD.keys())
def test_nothing_holds(snapshot: object, goes: list[str]) -> None:
    assert deleted(settled(snapshot)) == goes  # type: ignore[arg-type]


def test_a_zone_that_has_begun_goes_on_while_one_before_it_may_not_start() -> None:
    decision = settled(seen(A, B, C, rolled(A), pods_of(B), pods_of(C, _0="ready new")))

    assert deleted(decision) == ["c-1"]


def test_while_another_zone_waits_the_end_of_the_soak_is_looked_at() -> None:
    stale = a_zone("c", generation=2, observed=1)

    decision = settled(seen(A, B, stale, rolled(A), pods_of(B), pods_of(C)))

    assert decision.verdict == Hold(Reason.STATUS_STALE, again=END)


def test_a_zone_that_is_not_ready_is_held_like_any_other_and_holds_the_rest() -> None:
    decision = settled(seen(A, a_zone("b", max_unavailable="2"), C, rolled(A), pods_of(B, _0="notReady"), pods_of(C)))

    assert decision.verdict == Hold(Reason.SOAKING, again=END)


def test_a_group_at_rest_is_not_looked_at_again() -> None:
    b = a_soaking_zone("b")

    assert settled(seen(A, b, rolled(A, NOW, NOW, NOW), rolled(b))).verdict == Hold(Reason.COMPLETE)


@pytest.mark.parametrize("text", ["", "abc", "5", "-1m", "1d", "10m ", "1h-5m"])
def test_what_is_no_duration_is_ignored_and_told(text: str) -> None:
    a = a_soaking_zone(text=text)

    decision = settled(seen(a, B, rolled(a), pods_of(B)))

    assert deleted(decision) == ["b-0"]
    (told,) = decision.tell
    assert (told.reason, told.about.name) == ("InvalidAnnotation", "ingester-zone-a")
    assert ZONE_SOAK in told.text


@given(some.integers(0, 10**7), some.integers(-(10**7), 10**7))
def test_the_zone_starts_exactly_when_the_soak_is_over(length: int, age: int) -> None:
    since = NOW - timedelta(seconds=age)
    a = a_soaking_zone(text=f"{length}s")

    decision = settled(seen(a, B, rolled(a, since, since, since), pods_of(B)))

    if length == 0 or age >= length:
        assert deleted(decision) == ["b-0"]
    else:
        assert decision.verdict == Hold(Reason.SOAKING, again=since + timedelta(seconds=length))


def test_the_explanation_names_the_zone_that_soaks_and_the_end() -> None:
    snapshot = seen(A, B, C, rolled(A), pods_of(B), pods_of(C))

    shown = explain(snapshot, settled(snapshot), NOW)

    assert [(block.reason, block.object) for block in shown.blocked_by] == [
        ("Soaking", "statefulset/ingester-zone-b"),
        ("Soaking", "statefulset/ingester-zone-c"),
    ]
    assert "ingester-zone-a must be ready for 10m, until 2026-03-01T12:05:00Z" in shown.blocked_by[0].text
    assert (shown.stands.phase, [lane.phase for lane in shown.stands.lanes]) == (
        "Soaking",
        ["Current", "Pending", "Pending"],
    )
    assert [[block.reason for block in lane.waits] for lane in shown.stands.lanes] == [[], ["Soaking"], ["Soaking"]]
    assert shown.next[0] == "delete ingester-zone-b-0"
    assert shown.again == END
