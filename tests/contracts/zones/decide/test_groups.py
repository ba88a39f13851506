from __future__ import annotations

import pytest

from fairlead.contracts.zones.decide.groups import Zone, group_of
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import LabelSelector, LabelSelectorRequirement
from tests.builders import NOW, a_pod, a_zone, pods_of, seen

A = a_zone("a", 1)
B = a_zone("b", 1)
UNNAMED = a_zone("a", 1, label=None)
BY_EXPRESSION = a_zone(
    "a", 1, label=None, selector=LabelSelector({}, (LabelSelectorRequirement("zone", "In", ("a", "x")),))
)
SELECTS_NOTHING = a_zone("a", 1, label=None, selector=LabelSelector())

MEMBERSHIP = {
    "controlled by the zone": (A, a_pod(A), True),
    "controlled by the zone, name label not there yet": (A, a_pod(A, labels={}), True),
    "controlled by the zone, with another zone's name label": (A, a_pod(A, labels={"name": B.metadata.name}), True),
    "controlled by another, with the zone's name label": (A, a_pod(A, owner="uid-other"), False),
    "loose with the zone's name label": (A, a_pod(A, owner=""), True),
    "loose with another name label": (A, a_pod(A, owner="", labels={"name": "other"}), False),
    "loose without name label": (A, a_pod(A, owner="", labels={"app": "ingester", "zone": "a"}), False),
    "template without name: loose and selected": (
        UNNAMED,
        a_pod(A, owner="", labels={"app": "ingester", "zone": "a"}),
        True,
    ),
    "template without name: loose and not selected": (UNNAMED, a_pod(A, owner="", labels={"app": "ingester"}), False),
    "template without name: controlled": (UNNAMED, a_pod(A, labels={}), True),
    "template without name: selected by expression": (BY_EXPRESSION, a_pod(A, owner="", labels={"zone": "x"}), True),
    "template without name: expression fails": (BY_EXPRESSION, a_pod(A, owner="", labels={"zone": "y"}), False),
    "a selector that asks for nothing": (SELECTS_NOTHING, a_pod(A, owner="", labels={"zone": "a"}), False),
}


@pytest.mark.parametrize(("zone", "pod", "member"), MEMBERSHIP.values(), ids=MEMBERSHIP.keys())
def test_pods_belong_to_their_controller_or_else_to_who_selects_them(zone: StatefulSet, pod: Pod, member: bool) -> None:
    group = group_of(seen(zone, B, pod), NOW)

    assert [p.metadata.name for p in group.zones[0].pods] == ([pod.metadata.name] if member else [])


def test_a_loose_pod_with_the_label_of_two_zones_counts_in_both() -> None:
    twin = a_zone("b", 1, label=A.metadata.name)

    group = group_of(seen(A, twin, a_pod(A, owner="")), NOW)

    assert [len(zone.pods) for zone in group.zones] == [1, 1]


def test_zones_are_handled_in_plain_order_of_their_names() -> None:
    group = group_of(seen(a_zone("b"), a_zone("10"), a_zone("9"), a_zone("a")), NOW)

    assert [zone.name[-2:].strip("-") for zone in group.zones] == ["10", "9", "a", "b"]


def zone_of(statefulset: StatefulSet, *pods: Pod | tuple[Pod, ...]) -> Zone:
    return group_of(seen(statefulset, *pods), NOW).zones[0]


def test_outdated_pods_are_sorted_by_ordinal_and_not_as_text() -> None:
    zone = a_zone(replicas=12)

    outdated = zone_of(zone, pods_of(zone)[::-1]).outdated

    assert [pod.metadata.name.rsplit("-")[-1] for pod in outdated] == [str(i) for i in range(12)]


def test_a_pod_without_revision_is_outdated() -> None:
    zone = a_zone(replicas=1)

    assert len(zone_of(zone, a_pod(zone, 0, None)).outdated) == 1


def test_pods_of_an_abandoned_revision_are_outdated_though_the_zone_records_no_change() -> None:
    zone = a_zone(current="old", update="old")

    outdated = zone_of(zone, pods_of(zone, "old", _1="ready new")).outdated

    assert [pod.metadata.name[-1] for pod in outdated] == ["1"]


READY = {
    "all there and ready": (a_zone(), {}, True),
    "no replicas wanted": (a_zone(replicas=0), {}, True),
    "status counts a pod not ready": (a_zone(ready=2), {}, False),
    "a pod is not ready though the status says so": (a_zone(), {"_1": "notReady"}, False),
    "a pod terminates though the status counts it": (a_zone(), {"_0": "terminating"}, False),
    "a pod is gone though the status counts it": (a_zone(), {"_0": "missing"}, False),
    "a pod was never made": (a_zone(known=2), {"_2": "missing"}, False),
    "ordinals start at 5": (a_zone(start=5), {}, True),
    "ordinals start at 5 and one is gone": (a_zone(start=5), {"_7": "missing"}, False),
}


@pytest.mark.parametrize(("statefulset", "states", "ready"), READY.values(), ids=READY.keys())
def test_a_zone_is_ready_when_status_and_pods_agree_that_all_are(
    statefulset: StatefulSet, states: dict[str, str], ready: bool
) -> None:
    assert zone_of(statefulset, pods_of(statefulset, **states)).is_ready is ready


def test_a_stray_pod_does_not_stand_in_for_a_missing_one() -> None:
    zone = a_zone()
    stray = a_pod(zone, name="debug", owner="")

    found = zone_of(zone, pods_of(zone, _1="missing"), stray)

    assert (len(found.pods), found.missing, found.is_ready) == (3, 1, False)


USED = {
    "nothing": (a_zone(), {}, 0),
    "the status knows of one more than the pods show": (a_zone(ready=2), {}, 1),
    "the pods show two that the status does not know of": (a_zone(), {"_0": "terminating", "_1": "missing"}, 2),
    "the same pod is not counted twice": (a_zone(ready=2), {"_0": "notReady"}, 1),
    "a scale-up counts the pods that are not there": (
        a_zone(replicas=3, known=1),
        {"_1": "missing", "_2": "missing"},
        2,
    ),
    "a pod that the status does not know of yet": (a_zone(known=2), {}, 1),
    "pods never made, with a status that knows only the others": (a_zone(known=2), {"_2": "missing"}, 1),
}


@pytest.mark.parametrize(("statefulset", "states", "used"), USED.values(), ids=USED.keys())
def test_the_budget_is_used_by_the_worse_of_status_and_pods(
    statefulset: StatefulSet, states: dict[str, str], used: int
) -> None:
    assert zone_of(statefulset, pods_of(statefulset, **states)).not_ready == used


def test_pods_that_leave_in_a_scale_down_use_the_budget_until_the_status_forgets_them() -> None:
    five_known, four_known = a_zone(replicas=3, known=5), a_zone(replicas=3, known=4)
    kept = pods_of(five_known)
    third, leaving = a_pod(five_known, 3), a_pod(five_known, 4, state="terminating")

    before = zone_of(five_known, kept, third, leaving)
    gone = zone_of(five_known, kept, third)
    told = zone_of(four_known, kept, third)

    assert [before.not_ready, gone.not_ready, told.not_ready] == [1, 1, 0]
    assert [before.is_ready, gone.is_ready, told.is_ready] == [False, False, True]
