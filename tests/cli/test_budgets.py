"""What the commands that look say of disruption budgets: the same as the operator would decide."""

from __future__ import annotations

import asyncio

from fairlead.cli.documents_of import explain_all
from kubeloop.client import Client
from kubesim.auth.rbac import master
from tests.contracts.zones.test_disruption_budgets import budget, define, zones
from tests.engine.world import World, play


async def next_of(world: World) -> list[str]:
    client = Client(world.cluster.transport(master("somebody")))
    (shown,) = await explain_all(client, ["test"])
    return [step for step in shown.next if step.startswith("delete")]


def test_a_look_shows_what_the_budget_lets_go_and_records_nothing() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await zones(world, max_unavailable="3")
        await world.roll("zone-a")
        await asyncio.sleep(5)
        assert await next_of(world) == ["delete zone-a-0", "delete zone-a-1", "delete zone-a-2"]

        await budget(world, maxUnavailable=2)

        assert await next_of(world) == await next_of(world) == ["delete zone-a-0", "delete zone-a-1"]

    play(scenario)


def test_a_look_says_which_pods_a_budget_keeps_and_why() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await zones(world)
        await budget(world, podNamePartitionRegex=".*-([0-9]+)", crossZoneEvictionDelay="1m")
        await world.roll("zone-a")
        await asyncio.sleep(5)

        (shown,) = await explain_all(Client(world.cluster.transport(master("somebody"))), ["test"])

        (block,) = shown.blocked_by
        assert (block.reason, block.object) == ("DisruptionBudget", "pod/zone-a-0")
        assert "1 pod not ready in partition 0" in block.text
        assert shown.stands.phase == "Waiting"

    play(scenario)
