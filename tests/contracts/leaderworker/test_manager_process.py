"""The process `lws-manager` on an embedded cluster: trusted webhooks, probes and metrics (section 2.12), its end.

It runs under the account of an installation, with the rights of that and no others (section 2.14).
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from msgspec import structs

from fairlead.cli.flags.go import parse
from fairlead.contracts.leaderworker.flags import FLAGS
from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.install.objects import objects
from fairlead.contracts.leaderworker.install.values import Values
from fairlead.contracts.leaderworker.options import PROCESS, options_of
from fairlead.engine.options import OperatorOptions
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.admissionregistration import MUTATING, VALIDATING
from kubeloop.objects.core import LEASES, SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubesim.cluster import FIRST_NAMESPACES, Cluster
from kubesim.server import serve
from tests.e2e.installing import resource_of
from tests.engine.test_process import LONG, Process
from tests.engine.webhooks.benches import body

pytestmark = pytest.mark.usefixtures("few_keys")

HOME = "lws-system"
TOKEN = {"Authorization": "Bearer admin"}
HOOKS = (
    Ref(MUTATING, "", "lws-mutating-webhook-configuration"),
    Ref(VALIDATING, "", "lws-validating-webhook-configuration"),
)
DEFINITIONS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False)


class Site:
    """An installation on a cluster of its own."""

    def __init__(self, client: Client, config: Path) -> None:
        self.client = client
        self.config = config

    async def read(self, ref: Ref) -> dict[str, Any]:
        tree: dict[str, Any] = msgspec.json.decode((await self.client.call(request.get(ref))).body)
        return tree

    async def found(self, ref: Ref) -> dict[str, Any]:
        """As soon as it is there."""
        while True:
            try:
                return await self.read(ref)
            except NotFound:
                await asyncio.sleep(0.01)

    def options(self, *words: str, **variables: str) -> OperatorOptions:
        """As the process has it, on ports that are free."""
        ports = ("--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0")
        given = parse(PROCESS, FLAGS, (f"--kubeconfig={self.config}", *ports, *words))
        made = options_of(given, variables)
        hooks = made.webhooks
        return structs.replace(made, webhooks=None if hooks is None else structs.replace(hooks, port=0))


@asynccontextmanager
async def installed(folder: Path) -> AsyncIterator[Site]:
    cluster = Cluster(seed=1, namespaces=(*FIRST_NAMESPACES, HOME))
    tokens = {"admin": "admin", "operator": f"system:serviceaccount:{HOME}:lws-controller-manager"}
    async with asyncio.timeout(LONG), serve(cluster, tokens=tokens) as server:
        config = folder / "config"
        config.write_text(
            f"""
            {{"apiVersion": "v1", "kind": "Config", "current-context": "x",
              "contexts": [{{"name": "x", "context": {{"cluster": "x", "user": "x"}}}}],
              "clusters": [{{"name": "x", "cluster": {{"server": "{server.url}"}}}}],
              "users": [{{"name": "x", "user": {{"token": "operator"}}}}]}}
            """
        )
        site = Site(Client(cluster.transport()), config)
        for each in definitions():
            await site.client.call(request.create(DEFINITIONS, "", msgspec.json.encode(each)))
        for each in objects(Values(namespace=HOME)):
            namespace = each["metadata"].get("namespace", "")
            await site.client.call(request.create(resource_of(each), namespace, msgspec.json.encode(each)))
        yield site


def test_it_serves_webhooks_that_the_api_server_trusts_and_is_ready_without_leading(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with installed(tmp_path) as site, aiohttp.ClientSession() as session:
            process = Process(site.options("--leader-elect-lease-duration=20s"))
            port = (await process.said("webhooks served"))["port"]

            data = (await site.read(Ref(SECRETS, HOME, "lws-webhook-server-cert")))["data"]
            authority = b64decode(data["ca.crt"]).decode()
            for each in HOOKS:
                for entry in (await site.read(each))["webhooks"]:
                    assert entry["clientConfig"]["caBundle"] == data["ca.crt"]
            trust = ssl.create_default_context(cadata=authority)
            answer = await session.post(
                f"https://127.0.0.1:{port}/validate--v1-pod",
                data=body(),
                headers={"Content-Type": "application/json"},
                ssl=trust,
                server_hostname="lws-webhook-service.lws-system.svc",
            )
            assert answer.status == 200

            plain = f"http://127.0.0.1:{process.log.of('starting')[0]['port']}"
            assert (await session.get(f"{plain}/readyz")).status == 200
            assert (await session.get(f"{plain}/healthz")).status == 200
            assert (await session.get(f"{plain}/metrics")).status == 404
            metrics = f"https://127.0.0.1:{(await process.said('metrics served'))['port']}/metrics"
            assert (await session.get(metrics, ssl=False)).status == 401
            assert (await session.get(metrics, ssl=False, headers=TOKEN)).status == 200

            await process.said("ready")
            lease = await site.found(Ref(LEASES, HOME, "b8b2488c.x-k8s.io"))
            assert lease["spec"]["leaseDurationSeconds"] == 20
            begun = clock.monotonic()
            await process.stop()
            assert clock.monotonic() - begun < 10
            assert "forbidden" not in str(process.log.records)

    asyncio.run(scenario())


def test_without_its_secret_it_says_so_and_is_not_ready(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with installed(tmp_path) as site, aiohttp.ClientSession() as session:
            await site.client.call(request.delete(Ref(SECRETS, HOME, "lws-webhook-server-cert")))
            process = Process(site.options())

            told = await process.said("certificate not served yet")

            assert "Secret lws-webhook-server-cert is missing in namespace lws-system" in str(told["error"])
            plain = f"http://127.0.0.1:{process.log.of('starting')[0]['port']}"
            assert (await session.get(f"{plain}/readyz")).status == 500
            assert (await session.get(f"{plain}/healthz")).status == 200
            await process.stop()

    asyncio.run(scenario())


def test_without_webhooks_it_is_ready_at_once_and_leaves_the_secret_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with installed(tmp_path) as site, aiohttp.ClientSession() as session:
            process = Process(site.options("--leader-elect=false", ENABLE_WEBHOOKS="false"))
            await process.said("metrics served")
            await process.said("ready")

            plain = f"http://127.0.0.1:{process.log.of('starting')[0]['port']}"
            assert (await session.get(f"{plain}/readyz")).status == 200
            assert "data" not in await site.read(Ref(SECRETS, HOME, "lws-webhook-server-cert"))
            await process.stop()

    asyncio.run(scenario())


def test_addresses_of_zero_serve_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with installed(tmp_path) as site:
            words = ("--health-probe-bind-address=0", "--metrics-bind-address=0")
            process = Process(site.options(*words, ENABLE_WEBHOOKS="false"))
            await process.said("ready")

            assert process.log.of("starting")[0]["port"] is None
            assert not process.log.of("metrics served")
            await process.stop()

    asyncio.run(scenario())
