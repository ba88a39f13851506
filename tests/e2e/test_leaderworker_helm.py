"""The life of the chart of LeaderWorkerSets by the real Helm (section 2.17), also as an upgrade of upstream's."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Any

import msgspec

from fairlead.contracts.leaderworker.install.values import CHART
from fairlead.plane import lws
from kubeloop import request
from kubeloop.objects.admissionregistration import MUTATING, VALIDATING
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from tests.contracts.zones.install import helm
from tests.e2e.clusters import Site, everywhere
from tests.e2e.installing import present
from tests.e2e.webhooks import authority

HOOKS = (
    Ref(MUTATING, "", "lws-mutating-webhook-configuration"),
    Ref(VALIDATING, "", "lws-validating-webhook-configuration"),
)
STORED = {"ca.crt": b64encode(b"theirs").decode()}


async def run(site: Site, *arguments: str) -> str:
    words = (*arguments, "--namespace", site.namespace, "--kubeconfig", str(site.server.kubeconfig))
    done = await asyncio.to_thread(helm.run, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered(site: Site, values: dict[str, Any] | None = None) -> list[Any]:
    return list(helm.render(values, release="lws", namespace=site.namespace, chart=CHART).values())


@everywhere(controllers=False, on=("real",))
async def test_release_is_installed_upgraded_and_removed(site: Site) -> None:
    plain = rendered(site)
    switched = {"fairlead": {"networkPolicy": {"enabled": True}}, "enableDisaggregatedSet": True}
    more = rendered(site, switched)

    said = await run(site, "install", "lws", str(CHART))

    assert f"lws-controller-manager in namespace {site.namespace}" in said
    assert len(await present(site, plain)) == len(plain)

    switches = "fairlead.networkPolicy.enabled=true,enableDisaggregatedSet=true"
    await run(site, "upgrade", "lws", str(CHART), "--set", switches)
    assert len(await present(site, more)) == len(more) > len(plain)

    await run(site, "uninstall", "lws")
    assert await present(site, more) == []


async def trusted(site: Site, bundle: str | None = None) -> dict[str, set[str]]:
    """By configuration, the authorities that its entries trust; after all of them got this one, where one is given."""
    found = {}
    for ref in HOOKS:
        tree: dict[str, Any] = msgspec.json.decode((await site.client.call(request.get(ref))).body)
        if bundle is not None:
            for entry in tree["webhooks"]:
                entry["clientConfig"]["caBundle"] = bundle
            await site.client.call(request.replace(ref, msgspec.json.encode(tree)))
        found[ref.name] = {entry["clientConfig"].get("caBundle", bundle or "") for entry in tree["webhooks"]}
    return found


def image_of(deployment: dict[str, Any]) -> str:
    image: str = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    return image


@everywhere(controllers=False, on=("real",))
async def test_a_release_of_upstreams_chart_is_upgraded_and_nothing_is_renamed(site: Site) -> None:
    """What it has stored of certificates stays, and what trusts them; so it is on the way back."""
    chart = lws.source() / "charts/lws"
    await run(site, "install", "lws", str(chart), "--skip-crds")
    before = await site.get(DEPLOYMENTS, "lws-controller-manager")
    assert before is not None
    secret_ref = Ref(SECRETS, site.namespace, "lws-webhook-server-cert")
    await site.client.call(request.patch(secret_ref, request.MERGE_PATCH, msgspec.json.encode({"data": STORED})))

    bundle = b64encode(authority().certificate).decode()
    trust = await trusted(site, bundle)

    await run(site, "upgrade", "lws", str(CHART), "--skip-crds")

    after = await site.get(DEPLOYMENTS, "lws-controller-manager")
    secret = await site.get(SECRETS, "lws-webhook-server-cert")
    assert after is not None
    assert secret is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["selector"] == before["spec"]["selector"]
    assert image_of(after).startswith("fairlead:")
    assert secret["data"] == STORED
    assert await trusted(site) == trust == {ref.name: {bundle} for ref in HOOKS}
    plain = rendered(site)
    assert len(await present(site, plain)) == len(plain)

    await run(site, "rollback", "lws", "1")

    back = await site.get(DEPLOYMENTS, "lws-controller-manager")
    secret = await site.get(SECRETS, "lws-webhook-server-cert")
    assert back is not None
    assert secret is not None
    assert (back["metadata"]["uid"], image_of(back)) == (before["metadata"]["uid"], image_of(before))
    assert back["spec"]["template"]["spec"]["containers"] == before["spec"]["template"]["spec"]["containers"]
    assert secret["data"] == STORED
    assert await trusted(site) == trust
    await run(site, "uninstall", "lws")
    assert await present(site, plain) == []
