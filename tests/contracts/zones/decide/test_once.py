"""What follows from the same objects is worked out once: within a round, and from one round to the next."""

from __future__ import annotations

import gc
from collections.abc import Callable
from datetime import timedelta
from weakref import ref

import pytest

from fairlead.contracts.zones.decide import Snapshot, groups
from fairlead.contracts.zones.decide.groups import group_of, zone_of
from fairlead.contracts.zones.decide.rollout import zone_order
from fairlead.contracts.zones.decide.rollout.zone_order import zone_order_of
from fairlead.contracts.zones.explain import explain
from fairlead.contracts.zones.progress_metrics import standings_of
from tests.builders import NOW, a_pod, a_zone, pods_of, seen
from tests.contracts.zones.decide.judging import settled

A, B = a_zone("a", 2, ready=1), a_zone("b", 2)
PODS = (a_pod(A, 0, state="notReady"), a_pod(A, 1), *pods_of(B))
LATER = NOW + timedelta(minutes=1)

Calls = Callable[[object, str], list[object]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Counts the calls of a module's function from now on, by their first arguments."""

    def counted(module: object, name: str) -> list[object]:
        made: list[object] = []
        function = getattr(module, name)

        def counting(first: object, *others: object) -> object:
            made.append(first)
            return function(first, *others)

        monkeypatch.setattr(module, name, counting)
        return made

    return counted


def test_one_round_works_out_its_zones_and_their_order_once(calls: Calls) -> None:
    """The decision, the metrics and the explanation of a round look at the same Snapshot."""
    view = seen(A, B, *PODS)
    zones, orders = calls(groups, "zone_of"), calls(zone_order, "order_of")

    decision = settled(view)
    standings_of(view, NOW)
    explain(view, decision, NOW)

    assert zones == [A, B]
    assert len(orders) == 1


def test_another_moment_is_judged_anew(calls: Calls) -> None:
    view = seen(A, B, *PODS)
    orders = calls(zone_order, "order_of")

    for now in (NOW, LATER, LATER):
        assert zone_order_of(group_of(view, now)).active is not None

    assert len(orders) == 2


def test_of_zones_that_did_not_change_the_next_round_knows_what_follows(calls: Calls) -> None:
    before = seen(A, B, *PODS)
    known = group_of(before, NOW).zones
    zones = calls(groups, "zone_of")

    after = group_of(seen(A, B, a_pod(A, 0), *PODS[1:]), LATER).zones

    assert zones == [A]
    assert after[1] is known[1]
    assert after[0].unready == 0


OTHER = a_zone("a", 2, ready=2, version="2")
CHANGES: dict[str, tuple[Snapshot, int]] = {
    "a pod in another version": (seen(A, B, a_pod(A, 0), *PODS[1:]), 1),
    "a pod more": (seen(A, B, *PODS, a_pod(A, 2, state="notReady")), 2),
    "a pod less": (seen(A, B, *PODS[1:]), 1),
    "a StatefulSet in another version": (seen(OTHER, B, *PODS), 1),
}


@pytest.mark.parametrize(("view", "not_ready"), CHANGES.values(), ids=CHANGES.keys())
def test_whatever_changed_is_worked_out_again(view: Snapshot, not_ready: int) -> None:
    """What a zone was known as does not outlive the objects that it was known from."""
    before = seen(A, B, *PODS)
    known = group_of(before, NOW).zones[0]

    zone = group_of(view, NOW).zones[0]

    assert zone is not known
    assert zone == zone_of(zone.statefulset, zone.pods, NOW)
    assert zone.not_ready == not_ready


def test_what_minimum_ready_seconds_make_of_a_zone_depends_on_the_moment() -> None:
    slow = a_zone("a", 1, min_ready=30)
    pod = a_pod(slow, since=NOW)
    before, after = seen(slow, pod), seen(slow, pod)

    assert group_of(before, NOW).zones[0].not_yet_available == (pod,)
    assert group_of(after, LATER).zones[0].not_yet_available == ()


def test_a_snapshot_and_what_it_carries_are_freed_at_once() -> None:
    """Without waiting for a collection of garbage, which would keep old versions of pods for a long time."""
    zone = a_zone("freed", 2)
    view = seen(zone, *pods_of(zone))
    carried = ref(group_of(view, NOW).zones[0])
    zone_order_of(group_of(view, NOW))
    gc.disable()

    try:
        del view
        kept = carried()
    finally:
        gc.enable()

    assert kept is None
