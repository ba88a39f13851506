"""A coarse kubelet binds a pod, runs it and makes it ready in one write."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubesim.kinds.registry import NODES, PODS
from kubesim.pods import behaviour
from kubesim.store.versions import Tree
from kubesim.time import run
from kubesim.virtual import VirtualCluster
from tests.kubesim.hooks import HOST, Recorder, a_hook, a_rule, configure
from tests.kubesim.kubelets import READY_AFTER, NearWorld, World, condition, play
from tests.kubesim.trees import a_pod


def test_a_pod_is_pending_until_it_is_ready_as_soon_as_any_other() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(coarse=True):
            await asyncio.sleep(1)
            world.make()
            await asyncio.sleep(READY_AFTER - 0.1)
            halfway = world.pod()
            await asyncio.sleep(0.2)
            pod = world.pod()

        assert halfway["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
        assert "nodeName" not in halfway["spec"]
        assert world.is_ready()
        assert pod["spec"]["nodeName"].startswith("sim-node-")
        assert {each["type"]: each["status"] for each in pod["status"]["conditions"]} == {
            "Initialized": "True",
            "Ready": "True",
            "ContainersReady": "True",
            "PodScheduled": "True",
        }
        assert all(each["state"] == {"running": {"startedAt": pod["status"]["startTime"]}} for each in containers(pod))

    play(scenario)


def containers(pod: Tree) -> list[Tree]:
    found: list[Tree] = pod["status"]["containerStatuses"]
    return found


def test_what_becomes_of_it_is_what_becomes_of_any_other() -> None:
    """But for the times of what did not happen, a ready pod is the same."""

    def ready(*, coarse: bool) -> Tree:
        async def scenario() -> Tree:
            world = NearWorld(0)
            async with world.kubelet(coarse=coarse):
                world.make()
                await asyncio.sleep(3)
                return world.pod()

        pod: Tree = untimed(run(scenario()))
        return pod

    assert ready(coarse=True) == ready(coarse=False)


def untimed(value: Any) -> Any:
    if isinstance(value, dict):
        times = ("lastTransitionTime", "startTime", "startedAt", "resourceVersion")
        return {key: untimed(each) for key, each in value.items() if key not in times}
    return [untimed(each) for each in value] if isinstance(value, list) else value


def test_in_process_it_is_one_write() -> None:
    async def scenario() -> list[str]:
        world = NearWorld(0)
        async with world.kubelet(coarse=True):
            world.make()
            await asyncio.sleep(3)
            world.delete()
            await asyncio.sleep(3)
        return world.requests

    assert run(scenario()) == ["POST pod/binding", "DELETE pod"]


def test_over_a_client_it_is_two() -> None:
    async def scenario() -> list[str]:
        world = World(0)
        async with world.kubelet(coarse=True):
            world.make()
            await asyncio.sleep(3)
        return world.requests

    assert run(scenario()) == ["POST pod/binding", "PATCH pod/status"]


@pytest.mark.parametrize(
    ("annotations", "shape"),
    [
        ({behaviour.HOLD: "true"}, "False"),
        ({behaviour.CRASH_AFTER: "2s"}, "False"),
        ({behaviour.IMAGE_PULL: "fail"}, "False"),
        ({behaviour.FLAP: "2s"}, "False"),
    ],
    ids=["a pod that is held", "one that crashes", "one without its image", "one that flaps"],
)
def test_pods_that_do_more_than_become_ready_go_through_everything(annotations: dict[str, str], shape: str) -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(coarse=True):
            world.make(annotations=annotations)
            await asyncio.sleep(READY_AFTER / 2)
            pod = world.pod()

        assert pod["spec"]["nodeName"]
        assert condition(pod, "Ready")["status"] == shape

    play(scenario)


def test_a_pod_that_is_deleted_before_it_is_ready_goes() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(coarse=True):
            world.make()
            await asyncio.sleep(READY_AFTER / 2)
            world.delete()
            await asyncio.sleep(READY_AFTER)

        assert world.pods() == {}

    play(scenario)


def test_a_pod_without_a_node_starts_when_there_is_one() -> None:
    """Its time counts from then on, as it does where a pod is bound first."""

    async def scenario(world: World) -> None:
        async with world.kubelet(coarse=True, nodes=1):
            await asyncio.sleep(1)
            cordon(world, on=True)
            await asyncio.sleep(1)
            world.make()
            await asyncio.sleep(10)
            before = world.is_ready()
            cordon(world, on=False)
            await asyncio.sleep(READY_AFTER / 2)
            between = world.is_ready()
            await asyncio.sleep(READY_AFTER)

        assert (before, between, world.is_ready()) == (False, False, True)

    play(scenario)


def cordon(world: World, *, on: bool) -> None:
    node = world.cluster.verbs.read(NODES, "", "sim-node-0")
    node["spec"]["unschedulable"] = on
    world.cluster.verbs.update(NODES, "", "sim-node-0", node, user="tester")


@pytest.mark.parametrize("part", ["binding", "status"])
def test_who_reviews_a_part_of_it_is_asked(part: str) -> None:
    hook = Recorder()

    async def scenario() -> tuple[bool, list[str]]:
        world = NearWorld(0)
        world.cluster.network.serve(HOST, hook)
        await configure(world.cluster, "validating", "v", a_hook("one", a_rule("*", f"pods/{part}")))
        async with world.kubelet(coarse=True):
            world.make()
            await asyncio.sleep(10)
        return world.is_ready(), world.requests

    assert run(scenario()) == (True, ["POST pod/binding", "PATCH pod/status"])
    assert [request["subResource"] for _, request in hook.asked] == [part]


def test_a_virtual_cluster_has_coarse_pods_by_choice() -> None:
    async def scenario(world: VirtualCluster) -> list[str]:
        await world.create(PODS, "default", a_pod())
        await asyncio.sleep(5)
        entries = [each for each in world.cluster.history if each.resource == PODS]
        return [each.author.user for each in entries]

    assert VirtualCluster(coarse=True).play(scenario) == ["admin", "kubelet"]
    assert VirtualCluster().play(scenario) == ["admin", "kubelet", "kubelet", "kubelet"]
