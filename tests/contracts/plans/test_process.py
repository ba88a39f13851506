"""The process `vela-core` on an embedded cluster: trusted webhooks, probes, metrics and its Lease (section 2.13).

It runs under the account of an installation, with the rights of that and no others (section 2.15).
"""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
from msgspec import structs

from fairlead.cli.flags.go import parse
from fairlead.contracts.plans.flags import FLAGS
from fairlead.contracts.plans.install.definitions import definitions
from fairlead.contracts.plans.install.objects import objects
from fairlead.contracts.plans.install.values import ADMISSION, Values
from fairlead.contracts.plans.install.workload import words
from fairlead.contracts.plans.options import PROCESS, options_of
from fairlead.contracts.plans.webhooks import VALIDATE_TRAIT
from fairlead.engine.options import OperatorOptions
from kubeloop import request
from kubeloop.client import Client
from kubeloop.objects.admissionregistration import MUTATING, VALIDATING
from kubeloop.objects.core import LEASES, SECRETS
from kubeloop.objects.meta import Ref
from kubesim.cluster import FIRST_NAMESPACES, Cluster
from kubesim.server import serve
from tests.contracts.leaderworker.test_manager_process import DEFINITIONS, Site
from tests.contracts.plans.decide.admission.test_validation import a_trait
from tests.e2e.installing import resource_of
from tests.engine.test_process import LONG, Process
from tests.engine.webhooks.benches import body

HOME = "vela-system"
HERE = "127.0.0.1:0"


def options(site: Site, *more: str) -> OperatorOptions:
    """As an installation starts it, on ports that are free."""
    given = (*words(Values(namespace=HOME)), f"--kubeconfig={site.config}", f"--metrics-addr={HERE}", *more)
    made = options_of(parse(PROCESS, FLAGS, given))
    hooks = made.webhooks
    return structs.replace(
        made,
        server_host="127.0.0.1",
        server_port=0,
        webhooks=None if hooks is None else structs.replace(hooks, port=0),
    )


@asynccontextmanager
async def installed(folder: Path) -> AsyncIterator[Site]:
    cluster = Cluster(seed=1, namespaces=(*FIRST_NAMESPACES, HOME))
    tokens = {"admin": "admin", "operator": f"system:serviceaccount:{HOME}:vela-core"}
    async with asyncio.timeout(LONG), serve(cluster, tokens=tokens) as server:
        config = folder / "config"
        config.write_text(
            f"""
            {{"apiVersion": "v1", "kind": "Config", "current-context": "x",
              "contexts": [{{"name": "x", "context": {{"cluster": "x", "user": "x", "namespace": "{HOME}"}}}}],
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


def test_it_serves_webhooks_that_the_api_server_trusts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with installed(tmp_path) as site, aiohttp.ClientSession() as session:
            process = Process(options(site))
            port = (await process.said("webhooks served"))["port"]

            stored = (await site.read(Ref(SECRETS, HOME, ADMISSION)))["data"]
            bundles = {
                entry["clientConfig"]["caBundle"]
                for resource in (MUTATING, VALIDATING)
                for entry in (await site.read(Ref(resource, "", ADMISSION)))["webhooks"]
            }
            assert len(bundles) == 1
            trust = ssl.create_default_context(cadata=b64decode(bundles.pop()).decode())
            answer = await session.post(
                f"https://127.0.0.1:{port}{VALIDATE_TRAIT}",
                data=body(operation="CREATE", object=a_trait({"targetSize": -1})),
                headers={"Content-Type": "application/json"},
                ssl=trust,
                server_hostname="vela-core-webhook.vela-system.svc",
            )
            assert answer.status == 200
            assert (await answer.json())["response"]["status"]["code"] == 422
            assert stored

            said = process.log.of("starting")[0]
            assert (await session.get(f"http://127.0.0.1:{said['port']}/readyz")).status == 200
            assert (await session.get(f"http://127.0.0.1:{said['port']}/healthz")).status == 200
            text = await (await session.get(f"http://127.0.0.1:{said['metrics_port']}/metrics")).text()
            assert "fairlead_leader" in text

            await process.said("ready")
            lease = await site.found(Ref(LEASES, HOME, "kubevela"))
            assert lease["spec"]["leaseDurationSeconds"] == 15
            await process.stop()
            assert "forbidden" not in str(process.log.records)

    asyncio.run(scenario())


def test_without_webhooks_it_is_ready_and_keeps_no_certificate(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with installed(tmp_path) as site, aiohttp.ClientSession() as session:
            process = Process(options(site, "--use-webhook=false", "--enable-leader-election=false"))
            await process.said("ready")

            said = process.log.of("starting")[0]
            assert (await session.get(f"http://127.0.0.1:{said['port']}/readyz")).status == 200
            listed = await site.client.call(request.Request("GET", request.path_of(SECRETS, HOME)))
            assert msgspec.json.decode(listed.body)["items"] == []
            await process.stop()

    asyncio.run(scenario())
