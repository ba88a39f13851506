"""Every namespace has the account `default` and the certificates of the API server, whatever becomes of them."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, patch, path_of
from kubesim.cluster import NOBODY, Cluster
from kubesim.controllers.service_accounts import CERTIFICATES, DESCRIPTION
from kubesim.kinds.registry import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS
from kubesim.time import run
from tests.e2e.clusters import Site, everywhere
from tests.kubesim.controllers.world import TESTER, World, play

pytestmark = pytest.mark.fidelity

BOTH = [SERVICE_ACCOUNTS, CONFIG_MAPS]


@everywhere()
async def test_a_namespace_is_furnished_again_and_again(site: Site) -> None:
    objects = site.history.objects
    await site.until(lambda: {"default"} <= set(objects(SERVICE_ACCOUNTS)), following=BOTH)
    await site.until(lambda: CERTIFICATES in objects(CONFIG_MAPS))
    account, published = objects(SERVICE_ACCOUNTS)["default"], objects(CONFIG_MAPS)[CERTIFICATES]
    assert set(account) - {"apiVersion", "kind"} == {"metadata"}
    assert set(published["data"]) == {"ca.crt"}
    assert published["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----\n")
    assert published["metadata"]["annotations"][DESCRIPTION].startswith("Contains a CA bundle that can be used")

    for resource, name in ((SERVICE_ACCOUNTS, "default"), (CONFIG_MAPS, CERTIFICATES)):
        await made_again(site, resource, name)

    spoilt = {"ca.crt": "other", "more": "of it"}
    change = patch(Ref(CONFIG_MAPS, site.namespace, CERTIFICATES), MERGE_PATCH, msgspec.json.encode({"data": spoilt}))
    assert msgspec.json.decode((await site.client.call(change)).body)["data"] == spoilt

    def is_put_right() -> bool:
        # Both events may have come before anybody looks.
        told = [event.object["data"] for event in site.history.of(CONFIG_MAPS) if event.name == CERTIFICATES]
        return told[-2:] == [spoilt, published["data"]]

    await site.until(is_put_right)


async def made_again(site: Site, resource: Resource, name: str) -> None:
    """Deletes the object and waits for another of its name."""
    before = site.history.objects(resource)[name]["metadata"]["uid"]
    await site.client.call(Request("DELETE", path_of(resource, site.namespace, name)))

    def is_another() -> bool:
        found = site.history.objects(resource).get(name)
        return found is not None and found["metadata"]["uid"] != before

    await site.until(is_another)


def test_a_namespace_that_goes_away_is_not_furnished() -> None:
    async def scenario(world: World) -> None:
        world.create(NAMESPACES, {"metadata": {"name": "team"}})
        world.verbs.delete(NAMESPACES, "", "team", user=TESTER)
        await world.settle()

        assert [world.verbs.list(resource, "team") for resource in BOTH] == [[], []]

    play(scenario)


def test_a_cluster_publishes_the_certificates_it_was_given() -> None:
    async def published(cluster: Cluster) -> str:
        running = asyncio.create_task(cluster.run())
        await asyncio.sleep(1.0)
        running.cancel()
        await asyncio.wait([running])
        data: dict[str, str] = cluster.get(CONFIG_MAPS, "kube-system", CERTIFICATES)["data"]
        return data["ca.crt"]

    assert run(published(Cluster())) == NOBODY
    assert run(published(Cluster(authority="PEM"))) == "PEM"
