"""Operators of environments on the embedded cluster in virtual time: everything but sockets and files."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from fairlead.contracts.environments.kinds import MATERIALIZES, NIL
from fairlead.contracts.environments.settings import ConversionOptions, Settings
from fairlead.contracts.environments.stand_in.environmentd import Environments
from fairlead.engine.assembly import assemble
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, Transport
from kubesim.auth.rbac import master
from kubesim.cluster import FIRST_NAMESPACES, Cluster
from kubesim.faults import Fault, Faulty
from kubesim.kubelet import Kubelet
from kubesim.kubelet.programs import Programs
from kubesim.store.versions import Tree
from kubesim.time import run
from tests.engine.world import Log
from tests.licenses import a_license_key
from tests.operator_parts import converting, environments

SPACE, OPERATORS = "e", "ops"
IMAGE = "materialize/environmentd:v26.{}.0"
STEPS = 2_000_000


class Estate:
    """`fault` may answer operators in the API server's place; `through` wraps what they send with."""

    def __init__(self, seed: int) -> None:
        self.through: Callable[[Transport], Transport] = lambda wire: wire
        self.cluster = Cluster(seed=seed, namespaces=(*FIRST_NAMESPACES, SPACE, OPERATORS))
        self.client = Client(self.cluster.transport())
        self.log = Log()
        self.requests: list[tuple[float, Request]] = []
        self.fault: Callable[[Request], Fault | None] = lambda _: None
        self.database = Environments()
        self._programs = Programs(self.database.make, extra=self.database.record)
        self.cluster.network.ask(self._programs.find)
        self.kubelet = Kubelet(Client(self.cluster.transport(master("kubelet"))), programs=self._programs)

    async def operator(self, identity: str = "one", beside: Iterable[PartOptions] = (), **settings: Any) -> Manager:
        """Not yet running; its webhook answers. It runs the parts `beside` too."""
        options = OperatorOptions(
            process="orchestratord",
            identity=identity,
            parts=(
                *beside,
                environments(
                    Settings(operator_namespace=OPERATORS, **settings),
                    ConversionOptions(service_name="fn", service_namespace=OPERATORS),
                ),
            ),
            lease="orchestratord",
        )
        wire = Faulty(self.through(self.cluster.transport(master(identity))), self._strike)
        network = self.cluster.network
        manager = await assemble(options, "default", wire, Metrics(), self.log.logger(), network.call)
        network.serve(f"fn.{OPERATORS}.svc", converting(manager))
        return manager

    def _strike(self, sent: Request, _: int) -> Fault | None:
        self.requests.append((clock.monotonic(), sent))
        return self.fault(sent)

    @asynccontextmanager
    async def operating(self, identity: str = "one", **settings: Any) -> AsyncIterator[Manager]:
        manager = await self.operator(identity, **settings)
        task = asyncio.create_task(manager.run())
        try:
            yield manager
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def environment(self, name: str = "m", **spec: Any) -> None:
        data = {"metadata_backend_url": "a", "persist_backend_url": "b", "license_key": a_license_key(aud=NIL)}
        encoded = {key: b64encode(value.encode()).decode() for key, value in data.items()}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-backend"}, "data": encoded}
        await self.client.call(request.create(SECRETS, SPACE, msgspec.json.encode(secret)))
        wanted = {"environmentdImageRef": IMAGE.format(0), "backendSecretName": f"{name}-backend", **spec}
        tree = {"apiVersion": MATERIALIZES.api_version, "kind": MATERIALIZES.kind, "metadata": {"name": name}}
        await self.client.call(request.create(MATERIALIZES, SPACE, msgspec.json.encode({**tree, "spec": wanted})))

    async def change(self, name: str = "m", **spec: Any) -> None:
        body = msgspec.json.encode({"spec": spec})
        await self.client.call(request.patch(Ref(MATERIALIZES, SPACE, name), MERGE_PATCH, body))

    def status(self, name: str = "m") -> Tree:
        status: Tree = self.cluster.get(MATERIALIZES, SPACE, name).get("status", {})
        return status

    def serves(self, generation: int, name: str = "m") -> bool:
        """Whether it is promoted, and nothing is on its way."""
        status = self.status(name)
        said = [each["reason"] for each in status.get("conditions", ())]
        return status.get("activeGeneration") == generation and said == ["Applied"]

    async def until(self, holds: Callable[[], bool], within: float = 120.0) -> None:
        async with asyncio.timeout(within):
            while not holds():  # noqa: ASYNC110  virtual time jumps from look to look
                await asyncio.sleep(0.1)


def play(scenario: Callable[[Estate], Awaitable[None]], *, seed: int = 1) -> None:
    async def whole() -> None:
        estate = Estate(seed)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(estate.cluster.run()), tasks.create_task(estate.kubelet.run())]
            await scenario(estate)
            for task in running:
                task.cancel()

    run(whole(), seed=seed, steps=STEPS)
