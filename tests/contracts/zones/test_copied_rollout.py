"""An operator goes on with a rollout that it finds in a copy of a real cluster, exactly from where that is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from fairlead.engine.process import assemble
from kubeloop.objects.apps import REVISION_LABEL, STATEFULSETS
from kubeloop.objects.core import PODS
from kubesim.copies import Copy
from kubesim.loading import read
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from kubesim.virtual import VirtualCluster
from tests.engine.world import USUAL, Log
from tests.operator_parts import zones

T = TypeVar("T")
STATE = Path(__file__).parents[2] / "kubesim" / "copies" / "in_the_middle.json"
SHOP = "shop"
DONE, ROLLING, NEXT = (f"ingester-zone-{letter}" for letter in "abc")
OPTIONS = OperatorOptions(
    process="rollout-operator", namespaces=(SHOP,), interval=5.0, lease=None, identity="operator", parts=(zones(USUAL),)
)


def operated(copy: Copy, scenario: Callable[[VirtualCluster], Coroutine[Any, Any, T]]) -> T:
    """The scenario's result, with an operator beside it."""

    async def play(world: VirtualCluster) -> T:
        cluster = world.cluster
        transport = cluster.transport("admin")
        manager = await assemble(OPTIONS, SHOP, transport, Metrics(), Log().logger(), cluster.network.call)
        running = asyncio.create_task(manager.run())
        try:
            return await scenario(world)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    return VirtualCluster(copy=copy).play(play)


async def finished(world: VirtualCluster) -> list[Entry]:
    """All that happened to pods until every zone has its new ones."""

    async def done() -> bool:
        statuses = [each["status"] for each in await world.list(STATEFULSETS, SHOP)]
        return all(each.get("updatedReplicas") == each.get("availableReplicas") == 3 for each in statuses)

    await world.until(done)
    return world.cluster.history.of(PODS)


def test_the_rollout_goes_on_where_it_was() -> None:
    """The pods that were starting become ready, then the rest of their zone follows, then the next zone."""
    copy = read([STATE], go_on=True)
    before = {key[1]: version.tree() for key, version in copy.tables[PODS].items()}
    old = [name for name, pod in before.items() if pod["metadata"]["labels"][REVISION_LABEL] not in new_revisions(copy)]

    entries = operated(copy, finished)

    gone = [each.name for each in entries if each.type == "DELETED"]
    assert sorted(gone) == sorted(old), "each old pod goes once, and no new one"
    assert {zone_of(name) for name in old} == {ROLLING, NEXT}
    assert [zone_of(name) for name in gone] == sorted(zone_of(name) for name in gone), "zone after zone"
    assert [each for each in entries if zone_of(each.name) == DONE] == []


def test_an_operator_waits_as_long_as_pods_do_not_become_ready() -> None:
    """It says so in Events, and that is all."""

    async def wait(world: VirtualCluster) -> list[str]:
        await asyncio.sleep(90 * 60)
        return [f"{each.verb} {each.resource.plural} of {each.user}" for each in world.cluster.history]

    assert set(operated(read([STATE]), wait)) == {"create events of admin"}


def new_revisions(copy: Copy) -> set[str]:
    sets: list[Tree] = [version.tree() for version in copy.tables[STATEFULSETS].values()]
    return {each["status"]["updateRevision"] for each in sets}


def zone_of(pod: str) -> str:
    return pod.rpartition("-")[0]
