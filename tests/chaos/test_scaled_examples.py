"""Schedules of scaling and evicting that come close to breaking an invariant, each under its name."""

from __future__ import annotations

import asyncio

import pytest

from kubesim.draws import Draws
from kubesim.faults import Fault
from tests.chaos import door
from tests.chaos.scaled import GroupPlan, Scaled, ScaledWorld
from tests.chaos.steps import MEANS
from tests.chaos.world import Process, Scenario, World, play
from tests.chaos.zone_plans import ZonePlan

ZONES = tuple(ZonePlan("g", f"zone-{letter}", 3) for letter in "abc")
RESYNC = 300.0
MARKED_FOR = 20.0
"""Seconds for which the mark of a downscale of one pod holds: a request, and calls to it and to undo."""


def play_scaled(setting: Scaled, scenario: Scenario) -> ScaledWorld:
    world = play(setting, scenario, of=ScaledWorld)
    assert isinstance(world, ScaledWorld)
    return world


def in_turns(world: ScaledWorld) -> None:
    """Requests go to the replicas one after the other."""

    class Turns(Draws):
        turn = 0

        def below(self, limit: int) -> int:
            self.turn += 1
            return self.turn % limit

    world.door.draws = Turns(0, "turns")


@pytest.mark.parametrize("seed", range(4))
def test_an_eviction_that_one_replica_let_pass_counts_for_the_other(seed: int) -> None:
    async def scenario(world: World) -> None:
        assert isinstance(world, ScaledWorld)
        in_turns(world)
        world.start()
        await asyncio.sleep(5)

        statuses = await asyncio.gather(*(world.evicted(f"zone-{letter}-0") for letter in "ab"))

        assert sorted(statuses) == [201, 429]

    setting = Scaled(ZONES, seed=seed, leased=True, operators=2, latency=0.1, groups=(GroupPlan("g", budget="zone"),))
    world = play_scaled(setting, scenario)

    assert len({review.by.name for review in world.door.reviews}) == 2
    assert len(world.referee.evictions) == 1


@pytest.mark.parametrize("seed", range(4))
def test_of_two_zones_scaled_at_once_through_two_replicas_one_is_admitted_at_most(seed: int) -> None:
    async def scenario(world: World) -> None:
        assert isinstance(world, ScaledWorld)
        in_turns(world)
        world.start()
        await asyncio.sleep(5)
        await asyncio.gather(*(world.scaled_by("patch", f"zone-{letter}", 2) for letter in "ab"))

    setting = Scaled(ZONES, seed=seed, leased=True, operators=2, latency=0.1, groups=(GroupPlan("g", least="10m"),))
    world = play_scaled(setting, scenario)

    assert len(world.referee.downscales) <= 1


def test_a_replica_that_dies_while_pods_prepare_holds_the_others_back_for_a_while_only() -> None:
    """Its mark runs out; until then the other replica names the zone that is in progress."""

    async def scenario(world: World) -> None:
        assert isinstance(world, ScaledWorld)
        world.start()
        await asyncio.sleep(5)
        world.pods_called.manners["zone-a-2"] = "hanging"
        world.begin(world.scaled_by("patch", "zone-a", 2))
        await asyncio.sleep(1)
        for replica in world.replicas:
            replica.kill()
        await world.idle()
        await asyncio.sleep(5)

        assert await world.scaled_by("patch", "zone-b", 2) == 400
        await asyncio.sleep(MARKED_FOR)
        assert await world.scaled_by("patch", "zone-b", 2) == 200

    world = play_scaled(Scaled(ZONES, leased=True, groups=(GroupPlan("g", least="10m"),)), scenario)

    assert [zone for _, zone, _, _ in world.referee.downscales] == ["zone-b"]


def test_a_follower_follows_although_no_watch_brings_anything() -> None:
    """L2: at the latest when everything is listed again."""

    async def scenario(world: World) -> None:
        assert isinstance(world, ScaledWorld)
        world.start()
        await asyncio.sleep(5)
        process = the_process(world)
        for plural in ("pods", "statefulsets"):
            process.wire.faulty.freeze(plural)
        assert await world.scaled_by("patch", "zone-a", 4) == 200

        assert await world.until(lambda: world.replicas_of("zone-c") == 4, 2 * RESYNC + 10.0)

    play_scaled(Scaled(ZONES, groups=(GroupPlan("g", "led"),)), scenario)


def test_a_scale_that_fails_is_tried_again_without_a_restart() -> None:
    """L5: whatever the API server answers to the operator's own write."""

    async def scenario(world: World) -> None:
        assert isinstance(world, ScaledWorld)
        world.start()
        await asyncio.sleep(5)
        for fault in (Fault("status", status=500), Fault("lost-answer"), Fault("status", status=409), Fault("drop")):
            the_process(world).wire.plan.fail(MEANS["write"], 1, fault)
        assert await world.scaled_by("scale", "zone-a", 4) == 200

        await world.finish()

        assert len(world.processes) == 1

    play_scaled(Scaled(ZONES, groups=(GroupPlan("g", "led"),)), scenario)


def test_nobody_answers_and_nothing_is_scaled_down() -> None:
    """E-24: while no operator is there, requests about StatefulSets fail, and nothing slips through."""

    async def scenario(world: World) -> None:
        assert isinstance(world, ScaledWorld)

        assert await world.scaled_by("patch", "zone-a", 2) == 500
        assert await world.evicted("zone-a-0") == 500
        world.start()
        await asyncio.sleep(5)
        assert await world.scaled_by("patch", "zone-a", 2) == 200

    world = play_scaled(Scaled(ZONES, groups=(GroupPlan("g", least="10m", budget="zone"),)), scenario)

    assert {review.path for review in world.door.reviews} == {door.PREPARE_DOWNSCALE, door.NO_DOWNSCALE}


def the_process(world: World) -> Process:
    process = world.replicas[0].process
    assert process is not None
    return process
