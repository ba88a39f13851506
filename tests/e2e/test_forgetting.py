"""A process that runs for months remembers nothing of rollouts that are gone, whether it leads or stands by."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import count
from types import ModuleType

import pytest

import fairlead.engine.demo
from fairlead.cli.embedded import hosted_operator
from fairlead.cli.embedded.stand_ins import stand_in
from fairlead.engine.assembly import assemble
from fairlead.engine.controller import RolloutKey
from fairlead.engine.demo import Demo
from fairlead.engine.manager import RESYNC, Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from fairlead.engine.serving.review_groups import handlers_of
from fairlead.engine.serving.routes import dispatching
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Ref
from kubeloop.tombstones import LONGEST_SECONDS
from kubesim.auth.rbac import master
from kubesim.cluster import FIRST_NAMESPACES, Cluster
from kubesim.hosting import node_client, nodes_of
from kubesim.kubelet.answers import answering
from kubesim.kubelet.programs import Programs
from kubesim.network import Network
from kubesim.time import START, run
from tests.engine.world import Log

STEPS = 5_000_000
CONTRACTS = ("zones", "environments", "leaderworker", "plans")


class Life:
    """A cluster with all contracts, and two replicas of an operator, the first of which leads."""

    def __init__(self) -> None:
        self.network = Network()
        self.programs = Programs(stand_in(), answering)
        self.network.ask(self.programs.find)
        called = self.network.call
        namespaces = FIRST_NAMESPACES
        self.cluster = Cluster(seed=1, namespaces=namespaces, caller=called, pods=called, history=False)
        self.client = Client(self.cluster.transport("admin"))
        self.metrics = (Metrics(), Metrics())
        self.replicas: list[Manager] = []
        self.log = Log()

    async def begin(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        known = hosted_operator.hosted()
        begun = [self.cluster.run(), nodes_of(node_client(self.cluster), self.programs, self.cluster.marks).run()]
        started = [tasks.create_task(each) for each in begun]
        beside = await hosted_operator.neighbours(self.client, self.network, is_copy=False)
        started += [tasks.create_task(each) for each in beside]
        await hosted_operator.bring_kinds(self.client, known)
        parts = tuple(PartOptions(contract, each.settings) for contract, each in known)
        for number, metrics in enumerate(self.metrics):
            options = OperatorOptions(
                process="fairlead", identity=f"replica-{number}", parts=parts, lease="fairlead-operator", resync=RESYNC
            )
            wire, home = self.cluster.transport(master("fairlead")), hosted_operator.HOME
            manager = await assemble(options, home, wire, metrics, self.log.logger(), self.network.call)
            self.replicas.append(manager)
        await self._serve(known)
        for manager in self.replicas:
            started.append(tasks.create_task(manager.run()))
            await manager.ready.wait()
            await asyncio.sleep(10)
        return started

    async def _serve(self, known: hosted_operator.Known) -> None:
        first = self.replicas[0]
        for server in first.servers:
            if server.handler is not None:
                self.network.serve(server.dns_name, server.handler)
        handler = dispatching({**first.webhooks.routes, **handlers_of(first.shared_routes)})
        for _, each in known:
            if host := each.host(hosted_operator.HOME):
                self.network.serve(host, handler)
            await hosted_operator.apply_ours(self.client, hosted_operator.configurations(each))

    async def roll(self, demo: Demo) -> None:
        await demo.create(self.client)
        await asyncio.sleep(60)
        await demo.change(self.client, lambda _: None)
        await asyncio.sleep(60)

    async def remove(self, namespace: str) -> None:
        """Returns when it is gone with all that is in it."""
        await self.client.call(request.delete(Ref(NAMESPACES, "", namespace)))
        with suppress(NotFound):
            for _ in count():
                await asyncio.sleep(5)
                await self.client.call(request.get(Ref(NAMESPACES, "", namespace)))


def remembered(namespaces: set[str]) -> Iterator[str]:
    """Rollouts of these namespaces, however deep in whatever is held."""
    gc.collect()
    for each in gc.get_objects():
        if type(each) is RolloutKey and each.namespace in namespaces:
            yield str(each)


def depth(metrics: Metrics) -> float:
    """Keys that queues with such a metric hold."""
    series = [sample for family in metrics.registry.collect() for sample in family.samples]
    found = [each.value for each in series if each.name == "workqueue_depth"]
    assert found
    return sum(found)


def test_nothing_is_remembered_of_rollouts_that_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    life = Life()
    demos: dict[str, ModuleType] = {each: import_module(f"fairlead.contracts.{each}.demo") for each in CONTRACTS}

    async def scenario() -> None:
        async with asyncio.TaskGroup() as tasks:
            started = await life.begin(tasks)
            leads = [each.leading.is_set() for each in life.replicas]
            before = depth(life.metrics[1])
            for name, module in demos.items():
                for place in (module, fairlead.engine.demo):
                    monkeypatch.setattr(place, "NAMESPACE", f"was-{name}")
                await life.roll(next(each for each in vars(module).values() if isinstance(each, Demo)))
                assert any(remembered({f"was-{name}"}))
                await life.remove(f"was-{name}")
            await asyncio.sleep(LONGEST_SECONDS + 2 * RESYNC)

            left = sorted(set(remembered({f"was-{each}" for each in CONTRACTS})))

            assert leads == [each.leading.is_set() for each in life.replicas] == [True, False]
            assert left == []
            assert depth(life.metrics[1]) == before
            for task in started:
                task.cancel()

    run(scenario(), seed=1, steps=STEPS, start=START)
