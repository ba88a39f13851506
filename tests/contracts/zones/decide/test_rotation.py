"""Pods with the label of rotation are replaced by the rules of a rollout, whatever their revision."""

from __future__ import annotations

import pytest

from fairlead.contracts.zones.explain import explain
from fairlead.contracts.zones.kinds import NAME_LABEL, ROTATE
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from tests.builders import NOW, a_pod, a_zone, pods_of, seen
from tests.contracts.zones.decide.judging import completed, deleted, settled, waits_for


def at_rest(letter: str, replicas: int = 3, **more: str) -> StatefulSet:
    return a_zone(letter, replicas, current="new", **more)  # type: ignore[arg-type]


def some_marked(zone: StatefulSet, *ordinals: int, value: str = "true", state: str = "ready") -> tuple[Pod, ...]:
    """All pods of the zone on the update revision, these with the label."""
    labels = {NAME_LABEL: zone.metadata.name}
    return tuple(
        a_pod(zone, place, "new", labels={**labels, ROTATE: value}, state=state)
        if place in ordinals
        else a_pod(zone, place, "new")
        for place in range(zone.spec.replicas)
    )


def test_a_marked_pod_is_replaced_although_it_is_of_the_update_revision() -> None:
    zone = at_rest("a")

    assert deleted(settled(seen(zone, some_marked(zone, 1)))) == ["a-1"]


@pytest.mark.parametrize("value", ["false", "True", "1", ""])
def test_only_the_exact_value_marks(value: str) -> None:
    zone = at_rest("a")

    assert settled(seen(zone, some_marked(zone, 1, value=value))).verdict == Hold(Reason.COMPLETE)


def test_the_budget_of_the_zone_and_the_order_of_ordinals_hold() -> None:
    zone = at_rest("a", 12, max_unavailable="3")

    assert deleted(settled(seen(zone, some_marked(zone, 11, 10, 2, 9)))) == ["a-2", "a-9", "a-10"]


def test_zones_take_turns() -> None:
    a, b = at_rest("a"), at_rest("b")

    assert deleted(settled(seen(a, b, some_marked(a, 2), some_marked(b, 0)))) == ["a-2"]


def test_a_zone_that_is_not_ready_goes_first_and_its_marks_wait_for_its_budget() -> None:
    a, b = at_rest("a"), at_rest("b")
    everything = seen(a, b, some_marked(a, 0), some_marked(b, 0)[:2], a_pod(b, 2, "new", state="notReady"))

    assert waits_for(settled(everything)) is Reason.BUDGET_USED


def test_a_marked_pod_that_terminates_is_left_alone() -> None:
    zone = at_rest("a")

    decision = settled(seen(zone, some_marked(zone, 1, state="terminating")))

    assert waits_for(decision) is Reason.BUDGET_USED


def test_outdated_and_marked_pods_go_in_one_order() -> None:
    zone = a_zone("a", max_unavailable="3")
    mixed = (a_pod(zone, 0, "new"), some_marked(zone, 1)[1], a_pod(zone, 2, "old"))

    assert deleted(settled(seen(zone, mixed))) == ["a-1", "a-2"]


def test_a_revision_is_recorded_once_no_marked_pod_is_left() -> None:
    zone = a_zone("a")

    rotating = settled(seen(zone, some_marked(zone, 1)))
    done = settled(seen(zone, pods_of(zone, "new")))

    assert (completed(rotating), deleted(rotating)) == ([], ["a-1"])
    assert completed(done) == ["a"]


def test_a_paused_zone_is_not_rotated() -> None:
    zone = at_rest("a", paused="true")

    assert settled(seen(zone, some_marked(zone, 1))).verdict == Hold(Reason.PAUSED)


def test_a_mark_in_the_template_is_ignored_and_said_once() -> None:
    zone = a_zone("a", current="new", template={ROTATE: "true"})
    snapshot = seen(zone, some_marked(zone, 0, 1, 2))

    first, again = settled(snapshot), settled(snapshot)

    assert (first.verdict, first) == (Hold(Reason.COMPLETE), again)
    (told,) = first.tell
    assert (told.reason, told.warning, told.about.name) == ("InvalidAnnotation", True, "ingester-zone-a")
    assert ROTATE in told.text


def test_with_a_mark_in_the_template_outdated_pods_still_go() -> None:
    zone = a_zone("a", template={ROTATE: "true"})

    assert deleted(settled(seen(zone, pods_of(zone, "old")))) == ["a-0"]


def test_the_explanation_shows_a_rotation_as_no_rollback() -> None:
    a, b = at_rest("a"), at_rest("b")
    snapshot = seen(a, b, some_marked(a, 1), some_marked(b, 0, 1, 2))

    shown = explain(snapshot, settled(snapshot), NOW)

    assert [lane.phase for lane in shown.stands.lanes] == ["Rolling", "Pending"]
    assert [cell.revision for cell in shown.stands.lanes[0].cells] == ["new", "old", "new"]
    assert (shown.stands.done, shown.stands.total) == (2, 6)
