"""A Service with several replicas behind it, which the API server calls as it would in any cluster.

Whoever is ready says so in an EndpointSlice that the scenario writes, with an address that no real packet goes to; this
proxy follows the slice and hands every connection to what stands for that address: a port on the loopback, or on the
embedded cluster a handler. The Service itself stands for this machine, as that of `orchestrators`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import msgspec

from kubeloop import request
from kubeloop.calls import Call, Handler, NoReply, Reply
from kubeloop.objects.core import PODS, SERVICES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, path_of
from tests.e2e.clusters import SimGround, Site
from tests.e2e.history import Tree

ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
LOCAL = "127.0.0.1"
CHUNK = 65_536


class Endpoint(msgspec.Struct, frozen=True):
    """One replica, as a slice tells of it."""

    pod: str
    address: str
    ready: bool = True

    @property
    def tree(self) -> Tree:
        target = {"kind": "Pod", "namespace": "", "name": self.pod}
        return {"addresses": [self.address], "conditions": {"ready": self.ready}, "targetRef": target}


class ServiceProxy:
    """Of one Service in the namespace of the scenario."""

    def __init__(self, site: Site, name: str = "fairlead") -> None:
        self.name = name
        self.host = f"{name}.{site.namespace}.svc"
        self.port = 443
        """What `clientConfig.service.port` must say; known when it has been started."""
        self.calls: dict[str, int] = {}
        """By address: calls on the embedded cluster, connections elsewhere."""
        self._site = site
        self._handlers: dict[str, Handler] = {}
        self._ports: dict[str, int] = {}
        self._turn = 0
        self._open: dict[str, set[asyncio.StreamWriter]] = {}
        """Both ends of connections, by address."""

    def place(self, address: str, answers: Handler | int) -> None:
        """Says what is behind an address: a handler on the embedded cluster, a port of the loopback elsewhere."""
        if isinstance(answers, int):
            self._ports[address] = answers
        else:
            self._handlers[address] = answers

    async def start(self) -> None:
        """The Service is there, and whoever is called by its name is one of its ready endpoints."""
        await self._site.history.follow(ENDPOINT_SLICES)
        if isinstance(self._site.ground, SimGround):
            spec: Tree = {"ports": [{"port": self.port}]}
            self._site.ground.cluster.network.serve(self.host, self._handle)
        else:
            self.port = await listening(self._site, self._connected)
            spec = {"type": "ExternalName", "externalName": LOCAL}
        await self._site.create(SERVICES, {"metadata": {"name": self.name}, "spec": spec})

    async def tell(self, *endpoints: Endpoint) -> None:
        """The slice of the Service holds these and no others; returns when the proxy goes by it."""
        tree = self._slice(endpoints)
        path = path_of(ENDPOINT_SLICES, self._site.namespace, self.name)
        query = (("fieldManager", "scenario"), ("force", "true"))
        body = msgspec.json.encode(tree)
        await self._site.client.call(Request("PATCH", path, query=query, body=body, content_type=request.APPLY))
        await self._site.history.caught_up()

    def cut(self, address: str) -> None:
        """Ends all connections with this address, as proxies do that go by the slice for those too."""
        for writer in self._open.pop(address, ()):
            writer.close()

    @property
    def ready(self) -> list[str]:
        """Addresses of ready endpoints."""
        slices = self._site.history.objects(ENDPOINT_SLICES).values()
        return [
            address
            for each in slices
            if each["metadata"].get("labels", {}).get("kubernetes.io/service-name") == self.name
            for endpoint in each["endpoints"] or ()
            if endpoint["conditions"].get("ready", True)
            for address in endpoint["addresses"]
        ]

    def _slice(self, endpoints: Sequence[Endpoint]) -> Tree:
        trees = [each.tree for each in endpoints]
        for each in trees:
            each["targetRef"]["namespace"] = self._site.namespace
        return {
            "apiVersion": ENDPOINT_SLICES.api_version,
            "kind": ENDPOINT_SLICES.kind,
            "metadata": {"name": self.name, "labels": {"kubernetes.io/service-name": self.name}},
            "addressType": "IPv4",
            "ports": [{"name": "", "port": 9443, "protocol": "TCP"}],
            "endpoints": trees,
        }

    def _next(self) -> str | None:
        found = self.ready
        if not found:
            return None
        self._turn += 1
        address = found[self._turn % len(found)]
        self.calls[address] = self.calls.get(address, 0) + 1
        return address

    async def _handle(self, call: Call) -> Reply:
        address = self._next()
        if address is None or address not in self._handlers:
            raise NoReply(f"{call.shown}: no endpoints available for service")
        return await self._handlers[address](call)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = self._next()
        try:
            if address is None:
                return
            with suppress(OSError):
                there, back = await asyncio.open_connection(LOCAL, self._ports[address])
                both = self._open.setdefault(address, set())
                both |= {back, writer}
                try:
                    await asyncio.gather(_copied(reader, back), _copied(there, writer))
                finally:
                    both -= {back, writer}
                    back.close()
        finally:
            writer.close()


async def a_pod(site: Site, name: str, annotations: Mapping[str, str] | None = None) -> Tree:
    """A pod that nobody runs, for what replicas write on theirs."""
    spec = {"containers": [{"name": "operator", "image": "operator"}]}
    return await site.create(PODS, {"metadata": {"name": name, "annotations": dict(annotations or {})}, "spec": spec})


async def pod(site: Site, name: str) -> Tree:
    answer = await site.client.call(request.get(Ref(PODS, site.namespace, name)))
    tree: Tree = msgspec.json.decode(answer.body)
    return tree


async def _copied(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Until one side ends; the other is told so."""
    with suppress(OSError):
        while chunk := await source.read(CHUNK):
            target.write(chunk)
            await target.drain()
    with suppress(OSError, RuntimeError):
        target.close()


async def listening(
    site: Site, connected: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
) -> int:
    """The port of the loopback on which connections are taken until the end of the scenario."""
    server = await asyncio.start_server(connected, LOCAL, 0)
    site.start(_until_cancelled(server))
    port: int = server.sockets[0].getsockname()[1]
    return port


async def _until_cancelled(server: asyncio.Server) -> None:
    async with server:
        await server.serve_forever()
