"""The kubelet puts pods on nodes that they may be on, and waits where there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from kubeloop.client import Client
from kubeloop.objects.meta import Resource
from kubeloop.request import MERGE_PATCH
from kubesim.cluster import Cluster
from kubesim.kinds.registry import NODES, PODS
from kubesim.kubelet import Kubelet
from kubesim.kubelet.pods import SCHEDULER
from kubesim.store.versions import Tree
from kubesim.time import run

TOLERANT = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]


def towards(node: str) -> Tree:
    """An affinity as pods of DaemonSets have it."""
    by_name = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [by_name]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


class World:
    """A cluster without controllers, whose kubelet has three nodes."""

    def __init__(self, *, near: bool) -> None:
        """A kubelet that is `near` reads and writes the store, another sends requests."""
        self.verbs = (cluster := Cluster()).verbs
        client = cluster.inside("kubelet") if near else Client(cluster.transport())
        self.kubelet = Kubelet(client, scheduler=SCHEDULER)

    def make(self, name: str, **spec: Any) -> None:
        tree = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}]} | spec}
        self.verbs.create(PODS, "default", tree, user="tester")

    def change_node(self, number: int, change: Tree) -> None:
        self._patch(NODES, "", f"sim-node-{number}", change)

    def _patch(self, resource: Resource, namespace: str, name: str, change: Tree) -> None:
        self.verbs.patch(resource, namespace, name, MERGE_PATCH, msgspec.json.encode(change), user="tester")

    def places(self) -> dict[str, str]:
        """Pods and the numbers of their nodes."""
        pods = self.verbs.list(PODS, "default")
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "")[-1:] for pod in pods}

    def phases(self) -> dict[str, str]:
        return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in self.verbs.list(PODS, "default")}


def play(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main(near: bool) -> None:
        world = World(near=near)
        task = asyncio.create_task(world.kubelet.run())
        await asyncio.sleep(1)
        await scenario(world)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    for near in (False, True):
        run(main(near))


def test_cordoned_nodes_get_only_pods_that_tolerate_it() -> None:
    async def scenario(world: World) -> None:
        world.change_node(0, {"spec": {"unschedulable": True}})
        world.change_node(2, {"spec": {"unschedulable": True}})
        await asyncio.sleep(1)
        for name in ("a", "b", "c"):
            world.make(name)
        world.make("daemon", affinity=towards("sim-node-2"), tolerations=TOLERANT)
        world.make("waiting", affinity=towards("sim-node-2"))
        await asyncio.sleep(1)

        assert world.places() == {"a": "1", "b": "1", "c": "1", "daemon": "2", "waiting": ""}

        world.change_node(2, {"spec": {"unschedulable": None}})
        await asyncio.sleep(1)

        assert world.places()["waiting"] == "2"

    play(scenario)


@pytest.mark.parametrize(
    ("spec", "change"),
    [
        ({"nodeSelector": {"disk": "fast"}}, {"metadata": {"labels": {"disk": "fast"}}}),
        ({"tolerations": [{"key": "t", "operator": "Exists"}]}, {"spec": {"taints": None}}),
    ],
)
def test_a_pod_waits_for_a_node_that_it_may_be_on(spec: Tree, change: Tree) -> None:
    async def scenario(world: World) -> None:
        for number in range(3):
            world.change_node(number, {"spec": {"taints": [{"key": "u", "effect": "NoSchedule"}]}})
        await asyncio.sleep(1)
        tolerant = spec.get("tolerations", [{"key": "u", "operator": "Exists"}])
        world.make("pod", **(spec | {"tolerations": tolerant}))
        await asyncio.sleep(1)

        assert world.places() == {"pod": ""}

        world.change_node(1, change)
        await asyncio.sleep(1)

        assert world.places() == {"pod": "1"}

    play(scenario)


def test_pods_of_another_scheduler_are_left_to_it() -> None:
    async def scenario(world: World) -> None:
        world.make("ours")
        world.make("theirs", schedulerName="mine")
        await asyncio.sleep(5)

        assert world.places()["ours"] != ""
        assert world.places()["theirs"] == ""
        assert world.phases() == {"ours": "Running", "theirs": "Pending"}

    play(scenario)


def test_pods_on_the_nodes_of_others_are_left_to_them() -> None:
    async def scenario(world: World) -> None:
        world.verbs.create(NODES, "", {"metadata": {"name": "foreign"}}, user="tester")
        world.make("named", nodeName="nowhere")
        world.make("daemon", affinity=towards("foreign"), tolerations=[{"operator": "Exists"}])
        await asyncio.sleep(5)
        world.verbs.delete(PODS, "default", "named", user="tester")
        await asyncio.sleep(60)

        assert world.verbs.read(PODS, "default", "daemon")["spec"]["nodeName"] == "foreign"
        assert world.phases() == {"daemon": "Pending", "named": "Pending"}

    play(scenario)
