"""The chart of environments on a real cluster: its objects are taken, and two programs never run at once."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.contracts.environments.install.objects import objects
from fairlead.contracts.environments.install.values import Values
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON, JSON_PATCH, Request, patch, path_of
from tests.contracts.environments.install.charts import CHART
from tests.contracts.environments.install.test_chart import EVERYTHING
from tests.contracts.zones.install import helm
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import a_kind_of, define, present, ref_of
from tests.e2e.test_helm import run

CERT_MANAGER = "cert-manager.io/v1"
OWN_SECRET = {"operator": {"certificate": {"source": "secret", "secretName": "mine"}, "replicas": 1}}


async def rehearse(site: Site, one: Tree) -> Tree:
    """What the API server would make of it; a field that the kind does not have is refused."""
    ref = ref_of(one)
    query = (("dryRun", "All"), ("fieldValidation", "Strict"))
    path = path_of(ref.resource, ref.namespace)
    answer = await site.client.call(
        Request("POST", path, query=query, body=msgspec.json.encode(one), content_type=JSON)
    )
    made: Tree = msgspec.json.decode(answer.body)
    return made


def rendered(namespace: str, values: dict[str, Any]) -> list[Tree]:
    return list(helm.render(values, release="mz", namespace=namespace, chart=CHART).values())


def installation(namespace: str, case: str) -> list[Tree]:
    values = {"chart's own values": {}, "everything": EVERYTHING, "a Secret of one's own": OWN_SECRET}
    return rendered(namespace, values[case]) if case in values else list(objects(Values(namespace=namespace)))


@pytest.mark.parametrize("case", ["chart's own values", "everything", "a Secret of one's own", "manifests"])
@everywhere(controllers=False, on=("real",))
async def test_cluster_takes_every_object(site: Site, case: str) -> None:
    made = installation(site.namespace, case)
    await define(site, a_kind_of(CERT_MANAGER, "Issuer"), a_kind_of(CERT_MANAGER, "Certificate"))

    taken = [await rehearse(site, one) for one in made]

    assert [one["metadata"]["name"] for one in taken] == [one["metadata"]["name"] for one in made]


async def strategy(site: Site) -> str:
    deployment = await site.get(DEPLOYMENTS, "materialize-operator")
    assert deployment is not None
    found: str = deployment["spec"]["strategy"]["type"]
    return found


@everywhere(controllers=False, on=("real",))
async def test_release_takes_over_from_another_program_and_is_removed(site: Site) -> None:
    """The other one, known by an image that starts its program without a command, may not know of the Lease."""
    made = list(helm.render(OWN_SECRET, release="materialize-operator", namespace=site.namespace, chart=CHART).values())
    words = ("materialize-operator", str(CHART), "--values", "-")
    given = msgspec.json.encode(OWN_SECRET).decode()
    await run(site, "install", *words, stdin=given)
    first = await strategy(site)
    nameless = [{"op": "remove", "path": "/spec/template/spec/containers/0/command"}]
    ref = Ref(DEPLOYMENTS, site.namespace, "materialize-operator")
    await site.client.call(patch(ref, JSON_PATCH, msgspec.json.encode(nameless)))

    await run(site, "upgrade", *words, stdin=given)
    taking_over = await strategy(site)
    await run(site, "upgrade", *words, stdin=given)
    afterwards = await strategy(site)
    there = await present(site, made)
    await run(site, "uninstall", "materialize-operator")

    assert (first, taking_over, afterwards) == ("RollingUpdate", "Recreate", "RollingUpdate")
    assert len(there) == len(made)
    assert await present(site, made) == []
