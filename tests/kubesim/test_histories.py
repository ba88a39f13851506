"""How pods behave that come after those of a copy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kubesim.pods.behaviour import Behaviour, Defaults, Shape
from kubesim.pods.histories import CopiedPod, Histories, measured

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
USUAL = Defaults(1.0, 0.1)


def a_pod(
    name: str,
    *,
    age: float = 1000.0,
    ready_after: float | None = None,
    revision: str = "1",
    owner: str = "set",
    shape: Shape = Shape.RUNNING,
    gone_in: float | None = None,
) -> CopiedPod:
    created = NOW - timedelta(seconds=age)
    return CopiedPod(
        uid=f"uid-{name}",
        version="1",
        namespace="shop",
        name=name,
        labels={"app": "web", "controller-revision-hash": revision, "topology.kubernetes.io/zone": name},
        owner=owner,
        shape=Shape.READY if ready_after is not None else shape,
        created=created,
        ready_since=None if ready_after is None else created + timedelta(seconds=ready_after),
        deleted=None if gone_in is None else NOW + timedelta(seconds=gone_in),
    )


def new(histories: Histories, name: str, *, revision: str = "1", owner: str = "set", **annotations: str) -> Behaviour:
    labels = {"app": "web", "controller-revision-hash": revision, "topology.kubernetes.io/zone": "another"}
    return histories.behaviour(("shop", name), labels, owner, annotations, USUAL)


def test_a_pod_is_as_slow_as_the_one_that_had_its_name() -> None:
    histories = measured([a_pod("web-0", ready_after=20), a_pod("web-1", ready_after=60)], NOW)

    assert new(histories, "web-0").ready_after == 20
    assert new(histories, "web-0", revision="2").ready_after == 20


def test_a_pod_of_a_new_name_is_as_slow_as_its_siblings() -> None:
    """The lower of the two in the middle: one that flapped a day later needed no day."""
    times = (20, 30, 86400, 40)
    histories = measured([a_pod(f"web-{time}", ready_after=time, age=90000) for time in times], NOW)

    assert new(histories, "web-new").ready_after == 30


def test_a_pod_of_a_new_owner_is_as_slow_as_those_with_its_labels() -> None:
    """A Deployment makes a ReplicaSet for every template."""
    histories = measured([a_pod("web-a", ready_after=20)], NOW)

    assert new(histories, "web-b", owner="another", revision="2").ready_after == 20
    assert histories.behaviour(("other", "web-b"), {"app": "web"}, "another", {}, USUAL).ready_after == 1.0


@pytest.mark.parametrize(
    ("shape", "stuck"),
    [
        (Shape.RUNNING, {"hold": True}),
        (Shape.NEW, {"pending": True}),
        (Shape.IMAGE, {"image_fails": True}),
        (Shape.CRASHED, {"crash_after": 1.0}),
    ],
)
def test_a_pod_gets_stuck_as_its_siblings_are(shape: Shape, stuck: dict[str, object]) -> None:
    histories = measured([a_pod("web-a", shape=shape)], NOW)
    made = new(histories, "web-b")

    assert {key: getattr(made, key) for key in stuck} == stuck


def test_a_new_revision_is_not_stuck_for_what_was_wrong_with_another() -> None:
    pods = [a_pod("web-a", revision="2"), a_pod("web-b", ready_after=20)]

    made = new(measured(pods, NOW), "web-a", revision="3")

    assert (made.hold, made.ready_after) == (False, 20)


def test_one_ready_sibling_of_the_revision_is_enough() -> None:
    pods = [a_pod("web-a"), a_pod("web-b"), a_pod("web-c", ready_after=20)]
    histories = measured(pods, NOW)

    assert new(histories, "web-d").hold is False
    assert new(histories, "web-a").hold is True, "its own past goes before"


def test_annotations_go_before() -> None:
    histories = measured([a_pod("web-a", ready_after=20)], NOW)

    assert new(histories, "web-b", **{"fairlead.dev/sim-ready-after": "5s"}).ready_after == 5


def test_pods_rest_but_for_those_under_way_where_they_are_to_go_on() -> None:
    pods = [
        a_pod("ready", ready_after=30),
        a_pod("starting", age=10),
        a_pod("late", age=100),
        a_pod("crashed", age=10, shape=Shape.CRASHED),
        a_pod("ending", ready_after=30, gone_in=5),
        a_pod("stuck-ending", ready_after=30, gone_in=-5),
    ]

    all_of_them = measured(pods, NOW).resting
    left = measured(pods, NOW, go_on=True).resting

    assert set(all_of_them) == {pod.uid for pod in pods}
    assert set(all_of_them) - set(left) == {"uid-starting", "uid-ending"}


def test_a_pod_under_way_tells_nothing_of_what_is_wrong() -> None:
    pods = [a_pod("web-a", age=10, revision="2"), a_pod("web-b", ready_after=30)]

    assert new(measured(pods, NOW), "web-a", revision="2").hold is False
