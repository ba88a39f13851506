"""Preparations that came to nothing: who is told that it stays, when, and what keeps a downscale from being undone."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest
from msgspec import structs

from fairlead.api.apps import StatefulSet
from fairlead.api.zones import PREPARE_PORT, PREPARING, Settings
from fairlead.decide.ask import Answer, Bad, Question
from fairlead.decide.decision import Decision, Hold, Move
from fairlead.decide.zones.preparation_note import Note, note_of, noted
from fairlead.decide.zones.prepare_downscale import prepare_downscale
from fairlead.decide.zones.unfinished import AGAIN, OVERDUE, SOON, Seen, decide
from fairlead.drive.round import settle
from tests.builders import NOW
from tests.decide.zones.reviews import World, a_downscale, a_prepared_zone, judged, told_of

A = "ingester-zone-a"
LATER = NOW + OVERDUE
GROUPS = pytest.mark.parametrize("group", ["ingester", None])


def a_noted_zone(text: str, replicas: int = 5, **more: object) -> StatefulSet:
    zone = a_prepared_zone("a", replicas, **more)  # type: ignore[arg-type]
    annotations = {**zone.metadata.annotations, PREPARING: text}
    return structs.replace(zone, metadata=structs.replace(zone.metadata, annotations=annotations))


def passed(world: World, now: datetime = LATER, seen: StatefulSet | None = None) -> Hold | Move:
    """The end of a pass, carried out."""
    zone = seen or world.zones[A]

    async def ask(question: Question) -> Answer:
        if (others := world.meanwhile.pop(told_of(question), None)) is not None:
            await others(world)
        return world.answer(question)

    async def passing() -> Hold | Move:
        _, decision = await settle(decide, lambda answers: Seen(zone, answers, Settings()), now, ask)
        assert isinstance(decision, Decision)
        if isinstance(decision.verdict, Move):
            for write in decision.verdict.writes:
                world.answer(write)
        return decision.verdict

    return asyncio.run(passing())


@pytest.mark.parametrize(
    ("ordinals", "text"), [({4}, "4"), ({3, 4}, "3-4"), ({0, 3, 4, 5, 9}, "0,3-5,9"), (set(range(10_000)), "0-9999")]
)
def test_a_note_names_ordinals_and_is_read_again(ordinals: set[int], text: str) -> None:
    zone = a_prepared_zone("a", 5)
    patch = noted(zone, ordinals, NOW)
    assert patch is not None

    assert patch.change_to == f"2026-03-01T12:00:00Z {text}"
    assert note_of(a_noted_zone(patch.change_to)) == Note(NOW, frozenset(ordinals))


@pytest.mark.parametrize(
    "text", ["", "nonsense", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z a-b", "2026-03-01T12:00:00Z 0-99999999999"]
)
def test_a_note_that_cannot_be_read_is_taken_away(text: str) -> None:
    world = World(a_noted_zone(text))

    assert isinstance(passed(world), Move)
    assert (world.noted(A), world.asked("DELETE")) == (None, [])


def test_a_note_keeps_the_pods_of_the_one_before_that_are_still_wanted() -> None:
    patch = noted(a_noted_zone("2026-03-01T11:00:00Z 1,7"), [4], NOW)

    assert patch is not None
    assert patch.change_to == "2026-03-01T12:00:00Z 1,4"


@pytest.mark.parametrize(("seconds", "ordinals", "kept"), [(29, [4], True), (30, [4], False), (29, [3, 4], False)])
def test_a_fresh_note_that_says_it_all_stays_as_it_is(seconds: int, ordinals: list[int], kept: bool) -> None:
    """The API server repeats a review whose object changed; were it changed each time, that would never end (H-4)."""
    zone = a_noted_zone("2026-03-01T12:00:00Z 4")

    assert (noted(zone, ordinals, NOW + timedelta(seconds=seconds)) is None) is kept


def test_without_a_note_nothing_is_asked() -> None:
    world = World(a_prepared_zone("a"))

    assert passed(world) == Hold(decide(Seen(world.zones[A]), NOW).verdict.reason)  # type: ignore[union-attr]
    assert world.log == []


@GROUPS
def test_a_process_that_died_while_pods_prepared_is_made_up_for(group: str | None) -> None:
    """The pods that are still there are told, under the mark; then the note goes."""
    world = World(a_noted_zone("2026-03-01T12:00:00Z 3-4", group=group))
    world.prepared = frozenset({f"{A}-3", f"{A}-4"})

    early = passed(world, LATER - timedelta(seconds=1))
    assert isinstance(early, Hold)
    assert (early.again, world.log) == (LATER, [])

    assert isinstance(passed(world), Move)
    assert world.prepared == frozenset()
    assert world.noted(A) is None
    assert world.log == [
        "recall",
        f"get statefulset/{A}",
        f"take {A}",
        f"DELETE {A}-3",
        f"DELETE {A}-4",
        "end",
        f"forget {A}",
    ]


def test_pods_that_went_are_not_called() -> None:
    """The downscale took place."""
    world = World(a_noted_zone("2026-03-01T12:00:00Z 3-4", 3))

    assert isinstance(passed(world), Move)
    assert world.log == [f"forget {A}"]


def test_only_those_that_are_still_wanted_are_told() -> None:
    world = World(a_noted_zone("2026-03-01T12:00:00Z 2-4", 4))

    passed(world)

    assert world.asked("DELETE") == [f"DELETE {A}-2", f"DELETE {A}-3"]


def test_a_pod_that_gives_no_answer_is_told_again() -> None:
    world = World(a_noted_zone("2026-03-01T12:00:00Z 3-4"))
    world.fails[f"DELETE {A}-3"] = Bad("unreachable")

    verdict = passed(world)

    assert isinstance(verdict, Hold)
    assert verdict.again == LATER + AGAIN
    assert world.asked("DELETE") == [f"DELETE {A}-3", f"DELETE {A}-4"]
    assert world.noted(A) is not None
    assert world.log[-1] == "end"


def test_a_pod_that_says_no_has_heard_it() -> None:
    """As with B-4, a failure is logged and nothing else."""
    world = World(a_noted_zone("2026-03-01T12:00:00Z 4"))
    world.fails[f"DELETE {A}-4"] = Bad("failed", "it answered with status 405", 405)

    assert isinstance(passed(world), Move)


def test_a_downscale_in_progress_goes_first() -> None:
    """Also where the cache still shows the note of the one before."""
    seen = a_noted_zone("2026-03-01T12:00:00Z 4")
    world = World(seen, a_prepared_zone("b"))
    verdicts = []

    async def meanwhile(world: World) -> None:
        verdicts.append(await asyncio.to_thread(passed, world, LATER, seen))

    world.meanwhile[f"POST {A}-4"] = meanwhile
    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 4), now=LATER)

    assert admit.allowed
    assert [isinstance(each, Hold) and each.again == LATER + SOON for each in verdicts] == [True]
    assert world.asked("DELETE") == []


@pytest.mark.parametrize("changed", [{"text": "2026-03-01T12:02:59Z 4"}, {"replicas": 4}])
def test_what_the_cluster_no_longer_shows_is_not_acted_on(changed: dict[str, object]) -> None:
    """A cache that is behind shows the note of an earlier downscale, or pods that are going."""
    seen = a_noted_zone("2026-03-01T12:00:00Z 4")
    world = World(a_noted_zone(**{"text": "2026-03-01T12:00:00Z 4", **changed}))  # type: ignore[arg-type]

    verdict = passed(world, seen=seen)

    assert isinstance(verdict, Hold)
    assert world.asked("DELETE") == []


def test_one_that_cannot_be_called_any_more_is_left_alone() -> None:
    zone = a_noted_zone("2026-03-01T12:00:00Z 4")
    annotations = {key: value for key, value in zone.metadata.annotations.items() if key != PREPARE_PORT}
    world = World(structs.replace(zone, metadata=structs.replace(zone.metadata, annotations=annotations)))

    assert isinstance(passed(world), Move)
    assert world.log == [f"forget {A}"]
