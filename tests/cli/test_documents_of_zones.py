"""What the commands that look say of excluded zones, soak times and health checks."""

from __future__ import annotations

import asyncio

from fairlead.cli.documents_of import explain_all
from fairlead.core.explain import Explain
from kubeloop.client import Client
from kubesim.auth.rbac import master
from tests.contracts.zones.test_ignored_annotations import a_check_that_fails, annotate, rolled, zones
from tests.engine.world import World, play


async def look(world: World) -> list[Explain]:
    return await explain_all(Client(world.cluster.transport(master("somebody"))), ["test"])


def test_an_excluded_zone_is_not_shown_and_neither_is_a_group_of_such() -> None:
    async def scenario(world: World) -> None:
        await zones(world, "a", "b")
        await annotate(world, "a", exclude="true")

        (shown,) = await look(world)
        assert [lane.name for lane in shown.stands.lanes] == ["zone-b"]

        await annotate(world, "b", exclude="true")
        assert await look(world) == []

    play(scenario)


def test_a_look_says_that_the_operator_asks_prometheus_and_does_not_ask_itself() -> None:
    async def scenario(world: World) -> None:
        prometheus = await a_check_that_fails(world)
        async with world.operating():
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a"))
            await asyncio.sleep(5)
            prometheus.queries.clear()

            (shown,) = await look(world)

            (block,) = shown.blocked_by
            assert (block.reason, block.object) == ("HealthCheckUnasked", "statefulset/zone-b")
            assert prometheus.queries == []

    play(scenario)


def test_a_look_says_until_when_a_zone_soaks() -> None:
    async def scenario(world: World) -> None:
        await zones(world, soak="10m")
        async with world.operating():
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a"))

            (shown,) = await look(world)

            assert (shown.stands.phase, shown.blocked_by[0].reason) == ("Soaking", "Soaking")
            assert shown.again is None  # when it looks is the operator's business; until when the zone soaks is a fact
            assert "until 2030-01-01T00:1" in shown.blocked_by[0].text

    play(scenario)
