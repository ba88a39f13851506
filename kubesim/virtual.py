"""A cluster for one test: controllers and nodes at work, in virtual time.

Hours of waiting pass in milliseconds, and the same seed gives the same run, so that a failure can be looked at again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import msgspec

from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.meta import Ref, Resource
from kubesim.cluster import FIRST_NAMESPACES, Cluster
from kubesim.connections import HOST
from kubesim.controllers.names import ALL, KUBELET, acts, check
from kubesim.copies import Copy
from kubesim.kubelet import Kubelet
from kubesim.store.versions import Tree
from kubesim.time import START, run

T = TypeVar("T")

STEPS = 1_000_000
"""Callbacks; what never comes to rest fails instead of holding up the tests."""
PATIENCE_SECONDS = 3600.0
LOOK_EVERY_SECONDS = 60.0
"""At the latest; whatever is written is looked at right away."""
MERGE_PATCH = "application/merge-patch+json"


class VirtualCluster:
    """`cluster` is the cluster itself, `client` an administrator's; `play` runs a test on it."""

    def __init__(
        self,
        seed: int = 0,
        *,
        namespaces: Sequence[str] = (),
        ready_after: float = 1.0,
        gone_after: float = 0.1,
        nodes: int = 3,
        coarse: bool = False,
        copy: Copy | None = None,
        controllers: Sequence[str] = ALL,
    ) -> None:
        """With `coarse` pods are bound, run and are ready in one write, where only that they become ready matters.

        With a `copy` it begins with that, at its moment, and runs the pods of its nodes.

        Only `controllers` that are named act, as in kube-controller-manager's `--controllers`; `kubelet` is one.
        """
        check(controllers)
        self.seed = seed
        self.cluster = Cluster(seed=seed, namespaces=(*FIRST_NAMESPACES, *namespaces))
        self.cluster.controllers = tuple(controllers)
        self._start = START
        if copy is not None:
            self.cluster.hold(copy)
            self._start = copy.now
        self.client = Client(self.cluster.transport())
        self._ready_after, self._gone_after, self._nodes = ready_after, gone_after, nodes
        self._coarse = coarse
        self._played = False
        self._written = asyncio.Event()
        self.cluster.store.listen(lambda *_: self._written.set())

    def play(self, scenario: Callable[[VirtualCluster], Coroutine[Any, Any, T]], *, steps: int = STEPS) -> T:
        """Runs the scenario in virtual time, with controllers and nodes beside it, and returns its result.

        Once: time would begin again, and the cluster would have a future. What fails beside the scenario ends it.
        """
        if self._played:
            raise RuntimeError("this cluster was played on already: make another VirtualCluster")
        self._played = True
        return run(self._play(scenario), seed=self.seed, steps=steps, start=self._start)

    async def _play(self, scenario: Callable[[VirtualCluster], Coroutine[Any, Any, T]]) -> T:
        # Made here, because what is left to chance is drawn from the loop.
        marks = self.cluster.marks
        kubelet = Kubelet(
            self.cluster.inside("kubelet"),
            ready_after=self._ready_after,
            gone_after=self._gone_after,
            coarse=self._coarse,
            nodes=self._nodes if marks.nodes is None else marks.nodes,
            histories=marks.pods,
        )
        played = asyncio.create_task(scenario(self))
        beside = [asyncio.create_task(self.cluster.run())]
        if acts(KUBELET, self.cluster.controllers):
            beside.append(asyncio.create_task(kubelet.run()))
        everything: list[asyncio.Task[Any]] = [played, *beside]
        try:
            await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
            for task in beside:
                if task.done() and not played.done():
                    task.result()
            return await played
        finally:
            for task in everything:
                task.cancel()
            await asyncio.gather(*everything, return_exceptions=True)

    @asynccontextmanager
    async def beside(self, operator: Coroutine[Any, Any, object]) -> AsyncIterator[None]:
        """The operator is at work within, and killed in the end; what it fails of is raised, as it is, at once."""
        try:
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(operator)
                yield
                task.cancel()
        except BaseExceptionGroup as group:
            if len(group.exceptions) > 1:
                raise
            raise group.exceptions[0] from None

    @asynccontextmanager
    async def served(self, user: str = "admin", *, host: str = HOST) -> AsyncIterator[str]:
        """The address at which clients find the cluster within, over connections of asyncio that stay in the process.

        `kubesim.connections.KUBECONFIG` has that of the usual host. Who sends a token is whose it is, and everybody
        else the user; several users have several hosts.
        """
        # Imported here: a server is for few, and takes as long to import as all the rest.
        from kubesim.server import served_within  # noqa: PLC0415

        async with served_within(self.cluster, user=user, host=host) as server:
            yield server.url

    async def create(self, resource: Resource, namespace: str, tree: Tree) -> Tree:
        """The object as it is stored."""
        response = await self.client.call(request.create(resource, namespace, msgspec.json.encode(tree)))
        stored: Tree = msgspec.json.decode(response.body)
        return stored

    async def patch(self, resource: Resource, namespace: str, name: str, patch: Tree) -> None:
        """A merge patch."""
        body = msgspec.json.encode(patch)
        await self.client.call(request.patch(Ref(resource, namespace, name), MERGE_PATCH, body))

    async def get(self, resource: Resource, namespace: str, name: str) -> Tree | None:
        """The object as it is now; None when there is none."""
        try:
            return await self.client.read(Ref(resource, namespace, name), dict)
        except NotFound:
            return None

    async def list(self, resource: Resource, namespace: str = "") -> list[Tree]:
        """The objects of a namespace, or of all, as they are now."""
        return (await self.client.list(resource, dict, namespace=namespace)).items

    async def until(self, met: Callable[[], Awaitable[bool]], within: float = PATIENCE_SECONDS) -> float:
        """Lets time pass until the condition is met; the seconds it took. AssertionError when it never is."""
        began = clock.monotonic()
        while True:
            self._written.clear()
            if await met():
                return clock.monotonic() - began
            left = began + within - clock.monotonic()
            if left <= 0:
                raise AssertionError(f"not met within {within:g} seconds (seed {self.seed})")
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_EVERY_SECONDS)):
                    await self._written.wait()
