"""An operator with nothing to do does nothing."""

from __future__ import annotations

import asyncio

import pytest

from tests.chaos.world import World, play
from tests.chaos.zone_plans import three_zones


@pytest.mark.parametrize("interval", [None, 0.001, 5.0])
def test_in_an_hour_after_the_rollout_only_the_lease_is_written(interval: float | None) -> None:
    written: list[str] = []

    async def scenario(world: World) -> None:
        world.deploy_all(2)
        world.start()
        await world.finish()
        await asyncio.sleep(30)  # the last Events of the rollout are told
        before = len(world.cluster.history)
        await asyncio.sleep(3600)
        written.extend(f"{entry.user} {entry.resource.plural}" for entry in world.cluster.history.entries[before:])

    world = play(three_zones(leased=True, operators=2, interval=interval), scenario)

    assert set(written) == {f"{world.judge.holder} leases"}
    assert len(written) <= 3600 / 2
