"""Schedules that broke an invariant, or that come close to it, each under its name."""

from __future__ import annotations

import asyncio

from kubesim.faults import Fault
from kubesim.pods.behaviour import HOLD
from tests.chaos.steps import MEANS
from tests.chaos.world import Process, World, play
from tests.chaos.zone_plans import Setting, ZonePlan

TWO_ZONES = (ZonePlan("g", "zone-a", 3, budget="3"), ZonePlan("g", "zone-b", 3))
ONE_AT_A_TIME = (ZonePlan("g", "zone-a", 3), ZonePlan("g", "zone-b", 3))


def the_process(world: World) -> Process:
    process = world.replicas[0].process
    assert process is not None
    return process


def deletions_sent(world: World) -> list[str]:
    lines = (line.split() for line in world.requests)
    return [path.rpartition("/")[2] for _, _, method, path, _ in lines if method == "DELETE"]


def test_a_deletion_that_the_server_wants_later_is_decided_anew() -> None:
    """S1: while it waited, a pod of another zone was seen to be not ready."""

    async def scenario(world: World) -> None:
        world.start()
        await asyncio.sleep(1)
        the_process(world).wire.plan.fail(MEANS["delete"], 1, Fault("status", 2.0, 429))
        world.deploy_all(2)
        await asyncio.sleep(0.5)
        world.misbehave("zone-b-0", HOLD)
        await asyncio.sleep(5)

    play(Setting(ONE_AT_A_TIME), scenario)


def test_a_batch_ends_when_another_zone_is_seen_to_be_not_ready() -> None:
    """S1: the answers to its deletions are slow, and meanwhile a pod of another zone turns not ready."""

    async def scenario(world: World) -> None:
        world.start()
        await asyncio.sleep(1)
        the_process(world).wire.plan.fail(MEANS["delete"], 1, Fault("delay", 3.0))
        world.deploy_all(2)
        await asyncio.sleep(0.5)
        assert deletions_sent(world) == ["zone-a-0"]
        world.misbehave("zone-b-0", HOLD)
        await asyncio.sleep(5)

        assert deletions_sent(world) == ["zone-a-0"]

    play(Setting(TWO_ZONES), scenario)
