"""The operator on the embedded cluster in virtual time: its deletions, its log, and a wire to disturb."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import msgspec
import structlog
from structlog.types import EventDict, FilteringBoundLogger, WrappedLogger

from fairlead.contracts.zones.settings import Settings
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from fairlead.engine.process import assemble
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, Transport
from kubesim.auth.rbac import master
from kubesim.cluster import FIRST_NAMESPACES, Cluster
from kubesim.faults import Fault, Faulty
from kubesim.kubelet import Kubelet
from kubesim.store.versions import Tree
from kubesim.time import run
from tests.operator_parts import zones

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)

STEPS = 200_000
"""Callbacks; a loop that does not come to rest fails the test instead of holding it up."""


USUAL = Settings()


class Log:
    """Takes every record as `(level, message, keys)`."""

    def __init__(self) -> None:
        self.records: list[tuple[str, str, dict[str, Any]]] = []

    def logger(self) -> FilteringBoundLogger:
        logger = structlog.wrap_logger(
            None, processors=[self._take], wrapper_class=structlog.make_filtering_bound_logger(10)
        )
        return cast("FilteringBoundLogger", logger)

    def of(self, message: str) -> list[dict[str, Any]]:
        return [keys for _, said, keys in self.records if said == message]

    def _take(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        keys = dict(event)
        self.records.append((method, str(keys.pop("event")), keys))
        raise structlog.DropEvent


class World:
    """A cluster with namespaces `test` and `other`; `fault` may answer for the API server, to the operator alone."""

    def __init__(self, seed: int, gone_after: float) -> None:
        self.cluster = Cluster(seed=seed, namespaces=(*FIRST_NAMESPACES, "test", "other"))
        self.client = Client(self.cluster.transport())
        self.metrics = Metrics()
        self.log = Log()
        self.requests: list[Request] = []
        self.deletes: list[tuple[float, str]] = []
        """When the operator sent deletions of which pods."""
        self.fault: Callable[[Request], Fault | None] = lambda _: None
        self.wire = Faulty(self.cluster.transport(master("operator")), self._strike)
        self.kubelet = Kubelet(self.cluster.inside("kubelet"), gone_after=gone_after)

    def _strike(self, request: Request, _: int) -> Fault | None:
        self.requests.append(request)
        if request.method == "DELETE":
            self.deletes.append((clock.monotonic(), request.path.rsplit("/", 1)[1]))
        return self.fault(request)

    def deleted(self) -> list[str]:
        return [name for _, name in self.deletes]

    async def operator(
        self, through: Transport | None = None, *, settings: Settings = USUAL, **options: Any
    ) -> Manager:
        """A manager on the wire, not yet running; of zones with these settings, unless the options say otherwise."""
        usual = {"namespaces": ("test",), "parts": (zones(settings),)}
        given = OperatorOptions(process="fairlead", identity="me", **usual | options)
        wire, log, caller = through or self.wire, self.log.logger(), self.cluster.network.call
        return await assemble(given, "default", wire, self.metrics, log, caller)

    @asynccontextmanager
    async def operating(self, through: Transport | None = None, **options: Any) -> AsyncIterator[Manager]:
        """A manager at work, its watches open for some seconds."""
        manager = await self.operator(through, **options)
        task = asyncio.create_task(manager.run())
        try:
            await manager.leading.wait()
            await asyncio.sleep(5)
            yield manager
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def define(self, *definitions: Tree) -> None:
        """Returns when their kinds are served."""

        def is_served(name: str) -> bool:
            conditions = self.cluster.get(DEFINITIONS, "", name).get("status", {}).get("conditions") or ()
            return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)

        for definition in definitions:
            await self.create(DEFINITIONS, "", definition)
            await self.until(partial(is_served, definition["metadata"]["name"]))

    async def create(self, resource: Resource, namespace: str, tree: Tree) -> None:
        await self.client.call(request.create(resource, namespace, msgspec.json.encode(tree)))

    async def change(self, resource: Resource, namespace: str, name: str, patch: Tree) -> None:
        body = msgspec.json.encode(patch)
        await self.client.call(request.patch(Ref(resource, namespace, name), "application/merge-patch+json", body))

    async def zone(self, name: str, group: str, *, namespace: str = "test", strategy: str = "OnDelete") -> None:
        """A zone of three pods, all ready."""
        await self.create(STATEFULSETS, namespace, a_statefulset(name, group, strategy))
        await self.until(lambda: self.ready(namespace, name) == 3)

    async def roll(self, *names: str, namespace: str = "test", image: str = "v2") -> None:
        for name in names:
            template = {"spec": {"containers": [{"name": "main", "image": image}]}}
            await self.change(STATEFULSETS, namespace, name, {"spec": {"template": template}})

    async def regroup(self, name: str, group: str) -> None:
        await self.change(STATEFULSETS, "test", name, {"metadata": {"labels": {"rollout-group": group}}})

    def ready(self, namespace: str, name: str) -> int:
        ready: int = self.cluster.get(STATEFULSETS, namespace, name).get("status", {}).get("readyReplicas", 0)
        return ready

    def is_rolled(self, namespace: str, name: str) -> bool:
        zone = self.cluster.get(STATEFULSETS, namespace, name)
        status = zone["status"]
        seen = status.get("observedGeneration") == zone["metadata"]["generation"]
        return bool(seen and status["currentRevision"] == status["updateRevision"] and status.get("readyReplicas") == 3)

    async def until(self, holds: Callable[[], object], within: float = 100.0, every: float = 0.02) -> None:
        async with asyncio.timeout(within):
            while not holds():  # noqa: ASYNC110  virtual time jumps from look to look
                await asyncio.sleep(every)


def a_statefulset(name: str, group: str, strategy: str = "OnDelete") -> Tree:
    labels = {"name": name}
    pod = {"terminationGracePeriodSeconds": 5, "containers": [{"name": "main", "image": "v1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "labels": {"rollout-group": group}},
        "spec": {
            "replicas": 3,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": strategy},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


async def touch_a_pod(world: World, name: str, namespace: str = "test") -> None:
    """An event that wakes the pod's group and changes nothing that matters."""
    moment = {"metadata": {"annotations": {"touched": str(clock.monotonic())}}}
    await world.change(PODS, namespace, name, moment)


def play(scenario: Callable[[World], Awaitable[None]], *, seed: int = 1, gone_after: float = 0.1) -> None:
    """Plays the scenario on a running cluster."""

    async def whole() -> None:
        world = World(seed, gone_after)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(world.cluster.run()), tasks.create_task(world.kubelet.run())]
            await scenario(world)
            for task in running:
                task.cancel()

    run(whole(), seed=seed, steps=STEPS)
