"""Several processes of `fairlead operator` at once, and one for several namespaces: real processes with webhooks."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from contextlib import AsyncExitStack

import msgspec

from kubeloop.objects.core import LEASES, PODS, SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import get
from tests.e2e.clusters import Site, everywhere, neighbour
from tests.e2e.history import Tree
from tests.e2e.pairs import a_pair, entries_of, store, stored
from tests.e2e.processes import Program, calling, operator, review, started
from tests.e2e.rollouts import SECOND, ZONES, is_complete, roll, three_zones, zones_out
from tests.e2e.webhooks import VALIDATING, rule
from tests.e2e.zones import a_zone, deeds_on

SECRET, LEASE = "fairlead-webhooks", "fairlead-operator"
LABELS = {"grafana.com/no-downscale": "true"}
LEASE_SECONDS = 15.0
"""For which a leader that is gone is waited for."""
BEHIND = 10.0
"""Seconds more that a loaded machine may take."""


@everywhere(on=("real",))
async def test_killed_leader_is_replaced_and_both_have_answered_under_one_certificate(site: Site) -> None:
    await three_zones(site)
    deeds = await deeds_on(site)
    before = site.history.events[-1].version

    async with started(operator(site)) as one, started(operator(site)) as two:
        leader, other = await roles(one, two)
        made = await site.get(SECRETS, SECRET)
        allowed = [await denies(site, process) for process in (leader, other)]
        held = await holder(site)
        await roll(site)
        await site.until(lambda: deeds.deletions)
        leader.process.kill()
        await site.history.follow(LEASES)
        await site.until(lambda: anew(site, held), within=LEASE_SECONDS + BEHIND)
        await site.until(lambda: is_complete(site, SECOND), within=120)
        allowed.append(await denies(site, other))
        code = await other.stop()

    assert allowed == [True, True, True]
    assert await site.get(SECRETS, SECRET) == made
    assert code == 0
    assert deeds.witness.unfinished() == []
    assert sorted(deeds.deletions) == [f"{letter}-{ordinal}" for letter in ZONES for ordinal in range(3)]
    assert zones_out(site, since=before) == 1


@everywhere(controllers=False, on=("served", "real"))
async def test_several_namespaces_are_served_and_no_other(site: Site) -> None:
    async with AsyncExitStack() as stack:
        second, outside = [
            await stack.enter_async_context(neighbour(site, f"{site.namespace}-{name}"))
            for name in ("second", "outside")
        ]
        await store(site, pair := a_pair(), SECRET)
        for each in (site, second, outside):
            await furnished(each)

        served = (site.namespace, second.namespace)
        async with started(operator(site, namespaces=served)) as process:
            bundles = await worked(process, pair, site, second)
            untouched = await bundle(outside)
            await process.stop()
        await outside.history.caught_up()

        assert bundles == [pair["ca"]] * 2
        assert untouched == b""
        assert len(outside.history.objects(PODS)) == 3


@everywhere(controllers=False, on=("served",))
async def test_all_namespaces_are_served(site: Site) -> None:
    """The certificate and the Lease are then in the namespace of the kubeconfig, `default`.

    So is its Service: what calls one of another namespace is another operator's.
    """
    async with neighbour(site, "second") as second:
        for each, home in ((site, "default"), (second, "second")):
            await furnished(each, {"service": {"namespace": home, "name": "fairlead"}})
        command = [word for word in operator(site) if word not in ("-n", site.namespace)]

        async with started([*command, "-A"]) as process:
            await process.port()
            answer = await site.client.call(get(Ref(SECRETS, "default", SECRET)))
            pair = entries_of(msgspec.json.decode(answer.body))
            bundles = await worked(process, pair, site, second)

        assert bundles == [pair["ca"], b""]


async def roles(one: Program, two: Program) -> tuple[Program, Program]:
    """Who leads and who waits, once both serve."""
    await asyncio.gather(one.port(), two.port())
    waits = {
        asyncio.create_task(process.said("waiting for the lease")): pair
        for process, pair in ((one, (two, one)), (two, (one, two)))
    }
    done, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.wait(pending)
    return waits[done.pop()]


async def denies(site: Site, process: Program) -> bool:
    """Whether it answers a downscale as it must, under the certificate that is stored."""
    async with calling(await process.port(), (await stored(site, SECRET))["ca"]) as caller:
        return not (await caller.ask("no-downscale", a_scaling("any", site.namespace, LABELS)))["allowed"]


async def holder(site: Site) -> str:
    lease = await site.get(LEASES, LEASE)
    assert lease is not None
    name: str = lease["spec"]["holderIdentity"]
    return name


def anew(site: Site, before: str) -> bool:
    """Whether somebody else leads."""
    return site.history.objects(LEASES)[LEASE]["spec"].get("holderIdentity") not in (None, "", before)


async def furnished(site: Site, calls: Tree | None = None) -> None:
    """A guarded zone with outdated pods, and a webhook configuration for the operator of this namespace."""
    await a_zone(site, "a", own_labels=LABELS)
    hook = {
        "name": "hook.fairlead.test",
        "clientConfig": calls or {"url": "https://localhost:1/"},
        "rules": [rule("CREATE", "nothing", "fairlead.test")],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    labels = {"grafana.com/inject-rollout-operator-ca": "true", "grafana.com/namespace": site.namespace}
    await site.create(VALIDATING, {"metadata": {"name": f"of-{site.namespace}", "labels": labels}, "webhooks": [hook]})


async def worked(process: Program, pair: dict[str, bytes], *sites: Site) -> list[bytes]:
    """The bundles of these namespaces, after a pod was rolled and a downscale denied in each of them."""
    async with calling(await process.port(), pair["ca"]) as caller:
        for site in sites:
            await rolled(site)
            answer = await caller.ask("no-downscale", a_scaling("ingester-zone-a", site.namespace, {}))
            assert not answer["allowed"], answer
    return [await bundle(site) for site in sites]


async def rolled(site: Site) -> None:
    await site.until(lambda: "ingester-zone-a-0" not in site.history.objects(PODS))


def a_scaling(name: str, namespace: str, labels: dict[str, str]) -> Tree:
    """A review of 3 to 2 replicas; without labels by way of `/scale`, so that the StatefulSet has to be looked up."""
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    old, new = ({"metadata": metadata, "spec": {"replicas": count}} for count in (3, 2))
    if labels:
        return review(old, new)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
    return review(old | scale, new | scale, subResource="scale")


async def bundle(site: Site) -> bytes:
    found = await site.get(VALIDATING, f"of-{site.namespace}")
    assert found is not None
    return b64decode(found["webhooks"][0]["clientConfig"].get("caBundle", ""))
