"""Preparations that came to nothing: who is told that it stays, when, and what keeps a downscale from being undone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.admission.prepare_downscale import prepare_downscale
from fairlead.contracts.zones.decide.admission.unfinished_preparations import (
    AGAIN,
    OVERDUE,
    SOON,
    PreparationSnapshot,
    decide,
)
from fairlead.contracts.zones.kinds import PREPARE_PORT
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answer, Bad, Good, Question
from fairlead.core.decision import Decision, Hold, Move
from fairlead.engine.driver.round import settle
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import OwnerReference
from tests.builders import NOW, a_pod, pods_of
from tests.contracts.zones.decide.reviews import World, a_downscale, a_prepared_zone, judged, told_of, with_note

A = "ingester-zone-a"
NOTE = "2026-03-01T12:00:00Z"
LATER = NOW + OVERDUE
GROUPS = pytest.mark.parametrize("group", ["ingester", None])


def a_world(*noted: int, text: str = NOTE, replicas: int = 5, **more: object) -> World:
    """Zone a and its pods, of which these have a note."""
    zone = a_prepared_zone("a", replicas, **more)  # type: ignore[arg-type]
    other = a_prepared_zone("b")
    return World(zone, other, pods=(*with_notes(zone, noted, text), *pods_of(other, "new")))


def with_notes(zone: StatefulSet, noted: tuple[int, ...], text: str = NOTE) -> tuple[Pod, ...]:
    names = {f"{A}-{ordinal}" for ordinal in noted}
    return tuple(with_note(pod, text) if pod.metadata.name in names else pod for pod in pods_of(zone, "new"))


def pod_in(world: World, ordinal: int) -> Pod:
    return next(pod for pod in world.pods if pod.metadata.name == f"{A}-{ordinal}")


def passed(world: World, ordinal: int = 4, now: datetime = LATER, seen: Pod | None = None) -> Hold | Move:
    """The end of a pass about a pod, carried out."""
    pod = seen or pod_in(world, ordinal)

    async def ask(question: Question) -> Answer:
        if (others := world.meanwhile.pop(told_of(question), None)) is not None:
            await others(world)
        return world.answer(question)

    async def passing() -> Hold | Move:
        _, decision = await settle(decide, lambda answers: PreparationSnapshot(pod, answers, Settings()), now, ask)
        assert isinstance(decision, Decision)
        if isinstance(decision.verdict, Move):
            for write in decision.verdict.writes:
                assert isinstance(world.answer(write), Good)
        return decision.verdict

    return asyncio.run(passing())


def again(verdict: Hold | Move) -> datetime | None:
    assert isinstance(verdict, Hold)
    return verdict.again


@pytest.mark.parametrize("text", ["", "nonsense", "2026-03-01", "2026-03-01T12:00:00Z 3-4"])
def test_a_note_that_cannot_be_read_is_taken_away(text: str) -> None:
    world = a_world(4, text=text)

    assert isinstance(passed(world), Move)
    assert world.log == [f"forget {A}-4"]
    assert world.noted() == {}


def test_without_a_note_nothing_is_asked() -> None:
    world = a_world()

    assert again(passed(world)) is None
    assert world.log == []


@GROUPS
def test_a_process_that_died_while_pods_prepared_is_made_up_for(group: str | None) -> None:
    """A pod that is still wanted is told, under the mark; then its note goes."""
    world = a_world(3, 4, group=group)
    world.prepared = frozenset({f"{A}-3", f"{A}-4"})

    assert (again(passed(world, now=LATER - timedelta(seconds=1))), world.log) == (LATER, [])

    assert isinstance(passed(world), Move)
    assert world.prepared == {f"{A}-3"}
    assert world.noted() == {f"{A}-3": NOTE}
    assert world.log == [
        f"get statefulset/{A}",
        "recall",
        f"get statefulset/{A} again",
        f"get pod/{A}-4",
        f"take {A}",
        f"DELETE {A}-4",
        "end",
        f"forget {A}-4",
    ]

    assert isinstance(passed(world, 3), Move)
    assert (world.prepared, world.noted()) == (frozenset(), {})


@pytest.mark.parametrize("text", ["2026-03-02T12:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_note_by_a_clock_that_was_ahead_leaves_no_pod_prepared_for_as_long(text: str) -> None:
    """It gets the time that it is, and the pod is told three minutes after that."""
    world = a_world(4, text=text)
    world.prepared = frozenset({f"{A}-4"})

    assert isinstance(passed(world, now=NOW), Move)
    assert world.noted() == {f"{A}-4": NOTE}
    assert again(passed(world, now=NOW)) == LATER
    assert isinstance(passed(world, now=LATER), Move)
    assert (world.prepared, world.noted()) == (frozenset(), {})


def test_a_note_by_a_replica_that_is_a_little_ahead_stays() -> None:
    world = a_world(4, text="2026-03-01T12:02:00Z")

    assert again(passed(world, now=NOW)) == NOW + timedelta(minutes=2) + OVERDUE
    assert world.log == []


def test_pods_of_one_zone_take_turns() -> None:
    world = a_world(3, 4)
    verdicts = []

    async def meanwhile(world: World) -> None:
        verdicts.append(await asyncio.to_thread(passed, world, 3))

    world.meanwhile[f"DELETE {A}-4"] = meanwhile

    assert isinstance(passed(world), Move)
    assert list(map(again, verdicts)) == [LATER + SOON]
    assert world.asked("DELETE") == [f"DELETE {A}-4"]


def test_whoever_loses_the_mark_looks_again() -> None:
    world = a_world(3, 4)

    async def meanwhile(world: World) -> None:
        assert isinstance(await asyncio.to_thread(passed, world, 3), Move)

    world.meanwhile[f"take {A}"] = meanwhile

    assert isinstance(passed(world), Move)
    assert world.asked("recall") == ["recall"] * 3
    assert world.asked("DELETE") == [f"DELETE {A}-3", f"DELETE {A}-4"]


def test_a_pod_that_is_not_wanted_goes_by_itself_and_is_looked_at_again() -> None:
    """It may come to be wanted again before it has gone."""
    zone = a_prepared_zone("a", 5)
    world = World(a_prepared_zone("a", 3), pods=with_notes(zone, (4,)))

    assert again(passed(world)) == LATER + AGAIN
    assert world.asked("DELETE") == []
    assert world.noted() == {f"{A}-4": NOTE}

    world.zones[A] = zone
    assert isinstance(passed(world, now=LATER + AGAIN), Move)
    assert world.asked("DELETE") == [f"DELETE {A}-4"]


def test_a_pod_that_terminates_is_not_called() -> None:
    zone = a_prepared_zone("a", 5)
    world = World(zone, pods=(with_note(a_pod(zone, 4, "new", state="terminating"), NOTE),))

    assert again(passed(world)) is None
    assert world.log == []


def test_a_pod_that_gives_no_answer_is_told_again() -> None:
    world = a_world(4)
    world.fails[f"DELETE {A}-4"] = Bad("unreachable")

    assert again(passed(world)) == LATER + AGAIN
    assert world.asked("DELETE") == [f"DELETE {A}-4"]
    assert world.noted() == {f"{A}-4": NOTE}
    assert world.log[-1] == "end"


def test_a_pod_that_says_no_has_heard_it() -> None:
    """As with B-4, a failure is logged and nothing else."""
    world = a_world(4)
    world.fails[f"DELETE {A}-4"] = Bad("failed", "it answered with status 405", 405)

    assert isinstance(passed(world), Move)


def test_a_downscale_in_progress_goes_first() -> None:
    """Also where the cache still shows the note of the one before."""
    world = a_world(4)
    seen, verdicts = pod_in(world, 4), []

    async def meanwhile(world: World) -> None:
        verdicts.append(await asyncio.to_thread(passed, world, 4, LATER, seen))

    world.meanwhile[f"POST {A}-4"] = meanwhile
    admit = judged(prepare_downscale, world, a_downscale(world.zones[A], 4), now=LATER)

    assert admit.allowed
    assert list(map(again, verdicts)) == [LATER + SOON]
    assert world.asked("DELETE") == []


@pytest.mark.parametrize("step", [f"get statefulset/{A}", "recall", f"get statefulset/{A} again", f"take {A}"])
@GROUPS
def test_a_downscale_that_is_let_through_meanwhile_is_not_undone(group: str | None, step: str) -> None:
    """The API server has not stored it yet: only the note, which it has renewed, and the mark tell of it."""
    world = a_world(4, group=group)

    async def meanwhile(world: World) -> None:
        admit = await asyncio.to_thread(judged, prepare_downscale, world, a_downscale(world.zones[A], 4), now=LATER)
        assert admit.allowed

    world.meanwhile[step] = meanwhile

    assert again(passed(world)) == LATER + SOON
    assert world.asked("DELETE") == []
    assert world.prepared == {f"{A}-4"}


def terminating(world: World) -> None:
    world.pods = (with_note(a_pod(world.zones[A], 4, "new", state="terminating"), NOTE),)


def replaced(world: World) -> None:
    world.pods = (with_note(a_pod(world.zones[A], 4, "newer"), NOTE),)


def gone(world: World) -> None:
    world.pods = ()


def scaled(world: World) -> None:
    world.zones[A] = a_prepared_zone("a", 4)


def moved(world: World) -> None:
    world.zones[A] = a_prepared_zone("a", 5, group="store")


@pytest.mark.parametrize("change", [terminating, replaced, gone, scaled, moved])
def test_what_the_cluster_no_longer_shows_is_not_acted_on(change: Callable[[World], None]) -> None:
    world = a_world(4)
    seen = pod_in(world, 4)

    async def meanwhile(world: World) -> None:
        change(world)

    world.meanwhile["recall"] = meanwhile

    assert again(passed(world, seen=seen)) == LATER + SOON
    assert world.asked("DELETE") == []
    assert world.asked("take") == []


@pytest.mark.parametrize("told", [f"get statefulset/{A}", "recall", f"get statefulset/{A} again", f"get pod/{A}-4"])
def test_what_cannot_be_read_is_read_again_soon(told: str) -> None:
    world = a_world(4)
    world.fails[told] = Bad("timeout")

    assert again(passed(world)) == LATER + SOON
    assert (world.asked("DELETE"), world.noted()) == ([], {f"{A}-4": NOTE})


def test_a_pod_of_an_earlier_statefulset_waits_until_it_is_adopted_or_gone() -> None:
    world = a_world(4)
    owner = OwnerReference("StatefulSet", A, "another", "apps/v1", True)
    pod = pod_in(world, 4)
    seen = structs.replace(pod, metadata=structs.replace(pod.metadata, owner_references=(owner,)))

    assert again(passed(world, seen=seen)) == LATER + SOON
    assert world.asked("DELETE") == []


def unlabelled(world: World) -> None:
    world.zones[A] = a_prepared_zone("a", 5, label=None)


def portless(world: World) -> None:
    zone = world.zones[A]
    annotations = {key: value for key, value in zone.metadata.annotations.items() if key != PREPARE_PORT}
    world.zones[A] = structs.replace(zone, metadata=structs.replace(zone.metadata, annotations=annotations))


def without_zone(world: World) -> None:
    del world.zones[A]


def without_owner(world: World) -> None:
    world.pods = (with_note(a_pod(world.zones[A], 4, "new", owner=""), NOTE),)


def named_otherwise(world: World) -> None:
    pod = pod_in(world, 4)
    world.zones["other"] = structs.replace(
        world.zones[A], metadata=structs.replace(world.zones[A].metadata, name="other")
    )
    owner = OwnerReference("StatefulSet", "other", world.zones[A].metadata.uid, "apps/v1", True)
    world.pods = (structs.replace(pod, metadata=structs.replace(pod.metadata, owner_references=(owner,))),)


@pytest.mark.parametrize("change", [unlabelled, portless, without_zone, without_owner, named_otherwise])
def test_one_that_cannot_be_called_any_more_only_loses_its_note(change: Callable[[World], None]) -> None:
    world = a_world(4)
    change(world)

    assert isinstance(passed(world), Move)
    assert (world.asked("DELETE"), world.asked("take")) == ([], [])
    assert world.noted() == {}
