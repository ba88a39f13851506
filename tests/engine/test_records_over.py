"""Records of an operator with two replicas that are over: their Leases go, or stay where its role is an earlier one."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from kubeloop.objects.core import LEASES
from kubesim.faults import Fault
from tests.contracts.zones.test_disruption_budgets import budget, define, evict, zones
from tests.engine.world import World, play

QUARTER = 15 * 60
HELP = "grant list and delete of leases in namespace test"


class Meta(Struct):
    name: str


class Named(Struct):
    metadata: Meta


async def leases(world: World) -> list[str]:
    return sorted(lease.metadata.name for lease in (await world.client.list(LEASES, Named)).items)


def test_the_lease_of_an_eviction_goes_and_the_operators_own_stays() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=1)
        await zones(world)
        async with world.operating(lease="operator") as leader:
            assert (await evict(leader, "zone-a-0"))["allowed"]
            assert not (await evict(leader, "zone-b-0"))["allowed"]
            assert len(await leases(world)) == 2
            await asyncio.sleep(QUARTER + 5 * 60)

            assert await leases(world) == ["operator"]
            assert (await evict(leader, "zone-b-0"))["allowed"]

    play(scenario)


def test_with_the_role_of_an_earlier_installation_it_stays_and_is_told_once() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=1)
        await zones(world)
        world.fault = lambda sent: (
            Fault("status", status=403) if "/leases" in sent.path and sent.verb in ("list", "delete") else None
        )
        async with world.operating(lease="operator") as leader:
            assert (await evict(leader, "zone-a-0"))["allowed"]
            await asyncio.sleep(4 * QUARTER)

            (told,) = [each for each in world.log.records if each[1] == "Leases of records that are over stay for now"]
            assert (told[0], HELP in told[2]["help"]) == ("info", True)
            assert len(await leases(world)) == 2
            assert leader.leading.is_set()
            assert (await evict(leader, "zone-b-0"))["allowed"]

    play(scenario)
