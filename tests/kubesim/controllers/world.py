"""An embedded cluster of verbs and controllers alone, in virtual time: pods become ready when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from kubeloop import clock
from kubeloop.objects.meta import Resource
from kubeloop.request import MERGE_PATCH
from kubesim.cluster import Cluster
from kubesim.kinds.registry import CONTROLLER_REVISIONS, CORE_EVENTS, PODS, STATEFUL_SETS
from kubesim.store.versions import Author, Event, Tree
from kubesim.time import run

NAMESPACE = "default"
TESTER = "tester"
LAG = (0.0, 0.02)


class World:
    """A cluster, and what was written on it."""

    def __init__(self, seed: int, lag: tuple[float, float]) -> None:
        self.cluster = Cluster(seed=seed, controller_lag=lag)
        self.store = self.cluster.store
        self.verbs = self.cluster.verbs
        self.writes: list[tuple[Resource, Event, Author]] = []
        self.store.listen(lambda resource, event, author: self.writes.append((resource, event, author)))

    def create(self, resource: Resource, tree: Tree) -> Tree:
        return self.verbs.create(resource, NAMESPACE if resource.namespaced else "", tree, user=TESTER)

    def patch(self, resource: Resource, name: str, change: Tree, subresource: str = "") -> Tree:
        body = msgspec.json.encode(change)
        return self.verbs.patch(resource, NAMESPACE, name, MERGE_PATCH, body, subresource=subresource, user=TESTER)

    def delete(self, resource: Resource, name: str, propagation: str = "") -> None:
        self.verbs.delete(resource, NAMESPACE, name, propagation=propagation, user=TESTER)

    def set(self, name: str = "web") -> Tree:
        return self.verbs.read(STATEFUL_SETS, NAMESPACE, name)

    def status(self, name: str = "web") -> Tree:
        status: Tree = self.set(name)["status"]
        return status

    def pods(self) -> dict[str, Tree]:
        return {pod["metadata"]["name"]: pod for pod in self.verbs.list(PODS, NAMESPACE)}

    def revisions(self) -> dict[str, Tree]:
        """By the image of the first container in their template."""
        found = self.verbs.list(CONTROLLER_REVISIONS, NAMESPACE)
        return {_image(each["data"]["spec"]["template"]): each for each in found}

    def events(self) -> dict[str, int]:
        """How often what was told."""
        return {f"{each['reason']}: {each['message']}": each["count"] for each in self.verbs.list(CORE_EVENTS)}

    def make_ready(self, *names: str) -> None:
        now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        for name in names:
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
            self.patch(PODS, name, {"status": {"phase": "Running", "conditions": [ready]}}, "status")

    def statuses(self, name: str = "web") -> list[Tree]:
        """Every status that a controller wrote to the set, in order."""
        return [
            event.tree()["status"]
            for resource, event, author in self.writes
            if resource == STATEFUL_SETS and event.new.head.name == name and author.subresource == "status"
        ]

    def made(self) -> list[str]:
        """Names of the pods that were created, in order."""
        return [event.new.head.name for resource, event, _ in self.writes if resource == PODS and event.type == "ADDED"]

    async def settle(self, seconds: float = 1.0) -> None:
        """Time enough for the controllers to do all they have to do."""
        await asyncio.sleep(seconds)


def a_set_tree(name: str = "web", replicas: int = 2, image: str = "i:1", **spec: Any) -> Tree:
    """Parallel and OnDelete unless the spec says otherwise."""
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": {"app": name}},
            "serviceName": name,
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": image}]},
            },
        }
        | spec,
    }


def with_image(image: str) -> Tree:
    return {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}


def play(scenario: Callable[[World], Awaitable[None]], *, seed: int = 0, lag: tuple[float, float] = LAG) -> World:
    """Runs the scenario beside the controllers; a controller that fails fails it."""

    async def main() -> World:
        world = World(seed, lag)
        running = asyncio.create_task(world.cluster.run())
        try:
            await scenario(world)
            assert not running.done(), running.exception()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        return world

    return run(main(), seed=seed)


def _image(template: Tree) -> str:
    image: str = template["spec"]["containers"][0]["image"]
    return image
