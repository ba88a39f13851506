"""What `fairlead up` brings for plans, and its demo, in virtual time and with all contracts."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from fairlead.cli.embedded.hosted_operator import installed, neighbours
from fairlead.contracts.plans.demo import HOSTED, ROLLOUT
from fairlead.contracts.plans.kinds import FAILED, ROLLOUT_TRAITS, SUCCEEDED
from fairlead.engine.demo import NAMESPACE, WorstSeen
from kubeloop.errors import ApiError, NotFound
from kubeloop.objects.apps import DEPLOYMENTS
from kubesim.standins.cloneset_plan import CLONESETS
from kubesim.standins.route_rules import HTTP_ROUTES, KINDS
from kubesim.virtual import VirtualCluster
from tests.e2e.history import Tree


@asynccontextmanager
async def operated(world: VirtualCluster, *, is_copy: bool = False) -> AsyncIterator[None]:
    """As `fairlead up` has it, without the files and the server."""
    network = world.cluster.network
    beside = await neighbours(world.client, network, is_copy=is_copy)
    manager = await installed(world.client, world.cluster, network, io.StringIO())

    async def everything() -> None:
        async with asyncio.TaskGroup() as tasks:
            for each in (*beside, manager.run()):
                tasks.create_task(each)

    async with world.beside(everything()):
        await manager.ready.wait()
        yield


def test_the_demo_goes_back_by_itself_and_then_rolls_through_without_a_lost_request() -> None:
    told: list[str] = []
    sizes: list[tuple[str, int]] = []

    async def scenario(world: VirtualCluster) -> None:
        async with operated(world):
            await ROLLOUT.create(world.client)
            await world.until(_is(world, SUCCEEDED))
            changing = asyncio.ensure_future(ROLLOUT.change(world.client, told.append))
            await world.until(_is(world, FAILED))
            for name in ("shop-v1", "shop-v2"):
                found = await world.get(DEPLOYMENTS, NAMESPACE, name)
                sizes.append((name, (found or {})["spec"]["replicas"]))
            route = await world.get(HTTP_ROUTES, NAMESPACE, "shop")
            assert _weights(route) == {"shop-v1": 100, "shop-v2": 0}
            await changing
            assert _weights(await world.get(HTTP_ROUTES, NAMESPACE, "shop")) == {"shop-v2": 100}

    VirtualCluster(3).play(scenario)

    assert sizes == [("shop-v1", 10), ("shop-v2", 0)]
    assert told[1] == "one of 5 requests to example.test/shop:2.0 fails from now on"
    assert re.search(r"the metric request-success-rate is [78]\d\.\d*, below its min 99", told[2])
    summary = ROLLOUT.summary(WorstSeen())
    assert re.search(r"1\d\d\d requests were sent, and 0 of them lost by the rollouts;", summary)
    (failed,) = re.findall(r"(\d+) failed in pods of example.test/shop:2.0", summary)
    assert 0 < int(failed) < 60
    assert "10 of 10 pods were ready at the worst moment." in summary
    assert all(len(line) <= 78 for line in f"{ROLLOUT.story}\n{summary}".splitlines())


def _is(world: VirtualCluster, state: str) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        found = await world.get(ROLLOUT_TRAITS, NAMESPACE, "shop") or {}
        return bool(found.get("status", {}).get("rollingState") == state)

    return holds


def _weights(route: Tree | None) -> dict[str, int]:
    assert route is not None
    return {each["name"]: each["weight"] for each in route["spec"]["rules"][-1]["backendRefs"]}


def a_clone_set() -> Tree:
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "example.test/web:1"}]},
    }
    return {
        "apiVersion": CLONESETS.api_version,
        "kind": CLONESETS.kind,
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }


def test_every_cluster_has_routes_clone_sets_and_reviews() -> None:
    async def scenario(world: VirtualCluster) -> None:
        async with operated(world):
            for kind in KINDS:
                assert await world.list(kind, "default") == []
            await world.create(CLONESETS, "default", a_clone_set())

            async def is_ready() -> bool:
                found = await world.get(CLONESETS, "default", "web") or {}
                return bool(found.get("status", {}).get("readyReplicas") == 2)

            await world.until(is_ready)
            target = {"apiVersion": CLONESETS.api_version, "kind": CLONESETS.kind, "name": "web"}
            wrong = {"targetRef": target, "rolloutPlan": {"rolloutBatches": [{"replicas": "a lot"}]}}
            trait = {"apiVersion": ROLLOUT_TRAITS.api_version, "kind": ROLLOUT_TRAITS.kind}
            with pytest.raises(ApiError, match="a lot"):
                await world.create(ROLLOUT_TRAITS, "default", {**trait, "metadata": {"name": "web"}, "spec": wrong})

    VirtualCluster(1).play(scenario)


def test_in_a_copy_nobody_acts_on_clone_sets() -> None:
    """Whose revisions and pods are those of the controller that made them."""

    async def scenario(world: VirtualCluster) -> None:
        assert HOSTED.neighbours is not None
        found = await HOSTED.neighbours(world.client, True)
        assert [type(getattr(each.run, "__self__", None)).__name__ for each in found] == ["Gateway", "Visitors"]
        assert await world.list(HTTP_ROUTES, "default") == []
        with pytest.raises(NotFound):
            await world.list(CLONESETS, "default")

    VirtualCluster(1).play(scenario)
