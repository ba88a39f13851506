"""Replicas of an operator behind one Service, with certificates as a process keeps them, and gadgets to convert.

On the real control plane every conversion is a TLS connection of its own, checked by the API server. On the embedded
one no bytes are encrypted: there a conversion fails where the definition does not trust what the replica shows.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from fairlead.contracts.apiversions.settings import ApiVersionsSettings, CertificateSettings
from fairlead.contracts.apiversions.webhook_certificates import WebhookCertificates
from fairlead.core.act import EventNote
from fairlead.core.replay import DecidedRound
from fairlead.engine.certificates import pairs
from fairlead.engine.decide.ca_injection import TrustLabels, TrustScope
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.lane import ControllerLane
from fairlead.engine.metrics import Metrics
from fairlead.engine.part import PartContext
from fairlead.engine.rounds import Rounds, RoundTerms
from fairlead.engine.serving.routes import Routes
from fairlead.engine.serving.server import ServerTerms, serving
from kubeloop import request
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.client import Client
from kubeloop.handshake import served_leaf
from kubeloop.ledger import Ledger
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.queue import Queue
from kubeloop.request import Request, path_of
from tests.e2e.clusters import CUSTOM_RESOURCES, SimGround, Site
from tests.e2e.conversions import NAME, V1, V2, Webhook, a_gadget, versions
from tests.e2e.definitions import Shop, Tree, a_definition, an_empty_shop, tree_of
from tests.e2e.service_proxy import Endpoint, ServiceProxy
from tests.engine.alone import caches_of
from tests.engine.world import Log

SERVICE = "fairlead"
SECRET = "fairlead-webhook-cert"


class Replica:
    """One process: what it shows, and what it does while it leads."""

    def __init__(self, world: CertificateWorld, address: str, settings: CertificateSettings) -> None:
        site = world.site
        self.address = address
        self.log = Log()
        self.metrics = Metrics()
        self.told: list[EventNote] = []
        self.rounds: list[DecidedRound] = []
        self.port = 0
        self._world = world
        self._caches = caches_of(site.client, self.log.logger())
        labels = TrustLabels("trust.test/inject", "trust.test/namespace")
        context = PartContext(
            self._caches,
            site.client,
            (),
            None,
            self.metrics,
            self.log.logger(),
            home=site.namespace,
            trust=TrustScope(labels, (), site.namespace),
        )
        given = ApiVersionsSettings(
            service_name=SERVICE,
            service_namespace=site.namespace,
            service_port=world.proxy.port,
            certificates=settings,
            port=9443,
        )
        self.kept = WebhookCertificates(context, given, {"POD_NAME": f"fairlead-{address}"})
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        site = self._world.site
        credentials = await self.kept.shown.start()
        self._tasks += [site.start(self._caches.run()), site.start(self.kept.shown.run())]
        if not isinstance(site.ground, SimGround):
            self.port = await self._listening(credentials.context)
        self._world.proxy.place(self.address, self._handle if isinstance(site.ground, SimGround) else self.port)

    async def lead(self, client: Client | None = None) -> asyncio.Task[None]:
        """Rounds begin here, with what must be there before them."""
        site, controller = self._world.site, self.kept.rotation.controller
        await self.kept.prepare()
        outside = AskContext(client or site.client, shake=self._world.shake)
        terms = RoundTerms(Ledger(10.0, self._caches.covering), 10.0)
        rounds: Rounds[Any] = Rounds(
            controller, outside, terms, self.log.logger(), self.told.append, record=self.rounds.append
        )
        lane = ControllerLane(controller, rounds, Queue(first_delay=0.5, longest_delay=2.0), self.log.logger())
        task = site.start(lane.run())
        lane.wake_all()
        self._tasks.append(task)
        return task

    async def stop(self) -> None:
        for task in reversed(self._tasks):
            await self._world.site.stop(task)
        self._tasks.clear()

    @property
    def shown(self) -> str:
        found = self.kept.shown.shown
        return "" if found is None else found.pem

    def sample(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)

    @property
    def reasons(self) -> list[str]:
        return [each.reason for each in self.told]

    async def _handle(self, call: Call) -> Reply:
        """As a TLS client would: whoever is not trusted is not talked to."""
        for bundle in self._world.bundles():
            if not pairs.is_trusted(self.kept.shown.credentials.pair.certificate, bundle):
                raise NoReply(f"{self.address} shows a certificate of an unknown authority")
        return await self._world.webhook(call)

    async def _listening(self, tls: Any) -> int:
        async def closing(call: Call) -> Reply:
            reply = await self._world.webhook(call)
            return Reply(reply.status, reply.body, (*reply.headers, ("Connection", "close")))

        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        routes: Routes = {"/convert": closing}

        async def server() -> None:
            async with serving(
                0, routes, Metrics(), self.log.logger(), ServerTerms(tls=tls), host="127.0.0.1"
            ) as chosen:
                port.set_result(chosen)
                await asyncio.Event().wait()

        self._tasks.append(self._world.site.start(server()))
        return await port


class CertificateWorld:
    """Gadgets whose definition names the Service, and replicas behind it."""

    def __init__(self, site: Site, shop: Shop, **settings: Any) -> None:
        self.site = site
        self.shop = shop
        self.proxy = ServiceProxy(site, SERVICE)
        self.webhook = Webhook()
        self.settings = CertificateSettings(**settings)
        self.replicas: list[Replica] = []
        self.failures: list[str] = []
        self.gets = 0
        self.unreachable: set[str] = set()
        """Addresses of replicas that API servers reach and the leader does not."""
        self.generations: set[int] = set()
        self._loops: list[asyncio.Task[None]] = []
        self.seen_bundles: list[frozenset[bytes]] = []
        """Every bundle that the definition had, in order."""

    async def add(self) -> Replica:
        replica = Replica(self, f"10.0.0.{len(self.replicas) + 1}", self.settings)
        self.replicas.append(replica)
        await replica.start()
        return replica

    async def publish(self) -> None:
        """All replicas that may be called are endpoints of the Service."""
        ready = [each for each in self.replicas if not each.kept.obstacle()]
        await self.proxy.tell(*(Endpoint(f"fairlead-{each.address}", each.address) for each in ready))

    async def shake(self, host: str, port: int, name: str) -> bytes:
        """What is shown at the address of a pod, which is no address of this machine."""
        found = next((each for each in self.replicas if each.address == host), None)
        assert (port, name) == (9443, f"{SERVICE}.{self.site.namespace}.svc")
        if found is None or not found.shown or host in self.unreachable:
            raise NoReply(f"{host}:{port}: cannot be reached")
        return found.shown.encode() if not found.port else await served_leaf("127.0.0.1", found.port, name)

    async def define(self, bundle: bytes) -> None:
        service = {
            "name": SERVICE, "namespace": self.site.namespace, "path": "/convert", "port": self.proxy.port,
        }  # fmt: skip
        client = {"service": service} | ({"caBundle": msgspec.to_builtins(bundle)} if bundle else {})
        conversion = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
        }
        made = a_definition(*versions("v2"), plural="gadgets", kind="Gadget", conversion=conversion)
        await self.shop.define(made)
        answer = await self.shop.send("POST", self.shop.at(resource=V2), a_gadget("one", "v2", size=3))
        assert answer.status == 201, answer.body

    def bundles(self) -> list[bytes]:
        """Of the definition as it is now."""
        held = self.site.history.objects(CUSTOM_RESOURCES).get(NAME)
        return [] if held is None else [bundle_of(held)]

    async def definition(self) -> Tree:
        return tree_of(await self.shop.send("GET", path_of(CUSTOM_RESOURCES, name=NAME)))

    async def secret(self) -> dict[str, bytes]:
        tree = await self.site.get(SECRETS, self.settings.secret)
        return {} if tree is None else {key: b64decode(value) for key, value in (tree.get("data") or {}).items()}

    async def store(self, **entries: bytes) -> None:
        """As a person would; `_` stands for the dot in names."""
        data = {key.replace("_", "."): value for key, value in entries.items()}
        body = {"metadata": {"name": self.settings.secret}, "data": msgspec.to_builtins(data)}
        if await self.site.get(SECRETS, self.settings.secret) is None:
            await self.site.create(SECRETS, body)
            return
        await self.patch_secret(body["data"])

    async def patch_secret(self, data: Any) -> None:
        path = path_of(SECRETS, self.site.namespace, self.settings.secret)
        body = msgspec.json.encode({"data": data})
        await self.site.client.call(Request("PATCH", path, body=body, content_type=request.MERGE_PATCH))

    def begin(self, *, reads: bool = True) -> None:
        """Every state of the definition is noted from now on, and objects are read without a pause."""
        self._loops.append(self.site.start(self.look_all_the_time()))
        if reads:
            self._loops.append(self.site.start(self.get_all_the_time()))

    async def end(self) -> None:
        for task in self._loops:
            await self.site.stop(task)
        for replica in self.replicas:
            await replica.stop()

    async def get_all_the_time(self) -> None:
        """Twenty times a second, in the version that is not stored; until cancelled."""
        while True:
            await self.get_once()
            await asyncio.sleep(0.05)

    async def get_once(self) -> None:
        answer = await self.shop.send("GET", self.shop.at("one", "", V1))
        self.gets += 1
        if answer.status != 200:
            self.failures.append(answer.body.decode())

    async def look_all_the_time(self) -> None:
        """Notes every state of the definition, by its own watch."""
        while True:
            moment = self.site.history.moment
            held = self.site.history.objects(CUSTOM_RESOURCES).get(NAME)
            if held is not None:
                self.generations.add(held["metadata"]["generation"])
                bundle = frozenset(pem for pem, _ in pairs.authorities(bundle_of(held)))
                if not self.seen_bundles or self.seen_bundles[-1] != bundle:
                    self.seen_bundles.append(bundle)
            await self.site.history.past(moment)


def bundle_of(definition: Tree) -> bytes:
    return b64decode(definition["spec"]["conversion"]["webhook"]["clientConfig"].get("caBundle", ""))


def secret_ref(site: Site) -> Ref:
    return Ref(SECRETS, site.namespace, SECRET)


@asynccontextmanager
async def a_certificate_world(site: Site, replicas: int = 2, **settings: Any) -> AsyncIterator[CertificateWorld]:
    """Nothing is defined yet, and nobody leads."""
    async with an_empty_shop(site) as shop:
        world = CertificateWorld(site, shop, **settings)
        await site.history.follow(CUSTOM_RESOURCES)
        await world.proxy.start()
        try:
            for _ in range(replicas):
                await world.add()
            yield world
        finally:
            await world.end()
            await shop.send("DELETE", path_of(CUSTOM_RESOURCES, name=NAME))
            gone = lambda: NAME not in site.history.objects(CUSTOM_RESOURCES)  # noqa: E731
            await site.until(gone, following=[CUSTOM_RESOURCES])
