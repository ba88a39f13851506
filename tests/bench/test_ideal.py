"""The ideal deleter is safe: what it takes next, from what it has seen and what it has done."""

from __future__ import annotations

from bench.ideal import Ideal
from bench.narrow import Container, Line, Meta, Pod, PodStatus, Running, Spec, State, StatefulSet, Status

READY = PodStatus("Running", (Container(ready=True, state=State(Running())),))


def a_zone(letter: str, *, budget: int = 1, generation: int = 2, observed: int = 2) -> StatefulSet:
    annotations = {"rollout-max-unavailable": str(budget)}
    meta = Meta(letter, f"uid-{letter}", "1", generation, {"rollout-group": "group"}, annotations)
    return StatefulSet(meta, Spec(3), Status(observed, 3, 3, "old", "new"))


def a_pod(
    zone: str, ordinal: int, revision: str = "old", *, status: PodStatus = READY, deleted: str | None = None
) -> Pod:
    labels = {"name": zone, "controller-revision-hash": revision}
    meta = Meta(f"{zone}-{ordinal}", f"{zone}-{ordinal}-{revision}", "1", 0, labels, {}, deleted)
    return Pod(meta, status)


def an_ideal(*zones: StatefulSet) -> Ideal:
    """Two zones, a and b, with all pods ready and outdated."""
    ideal = Ideal()
    for zone in zones or (a_zone("a"), a_zone("b")):
        ideal.see_zone(zone)
        for ordinal in range(3):
            ideal.see_pod(Line("ADDED", a_pod(zone.metadata.name, ordinal)))
    return ideal


def taken(ideal: Ideal) -> list[str]:
    return [pod.metadata.name for pod in ideal.take("group")]


def test_it_starts_with_the_lowest_pod_of_the_first_zone() -> None:
    assert taken(an_ideal()) == ["a-0"]


def test_it_takes_as_many_as_the_budget_allows() -> None:
    assert taken(an_ideal(a_zone("a", budget=2), a_zone("b"))) == ["a-0", "a-1"]


def test_a_pod_it_has_taken_is_out_although_the_watch_does_not_show_it_yet() -> None:
    ideal = an_ideal()
    taken(ideal)

    assert taken(ideal) == []


def test_it_goes_on_when_the_successor_is_ready() -> None:
    ideal = an_ideal()
    taken(ideal)
    ideal.see_pod(Line("MODIFIED", a_pod("a", 0, deleted="now")))
    ideal.see_pod(Line("DELETED", a_pod("a", 0, deleted="now")))
    ideal.see_pod(Line("ADDED", a_pod("a", 0, "new", status=PodStatus("Pending"))))
    waiting = taken(ideal)

    ideal.see_pod(Line("MODIFIED", a_pod("a", 0, "new")))

    assert waiting == []
    assert taken(ideal) == ["a-1"]


def test_the_next_zone_waits_until_the_last_pod_of_this_one_is_ready() -> None:
    ideal = an_ideal()
    for ordinal in range(3):
        ideal.see_pod(Line("MODIFIED", a_pod("a", ordinal, "new")))
    ideal.see_pod(Line("MODIFIED", a_pod("a", 2, "new", status=PodStatus("Pending"))))
    waiting = taken(ideal)

    ideal.see_pod(Line("MODIFIED", a_pod("a", 2, "new")))

    assert waiting == []
    assert taken(ideal) == ["b-0"]


def test_a_disturbed_zone_goes_first() -> None:
    ideal = an_ideal(a_zone("a"), a_zone("b", budget=2))

    ideal.see_pod(Line("MODIFIED", a_pod("b", 2, "new", status=PodStatus("Pending"))))

    assert taken(ideal) == ["b-0"]


def test_with_two_zones_disturbed_it_takes_nothing() -> None:
    ideal = an_ideal(a_zone("a", budget=2), a_zone("b", budget=2))

    for zone in ("a", "b"):
        ideal.see_pod(Line("MODIFIED", a_pod(zone, 2, status=PodStatus("Pending"))))

    assert taken(ideal) == []


def test_it_waits_for_the_revision_of_a_new_template() -> None:
    ideal = an_ideal(a_zone("a", generation=3), a_zone("b"))
    waiting = taken(ideal)

    ideal.see_zone(a_zone("a", generation=3, observed=3))

    assert waiting == []
    assert taken(ideal) == ["a-0"]
