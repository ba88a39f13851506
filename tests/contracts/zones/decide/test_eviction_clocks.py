"""Marks of evictions and clocks: replicas whose times of day differ, and one that is set while a mark counts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.core.ask import Good
from fairlead.core.eviction_record import KEPT, is_marked, mark, recalled, written
from kubeloop.objects.core import Pod
from tests.builders import NOW
from tests.contracts.zones.decide.evicting import a_guard, three_zones

A0, B0 = "ingester-zone-a-0", "ingester-zone-b-0"


def test_evictions_by_replicas_whose_times_of_day_differ_count_one_another() -> None:
    """An hour apart: what one of them let go a moment ago is no less on its way down for the other."""
    live = three_zones()
    live.age = 0.0
    assert live.evict(A0, a_guard()).allowed

    verdicts = [live.evict(B0, a_guard(), now=NOW + apart) for apart in (timedelta(hours=1), -timedelta(hours=1))]

    assert [(each.allowed, each.message) for each in verdicts] == [(False, "1 pod not ready in ingester-zone-a")] * 2


@pytest.mark.parametrize("jump", [timedelta(days=-365), timedelta(), timedelta(days=365)])
def test_a_mark_ends_after_two_minutes_wherever_the_clock_was_set(jump: timedelta) -> None:
    live = three_zones()
    live.age = 0.0
    assert live.evict(A0, a_guard()).allowed

    allowed = []
    for age in (KEPT.total_seconds() - 1, KEPT.total_seconds()):
        live.age = age
        allowed.append(live.evict(B0, a_guard(), now=NOW + jump).allowed)

    assert allowed == [False, True]


def test_a_mark_keeps_what_is_left_of_its_time_when_another_is_written() -> None:
    """By whichever clock: 50 s after the first mark a replica that is a day ahead writes another; 70 s are left."""
    marks = recalled(Good(written(mark((pod_of("a"),), {}, NOW), (), NOW), "1", age=50.0), NOW + timedelta(days=1))

    rewritten = written(mark((pod_of("b"),), marks, NOW + timedelta(days=1)), (), NOW + timedelta(days=1))

    for age, expected in ((69.0, True), (70.0, False)):
        assert is_marked(pod_of("a"), recalled(Good(rewritten, "2", age=age), NOW), NOW) is expected
    assert is_marked(pod_of("b"), recalled(Good(rewritten, "2", age=119.0), NOW), NOW)


def pod_of(letter: str) -> Pod:
    return three_zones().pods[f"ingester-zone-{letter}-0"]


def test_a_mark_of_an_earlier_release_counts_by_its_time_and_never_for_longer_than_any() -> None:
    uid = pod_of("a").metadata.uid
    old = b'{"ingester-zone-a-0":{"uid":"%s","until":"%s"}}'
    soon, far = (old % (uid.encode(), until) for until in (b"2026-03-01T12:01:00Z", b"2031-03-01T12:00:00Z"))

    assert recalled(Good(soon, "1", age=0.0), NOW)["ingester-zone-a-0"].until == NOW + timedelta(minutes=1)
    assert recalled(Good(far, "1", age=0.0), NOW)["ingester-zone-a-0"].until == NOW + KEPT
