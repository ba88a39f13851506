"""Replicas of an operator of API versions behind one Service, which the API server calls as in any cluster.

On the embedded cluster the proxy calls their handlers; elsewhere each serves TLS on the loopback, with the certificate
that the leader has made.
"""

from __future__ import annotations

import asyncio

from fairlead.contracts import contract
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.engine.assembly import assemble
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from fairlead.engine.serving.server import ServerTerms, serving
from kubeloop.calls import Call, Reply
from kubeloop.request import Request, Transport
from kubesim.faults import Fault, Faulty
from tests.e2e.clusters import SimGround, Site
from tests.e2e.converting_operator import ConvertingOperator
from tests.e2e.service_proxy import LOCAL, Endpoint, ServiceProxy, a_pod

SERVICE = "fairlead"
LEASE = "fairlead-operator"
DROPPED, LOST = Fault("drop"), Fault("lost-answer")
"""Not carried out, and carried out without an answer."""


class Replica(ConvertingOperator):
    """One pod; `is_blind` keeps it from seeing ConfigMaps."""

    def __init__(self, site: Site, proxy: ServiceProxy, number: int) -> None:
        self.endpoint = Endpoint(f"fairlead-{number}", f"10.1.0.{number}")
        settings = ApiVersionsSettings(
            service_name=SERVICE,
            service_namespace=site.namespace,
            service_port=proxy.port,
            pod_name=self.endpoint.pod,
        )
        super().__init__(site, settings)
        self.is_blind = False
        self.dies_at = 0
        """The write of a definition with which it dies; 0: none."""
        self.last = DROPPED
        """What becomes of that write."""
        self._writes = 0
        self._proxy = proxy
        self._task: asyncio.Task[None] | None = None

    @property
    def parts(self) -> tuple[PartOptions, ...]:
        return (PartOptions(contract("apiversions"), self._settings),)

    async def start(self) -> None:
        """Returns when it serves what it can."""
        await a_pod(self.site, self.endpoint.pod)
        self._task = self.site.start_operator(self)
        await self.site.until(lambda: self.manager is not None, every=0.05)

    async def led(self) -> None:
        manager = self.manager
        assert manager is not None
        await self.site.until(manager.leading.is_set, every=0.05)

    async def stop(self) -> None:
        """As if its pod were deleted."""
        if self._task is not None:
            await self.site.stop(self._task)

    async def __call__(self, transport: Transport) -> None:
        options = OperatorOptions(process="fairlead", parts=self.parts, identity=self.endpoint.pod, lease=LEASE)
        wire = Faulty(transport, self._strike)
        manager = await assemble(options, self.site.namespace, wire, self.metrics, self.log.logger())
        assert manager.certificates is not None
        try:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(manager.run())
                credentials = await manager.certificates.start()
                following = tasks.create_task(manager.certificates.run())
                serving_task = tasks.create_task(self._serve(manager, credentials))
                await running
                for each in (following, serving_task):
                    each.cancel()
        finally:
            self.manager = None
            close = getattr(transport, "close", None)
            if close is not None:
                await close()

    async def _serve(self, manager: Manager, credentials: Credentials) -> None:
        if isinstance(self.site.ground, SimGround):
            self.manager = manager
            self._proxy.place(self.endpoint.address, self.webhooks)
            return
        terms = ServerTerms(tls=credentials.context)
        routes = {"/convert": self._closing}
        async with serving(0, routes, Metrics(), self.log.logger(), terms, host=LOCAL) as port:
            self.manager = manager
            self._proxy.place(self.endpoint.address, port)
            await asyncio.Event().wait()

    async def _closing(self, call: Call) -> Reply:
        """Every review comes over a connection of its own, so that it is the proxy that says where it goes."""
        reply = await self.webhooks(call)
        return Reply(reply.status, reply.body, (*reply.headers, ("Connection", "close")))

    @property
    def is_dead(self) -> bool:
        return 0 < self.dies_at <= self._writes

    def _strike(self, request: Request, _number: int) -> Fault | None:
        if self.is_dead:
            return Fault("drop")
        if request.method == "PATCH" and "/customresourcedefinitions/" in request.path:
            self._writes += 1
            if self.is_dead:
                return self.last
        return Fault("drop") if self.is_blind and "/configmaps" in request.path else None


class Replicas:
    """All of one installation."""

    def __init__(self, site: Site, of: type[Replica] = Replica) -> None:
        self.site = site
        self.proxy = ServiceProxy(site, SERVICE)
        self._of = of
        self.all: list[Replica] = []
        self._made = 0

    async def begin(self) -> None:
        await self.proxy.start()

    async def add(self, *, is_blind: bool = False, dies_at: int = 0, last: Fault = DROPPED) -> Replica:
        """The first one leads when this returns."""
        self._made += 1
        replica = self._of(self.site, self.proxy, self._made)
        replica.is_blind, replica.dies_at, replica.last = is_blind, dies_at, last
        self.all.append(replica)
        await replica.start()
        if len(self.all) == 1:
            await replica.led()
        await self.proxy.tell(*(each.endpoint for each in self.all))
        return replica

    async def lose(self, replica: Replica) -> None:
        """Its pod is gone, and nobody calls it any more."""
        await replica.stop()
        self.all.remove(replica)
        await self.proxy.tell(*(each.endpoint for each in self.all))

    async def stop(self) -> None:
        for each in self.all:
            await each.stop()
        await self.proxy.tell()
