"""Installing an operator of API versions: chart and manifests are taken, Helm manages them, and its rights suffice."""

from __future__ import annotations

import pytest
import yaml

from fairlead.contracts.apiversions.install.options import objects
from fairlead.contracts.apiversions.install.values import CHART, NAME, Values
from fairlead.contracts.apiversions.install.workload import words
from fairlead.contracts.apiversions.kinds import CERTIFICATE_SECRET
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import LEASES, SECRETS
from tests.contracts.apiversions.install.test_chart import CASES
from tests.contracts.zones.install import helm
from tests.e2e.audits import denied
from tests.e2e.clusters import Site, everywhere
from tests.e2e.converting_operator import rules_in_a_map
from tests.e2e.history import Tree
from tests.e2e.installing import a_kind_of, define, present, put
from tests.e2e.processes import started
from tests.e2e.test_leaderworker_helm import run
from tests.e2e.widgets import widgets

MONITORING = "monitoring.coreos.com/v1"
CERT_MANAGER = "cert-manager.io/v1"
RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service")


def made_by(case: str, namespace: str) -> list[Tree]:
    if case == "manifests":
        return list(objects(Values(namespace=namespace, monitoring=True, network_policy=True)))
    return list(helm.render(CASES[case], release=NAME, namespace=namespace, chart=CHART).values())


@pytest.mark.parametrize("case", ["everything", "own", "cert-manager", "manifests"])
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
    """Without the Jobs of its hooks: nobody runs Jobs here."""

    def rendered(values: Tree) -> list[Tree]:
        made = helm.render(values, release=NAME, namespace=site.namespace, chart=CHART)
        return [one for (kind, _), one in made.items() if kind != "Job"]

    plain, alone = rendered({}), rendered({"replicaCount": 1})

    said = await run(site, "install", NAME, str(CHART))

    assert f"{NAME} in namespace {site.namespace}" in said
    assert len(await present(site, plain)) == len(plain)
    before = await site.get(DEPLOYMENTS, NAME)

    await run(site, "upgrade", NAME, str(CHART), "--set", "replicaCount=1", "--no-hooks")
    after = await site.get(DEPLOYMENTS, NAME)
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert len(await present(site, plain)) == len(alone) < len(plain)

    await run(site, "uninstall", NAME, "--no-hooks")
    assert await present(site, plain) == []


@everywhere(controllers=False, on=("real",))
async def test_the_rights_of_the_chart_are_all_that_the_operator_asks_for(site: Site) -> None:
    for one in made_by("defaults", site.namespace):
        if one["kind"] in RIGHTS:
            await put(site, one)
    user = f"system:serviceaccount:{site.namespace}:{NAME}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{site.namespace}", "system:authenticated"]
    account = site.plane.kubeconfig_for(user, groups)
    config = yaml.safe_load(account.read_text())
    for each in config["contexts"]:
        each["context"]["namespace"] = site.namespace  # as in a pod: the namespace that it runs in
    account.write_text(yaml.safe_dump(config))
    given = words(Values(namespace=site.namespace, secret=CERTIFICATE_SECRET))

    async with started(
        (
            "fairlead",
            *given,
            f"--kubeconfig={account}",
            "--port=0",
            "--webhook-port=0",
        )
    ) as program:
        await program.said("webhooks served")

        async def leads() -> bool:
            lease = await site.get(LEASES, "fairlead-operator")
            return lease is not None and bool(lease["spec"].get("holderIdentity"))

        await site.until(leads, every=0.1)
        await program.said("ready")
        await site.until(lambda: site.get(SECRETS, CERTIFICATE_SECRET), every=0.1)
        await _attached(site)
        program.process.terminate()
        assert await program.ended() == 0

    assert denied(site, NAME) == set()
    assert not [line for line in program.lines if "forbidden" in line.lower()]


async def _attached(site: Site) -> None:
    """Rules in a ConfigMap have a kind attached, of which the account may list the objects."""
    kind = widgets(site)
    await kind.define("v1", "v2", storage="v2")
    await kind.make("one", "v2")
    rule = {"apiGroups": [kind.group], "resources": ["widgets"], "verbs": ["get", "list"]}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "widgets"}}
    of = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "widgets"}
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": site.namespace}
    await put(site, {**role, "kind": "ClusterRole", "rules": [rule]})
    await put(site, {**role, "kind": "ClusterRoleBinding", "roleRef": of, "subjects": [account]})
    await rules_in_a_map(site, {**kind.rules(), "attach": True})

    async def is_attached() -> bool:
        found = await kind.live_definition()
        return bool(found["spec"]["conversion"]["strategy"] == "Webhook")

    await site.until(is_attached, every=0.2)
