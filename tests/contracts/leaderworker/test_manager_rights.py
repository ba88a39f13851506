"""Rights that the process itself needs (section 2.14), taken away one at a time: one sentence names each in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import msgspec
import pytest

from kubeloop import request
from kubeloop.objects.meta import Ref, Resource
from tests.contracts.leaderworker.test_manager_process import HOME, TOKEN, Site, installed
from tests.engine.test_process import Process

pytestmark = pytest.mark.usefixtures("few_keys")

RBAC = "rbac.authorization.k8s.io"
MANAGER = Ref(Resource(RBAC, "v1", "clusterroles", "ClusterRole", False), "", "lws-manager-role")
PROXY = Ref(Resource(RBAC, "v1", "clusterroles", "ClusterRole", False), "", "lws-proxy-role")
ELECTION = Ref(Resource(RBAC, "v1", "roles", "Role"), HOME, "lws-leader-election-role")


async def take_away(site: Site, role: Ref, verb: str, resources: Sequence[str]) -> None:
    tree = await site.read(role)
    for rule in tree["rules"]:
        if set(rule["resources"]) & set(resources):
            rule["verbs"] = [each for each in rule["verbs"] if each != verb] or ["deletecollection"]
    await site.client.call(request.replace(role, msgspec.json.encode(tree)))


CONFIGURATIONS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


@pytest.mark.parametrize(
    ("role", "verb", "resources", "record"),
    [
        (MANAGER, "get", ("secrets",), "certificate not served yet"),
        (MANAGER, "update", ("secrets",), "certificate not served yet"),
        (MANAGER, "get", CONFIGURATIONS, "webhook configurations not updated"),
        (MANAGER, "list", CONFIGURATIONS, "webhook configurations not updated"),
        (MANAGER, "update", CONFIGURATIONS, "write failed"),
        (ELECTION, "create", ("leases",), "cannot acquire the Lease"),
        (ELECTION, "get", ("leases",), "cannot acquire the Lease"),
        (MANAGER, "list", ("secrets",), "watch failed"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_right_that_the_process_lacks_is_named(
    tmp_path: Path, role: Ref, verb: str, resources: tuple[str, ...], record: str
) -> None:
    async def scenario() -> None:
        async with installed(tmp_path) as site:
            await take_away(site, role, verb, resources)
            process = Process(site.options())

            told = await process.said(record)

            assert f'cannot {verb} resource "{resources[-1]}"' in str(told)
            await process.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("resource", ["tokenreviews", "subjectaccessreviews"])
def test_without_reviews_nobody_reads_metrics_and_the_log_says_why(tmp_path: Path, resource: str) -> None:
    async def scenario() -> None:
        async with installed(tmp_path) as site, aiohttp.ClientSession() as session:
            await take_away(site, PROXY, "create", (resource,))
            process = Process(site.options(ENABLE_WEBHOOKS="false"))
            url = f"https://127.0.0.1:{(await process.said('metrics served'))['port']}/metrics"

            answer = await session.get(url, ssl=False, headers=TOKEN)

            assert answer.status == 500
            told = await process.said("requests cannot be reviewed")
            assert f'cannot create resource "{resource}"' in str(told["error"])
            await process.stop()

    asyncio.run(scenario())
