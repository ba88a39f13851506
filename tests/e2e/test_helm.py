"""The chart's life on a real cluster, by the real Helm: installed, upgraded, removed."""

from __future__ import annotations

import asyncio
import subprocess

from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from kubeloop.objects.apps import DEPLOYMENTS
from tests.contracts.zones.install import helm
from tests.contracts.zones.install.helm import Tree
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.definitions import is_established
from tests.e2e.installing import present


async def run(site: Site, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    words = (*arguments, "--namespace", site.namespace, "--kubeconfig", str(site.server.kubeconfig))
    done = await asyncio.to_thread(helm.run, *words, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done


async def strategy(site: Site) -> Tree:
    deployment = await site.get(DEPLOYMENTS, "rollout-operator")
    assert deployment is not None
    found: Tree = deployment["spec"]["strategy"]
    return found


@everywhere(controllers=False, on=("real",))
async def test_release_is_installed_upgraded_and_removed(site: Site) -> None:
    plain = list(helm.render({}, namespace=site.namespace).values())
    switched = {"highAvailability": {"enabled": True}, "networkPolicy": {"enabled": True}}
    more = list(helm.render(switched, namespace=site.namespace).values())

    said = await run(site, "install", "rollout-operator", str(helm.CHART))

    assert f"StatefulSets of namespace {site.namespace}" in said.stdout
    assert len(await present(site, plain)) == len(plain)
    kinds = {one["metadata"]["name"] for one in zone_kinds()}
    await site.until(
        lambda: all(is_established(site.history.objects(CUSTOM_RESOURCES).get(name)) for name in kinds),
        following=[CUSTOM_RESOURCES],
    )

    switches = ("--set", "highAvailability.enabled=true,networkPolicy.enabled=true")
    await run(site, "upgrade", "rollout-operator", str(helm.CHART), *switches)

    assert len(await present(site, more)) == len(more) > len(plain)
    assert (await strategy(site))["type"] == "Recreate", "one without Lease must be gone before others hold one"

    await run(site, "upgrade", "rollout-operator", str(helm.CHART), *switches)

    assert await strategy(site) == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}

    phased = ("--set", "phasedDeployments.enabled=true")
    await run(site, "upgrade", "rollout-operator", str(helm.CHART), *phased)

    assert await strategy(site) == {"type": "Recreate"}

    await run(site, "upgrade", "rollout-operator", str(helm.CHART))

    assert await strategy(site) == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}

    await run(site, "uninstall", "rollout-operator")

    assert await present(site, more) == []
    assert kinds <= site.history.objects(CUSTOM_RESOURCES).keys(), "the kinds, and their objects, stay"
