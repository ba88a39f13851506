"""Section 3.11, rule 45: the mark of a downscale in progress, who takes it, who ends it, and who is denied by it."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.admission.prepare_downscale import prepare_downscale
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot
from fairlead.core.ask import Bad, Good, Need
from tests.builders import NOW
from tests.contracts.zones.decide.reviews import (
    STAMP,
    A,
    B,
    World,
    a_downscale,
    a_prepared_zone,
    a_world,
    judged,
    judging,
)


def test_a_mark_that_could_not_be_ended_in_time_is_ended_after_the_answer() -> None:
    world = a_world()
    world.fails["end"] = Bad("timeout")

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert admit.allowed
    assert world.log[-2:] == ["answer", "end"]


def test_a_mark_that_is_anothers_by_now_is_left_alone() -> None:
    world = a_world()
    world.fails["end"] = Bad("conflict")

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert admit.allowed
    assert admit.afterwards == ()


def test_a_second_downscale_of_the_group_is_denied_at_once() -> None:
    """Rule 45, H-3: naming the zone in progress, without a list."""
    world = a_world()
    second = []

    async def in_between(world: World) -> None:
        second.append(await judging(prepare_downscale, world, a_downscale(world.zones[B], 1, uid="review-2")))

    world.meanwhile[f"POST {A}-3"] = in_between
    first = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert first.allowed
    assert (second[0].allowed, second[0].word, second[0].level) == (False, "in-progress", "warn")
    assert A in second[0].message
    assert len(world.asked("recall")) == 2
    assert len(world.asked("list")) == 2


def test_other_groups_and_namespaces_have_marks_of_their_own() -> None:
    a, other = a_prepared_zone("a", 5), a_prepared_zone("c", 5, group="store")
    reviews = (a_downscale(a, 3), a_downscale(other, 3), structs.replace(a_downscale(a, 3), namespace="elsewhere"))

    needs = [prepare_downscale(ReviewSnapshot(review), NOW) for review in reviews]

    records = [need.stages for need in needs if isinstance(need, Need)]
    assert len(records) == len(set(records)) == 3


def test_a_swap_that_is_lost_begins_anew_and_sees_what_the_winner_did() -> None:
    world = a_world()
    world.meanwhile[f"take {A}"] = judged_b

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert (admit.allowed, admit.word) == (False, "too-soon")
    assert world.asked("POST") == [f"POST {B}-1", f"POST {B}-2"]
    assert world.last(B) is not None


async def judged_b(world: World) -> None:
    admit = await judging(prepare_downscale, world, a_downscale(world.zones[B], 1, uid="review-2"))
    assert admit.allowed


def test_a_mark_that_cannot_be_taken_denies_without_calling_anybody() -> None:
    world = a_world()
    world.fails[f"take {A}"] = Bad("refused", "forbidden")

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert (admit.allowed, admit.word) == (False, "record-unwritten")
    assert admit.afterwards == ()
    assert not world.asked("POST")


@pytest.mark.parametrize(
    "value",
    [
        b'{"zone":"ingester-zone-b","until":"2026-03-01T12:00:00Z"}',
        b'{"zone":"ingester-zone-b","until":"2026-03-01T13:00:00"}',
        b'{"zone":"ingester-zone-b","until":"soon"}',
        b"nonsense",
    ],
    ids=["expired", "of no time zone", "without time", "no mark"],
)
def test_an_expired_mark_and_one_that_cannot_be_read_count_as_none(value: bytes) -> None:
    world = a_world()
    world.record = Good(value, "7")

    assert judged(prepare_downscale, world, a_downscale(world.zones[A], 3)).allowed


@pytest.mark.parametrize(("age", "is_held"), [(0.0, True), (19.0, True), (20.0, False)])
@pytest.mark.parametrize("apart", [timedelta(days=-1), timedelta(), timedelta(days=1)])
def test_a_mark_counts_for_its_length_whatever_time_of_day_its_replica_had(
    apart: timedelta, age: float, is_held: bool
) -> None:
    """Of 20 seconds, from when it is first read: one that is far ahead holds nobody back for a day, and one that is
    behind is no less in progress."""
    times = {"at": NOW + apart, "until": NOW + apart + timedelta(seconds=20)}
    world = a_world()
    world.record = Good(msgspec.json.encode({"zone": B, **times}), "7", age=age)

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert (admit.word == "in-progress") is is_held


def test_a_mark_outlasts_the_request_and_its_undoing() -> None:
    """64 pods are two batches; 10 s for the request, 5 s for each batch and 5 s to spare."""
    world = World(a_prepared_zone("a", 64), a_prepared_zone("b"))
    world.fails[f"POST {A}-0"] = Bad("failed")
    until = []

    async def look(world: World) -> None:
        until.append(msgspec.json.decode(world.record.value)["until"])

    world.meanwhile[f"POST {A}-0"] = look

    judged(prepare_downscale, world, a_downscale(world.zones[A], 0))

    assert until == ["2026-03-01T12:00:25Z"]


def test_a_deadline_that_passes_is_a_denial() -> None:
    """Whatever is asked when the time is over is answered `late`."""
    world = a_world()
    for told in (f"POST {A}-3", f"POST {A}-4", STAMP, f"DELETE {A}-3", f"DELETE {A}-4", "end"):
        world.fails[told] = Bad("late", "the request's time is over")

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert not admit.allowed
    assert "time is over" in admit.message
    assert len(admit.afterwards) == 2


def test_a_zone_without_group_has_a_mark_of_its_own() -> None:
    world = World(a_prepared_zone("a", 5, group=None))

    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 3))

    assert admit.allowed
    assert world.log == [
        "recall",
        f"get statefulset/{A}",
        f"take {A}",
        f"note {A}-3",
        f"note {A}-4",
        f"POST {A}-3",
        f"POST {A}-4",
        STAMP,
        "end",
        "answer",
    ]
