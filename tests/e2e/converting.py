"""The conversion webhook beside a scenario: certificate files, what is published, and the server over TLS.

The API server reaches it by its URL on the loopback; on the embedded cluster its handlers are called in process.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from fairlead.contracts.environments.conversion_rules import RULES
from fairlead.contracts.environments.install.definitions import definitions, materializes
from fairlead.contracts.environments.kinds import GROUP, MANAGER, MATERIALIZES
from fairlead.engine.certificates.authority import AuthorityFiles, FromAuthority, Publication
from fairlead.engine.conversion.health import healthy
from fairlead.engine.conversion.webhook import LARGEST_REVIEW, ConversionHandler
from fairlead.engine.decide.registration import DEFINITIONS, ConversionWebhook, Tree, name_of
from fairlead.engine.kinds.registration import Registration
from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.routes import Routes, dispatching
from fairlead.engine.serving.server import ServerTerms, serving
from kubeloop import request
from kubeloop.calls import Call, Handler, Reply
from kubeloop.client import Client
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON_PATCH
from kubesim.pki import Authority
from tests.e2e.clusters import SimGround, Site
from tests.engine.alone import caches_of, rounds_of
from tests.engine.world import Log

HOST = "hook.operator.svc"
NAME = name_of(materializes())
OLD = Resource(GROUP, "v1alpha1", MATERIALIZES.plural, MATERIALIZES.kind)
LATEST = Resource(GROUP, "v1", MATERIALIZES.plural, MATERIALIZES.kind)
IMAGE = "materialize/environmentd:v26.0.0"


def an_environment(name: str, resource: Resource = MATERIALIZES, **spec: Any) -> Tree:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": {"environmentdImageRef": IMAGE, "backendSecretName": "backend", **spec},
    }


class Stage:
    """One replica: its certificate files, its webhook and what it registers."""

    def __init__(self, site: Site, folder: Path, interval: float = 3600.0) -> None:
        self.site = site
        self.log = Log()
        self.authority = Authority()
        self._interval = interval
        self.publication = Publication(interval)
        self.files = AuthorityFiles(folder / "tls.crt", folder / "tls.key", folder / "ca.crt")
        self.certificates = FromAuthority(self.files, self.publication, interval, self.log.logger())
        self.caches = caches_of(site.client, self.log.logger())
        self.reviews = 0
        self.webhook = ConversionWebhook()
        self.health: Handler | None = None
        self.write(self.authority)

    def write(self, authority: Authority) -> None:
        """The files hold a new certificate of this authority."""
        pair = authority.server((HOST, "127.0.0.1"))
        self.authority = authority
        self.files.certificate.write_bytes(pair.certificate)
        self.files.key.write_bytes(pair.key)
        self.files.authority.write_bytes(authority.certificate)

    async def serve(self) -> None:
        """Until the end of the scenario; certificates are exchanged meanwhile."""
        credentials = await self.certificates.start()
        conversion = ConversionHandler(RULES, self.log.logger(), heard=self._heard)
        self.health = healthy(credentials, self.publication, RULES)
        routes: Routes = {"/convert": _closing(conversion), "/healthz": self.health}
        self.site.start(self.certificates.run())
        if isinstance(self.site.ground, SimGround):
            self.site.ground.cluster.network.serve(HOST, dispatching(routes))
            self.webhook = ConversionWebhook(url=f"https://{HOST}/convert")
            return
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        terms = ServerTerms(tls=credentials.context, largest={"/convert": LARGEST_REVIEW})

        async def server() -> None:
            async with serving(0, routes, Metrics(), self.log.logger(), terms, host="127.0.0.1") as chosen:
                port.set_result(chosen)
                await asyncio.Event().wait()

        self.site.start(server())
        self.webhook = ConversionWebhook(url=f"https://127.0.0.1:{await port}/convert")

    def forget(self) -> None:
        """As if the process had been started anew: it knows what its files hold, and nothing else."""
        self.publication = Publication(self._interval)
        self.publication.offer(self.files.authority.read_bytes())

    def registration(self, client: Client | None = None, *trees: Tree) -> Registration:
        """As a process would make it at its start."""
        return Registration(
            client or self.site.client,
            self.caches,
            trees or definitions(),
            self.webhook,
            self.publication,
            self.log.logger(),
            manager=MANAGER,
        )

    async def registered(self) -> None:
        """Registers all definitions, and keeps them until the end of the scenario."""
        registration = self.registration()
        await registration.register()
        self.site.start(self.caches.run())
        rounds = rounds_of(registration.controller, self.site.client, self.log.logger(), caches=self.caches)
        self.site.start(rounds.run())

    def _heard(self, _: object) -> None:
        self.reviews += 1


def _closing(handler: Handler) -> Handler:
    """Every review comes over a connection of its own, so that a certificate that is not trusted is noticed at once."""

    async def handle(call: Call) -> Reply:
        reply = await handler(call)
        return Reply(reply.status, reply.body, (*reply.headers, ("Connection", "close")))

    return handle


async def definition(site: Site, name: str = NAME) -> Tree:
    answer = await site.client.call(request.get(Ref(DEFINITIONS, "", name)))
    tree: Tree = msgspec.json.decode(answer.body)
    return tree


async def patched(site: Site, *operations: Tree, name: str = NAME) -> None:
    """As another tool would."""
    await site.client.call(request.patch(Ref(DEFINITIONS, "", name), JSON_PATCH, msgspec.json.encode(operations)))


def marks(tree: Tree) -> tuple[int, str]:
    """Generation and version: what a write that changes something changes."""
    return tree["metadata"]["generation"], tree["metadata"]["resourceVersion"]
