"""Installing LeaderWorkerSets on a cluster: every object of chart and manifests is taken (section 2.17)."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.leaderworker.install.objects import objects
from fairlead.contracts.leaderworker.install.values import CHART, Values
from tests.contracts.leaderworker.install.test_chart import EVERYTHING, SWITCHES
from tests.contracts.zones.install import helm
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import a_kind_of, define, present, put

MONITORING = "monitoring.coreos.com/v1"
CERT_MANAGER = "cert-manager.io/v1"


def made_by(case: str, namespace: str) -> list[Tree]:
    if case == "manifests":
        return list(
            objects(
                Values(
                    namespace=namespace,
                    history_limit=3,
                    gang_scheduler="volcano",
                    monitoring=True,
                    network_policy=True,
                    disruption_budgets=True,
                    eviction_webhook=True,
                )
            )
        )
    values: dict[str, Any] = {"defaults": {}, "switches": SWITCHES, "everything": EVERYTHING}[case]
    return list(helm.render(values, release="lws", namespace=namespace, chart=CHART).values())


@pytest.mark.parametrize("case", ["defaults", "switches", "everything", "manifests"])
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
