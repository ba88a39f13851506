"""A cluster without controllers and a kubelet on it, for tests of how pods come and go.

The kubelet has two ways to its pods: requests over a client, and the store in the same process. What is tested of it
holds for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from kubeloop.client import Client
from kubeloop.objects.meta import Resource
from kubeloop.request import MERGE_PATCH, Request, Transport
from kubesim.auth.rbac import insider
from kubesim.cluster import Cluster
from kubesim.kinds.registry import PODS
from kubesim.kubelet import Kubelet
from kubesim.store.versions import Author, Event, Tree
from kubesim.time import run

NAMESPACE = "default"
TESTER = "tester"
READY_AFTER = 1.0


class World:
    """A cluster without controllers, and a kubelet on it, which sends requests."""

    def __init__(self, seed: int, latency: tuple[float, float] = (0.0, 0.002)) -> None:
        self.cluster = Cluster(seed=seed, latency=latency, lag=(0.0, 0.01))
        self.requests: list[str] = []
        """What the kubelet asked to be written to pods."""

    def client(self, transport: Transport | None = None) -> Client:
        return Client(transport or self.cluster.transport(insider("kubelet")), observe=self._observe)

    def _observe(self, request: Request, status: int | None, seconds: float) -> None:
        if request.method != "GET" and "/nodes" not in request.path:
            self.requests.append(f"{request.method} {request.path.removeprefix('/api/v1/namespaces/default/pods/')}")

    @asynccontextmanager
    async def kubelet(
        self, transport: Transport | None = None, gone_after: float = 0.1, **more: Any
    ) -> AsyncIterator[None]:
        """Runs one for a while; a kubelet that fails fails the test."""
        kubelet = Kubelet(self.client(transport), ready_after=READY_AFTER, gone_after=gone_after, **more)
        task = asyncio.create_task(kubelet.run())
        try:
            yield
            assert not task.done(), task.exception()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def make(self, name: str = "pod", *, annotations: dict[str, str] | None = None, **spec: Any) -> Tree:
        containers = {"containers": [{"name": "c", "image": "i:1"}, {"name": "d", "image": "j:1"}]}
        tree: Tree = {"metadata": {"name": name, "annotations": annotations or {}}, "spec": containers | spec}
        return self.cluster.verbs.create(PODS, NAMESPACE, tree, user=TESTER)

    def annotate(self, name: str, key: str, value: str | None) -> None:
        self._patch(name, {"metadata": {"annotations": {key: value}}})

    def label(self, name: str, **labels: str | None) -> None:
        self._patch(name, {"metadata": {"labels": labels}})

    def _patch(self, name: str, change: Tree) -> None:
        self.cluster.verbs.patch(PODS, NAMESPACE, name, MERGE_PATCH, msgspec.json.encode(change), user=TESTER)

    def say(self, kind: str, status: str) -> None:
        """Of the pod, as somebody else than its kubelet may."""
        said = {"type": kind, "status": status, "lastTransitionTime": "2030-01-01T00:00:00Z"}
        self._merge({"status": {"conditions": [said]}}, "status")

    def change_image(self, container: str, image: str) -> None:
        self._merge({"spec": {"containers": [{"name": container, "image": image}]}})

    def _merge(self, change: Tree, subresource: str = "") -> None:
        body = msgspec.json.encode(change)
        kind = "application/strategic-merge-patch+json"
        self.cluster.verbs.patch(PODS, NAMESPACE, "pod", kind, body, subresource=subresource, user=TESTER)

    def finalize(self, name: str, *finalizers: str) -> None:
        self._patch(name, {"metadata": {"finalizers": list(finalizers)}})

    def delete(self, name: str = "pod") -> None:
        self.cluster.verbs.delete(PODS, NAMESPACE, name, user=TESTER)

    def pods(self) -> dict[str, Tree]:
        return {pod["metadata"]["name"]: pod for pod in self.cluster.verbs.list(PODS, NAMESPACE)}

    def pod(self, name: str = "pod") -> Tree:
        return self.pods()[name]

    def is_ready(self, name: str = "pod") -> bool:
        return condition(self.pod(name), "Ready").get("status") == "True"


class NearWorld(World):
    """The same with a kubelet that reads and writes the store."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, latency=(0.0, 0.0))
        self.cluster.store.listen(self._note, PODS)

    def client(self, transport: Transport | None = None) -> Client:
        return self.cluster.inside("kubelet") if transport is None else super().client(transport)

    def _note(self, _resource: Resource, event: Event, author: Author) -> None:
        """A deletion that takes the pod away changes it first."""
        if author.user == "kubelet" and event.type != "DELETED":
            place = f"{event.new.head.name}/{author.subresource}".rstrip("/")
            self.requests.append(f"{_METHODS[author.verb]} {place}")


_METHODS = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}


def condition(pod: Tree, type_: str) -> Tree:
    return next((each for each in pod["status"].get("conditions", []) if each["type"] == type_), {})


def waiting(pod: Tree) -> set[str]:
    return {each["state"].get("waiting", {}).get("reason", "") for each in pod["status"].get("containerStatuses", [])}


def play(scenario: Callable[[World], Awaitable[None]], seed: int = 0) -> None:
    """On both ways, one after the other."""

    async def main(world: type[World]) -> None:
        await scenario(world(seed))

    for world in (World, NearWorld):
        run(main(world), seed=seed)
