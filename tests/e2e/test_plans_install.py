"""Installing plans on a cluster (section 2.17): every object of chart and manifests is taken, and Helm manages them."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.install.objects import objects
from fairlead.contracts.plans.install.values import CHART, Values
from kubeloop.objects.apps import DEPLOYMENTS
from tests.contracts.plans.install.test_chart import CASES
from tests.contracts.zones.install import helm
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import a_kind_of, define, present, put
from tests.e2e.test_leaderworker_helm import run

MONITORING = "monitoring.coreos.com/v1"
CERT_MANAGER = "cert-manager.io/v1"
TRIED = ("everything", "cert-manager", "manifests")


def made_by(case: str, namespace: str) -> list[Tree]:
    if case == "manifests":
        return list(objects(Values(namespace=namespace, monitoring=True, network_policy=True)))
    return list(helm.render(CASES[case], release="vela-core", namespace=namespace, chart=CHART).values())


@pytest.mark.parametrize("case", TRIED)
@everywhere(controllers=False, on=("real",))
async def test_cluster_takes_every_object(site: Site, case: str) -> None:
    """Unknown fields are refused, so a misspelt one shows."""
    made = made_by(case, site.namespace)
    await define(
        site,
        a_kind_of(MONITORING, "ServiceMonitor"),
        a_kind_of(MONITORING, "PrometheusRule"),
        a_kind_of(CERT_MANAGER, "Issuer"),
        a_kind_of(CERT_MANAGER, "Certificate"),
    )

    for one in made:
        await put(site, one)

    assert len(await present(site, made)) == len(made)


@everywhere(controllers=False, on=("real",))
async def test_release_is_installed_upgraded_and_removed(site: Site) -> None:
    def rendered(values: Tree) -> list[Tree]:
        return list(helm.render(values, release="kubevela", namespace=site.namespace, chart=CHART).values())

    plain = rendered({})
    without = rendered({"admissionWebhooks": {"enabled": False}})

    said = await run(site, "install", "kubevela", str(CHART))

    assert f"kubevela-vela-core in namespace {site.namespace}" in said
    assert len(await present(site, plain)) == len(plain)
    before = await site.get(DEPLOYMENTS, "kubevela-vela-core")

    await run(site, "upgrade", "kubevela", str(CHART), "--set", "admissionWebhooks.enabled=false")
    after = await site.get(DEPLOYMENTS, "kubevela-vela-core")
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert len(await present(site, plain)) == len(without) < len(plain)

    await run(site, "uninstall", "kubevela")
    assert await present(site, plain) == []
