"""Removing an installation: webhooks first, nothing of anybody else, and an account of what is left when it fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fairlead.cli.removal import Item, find, remove
from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from fairlead.contracts.zones.install.objects import objects
from kubeloop.client import Client
from kubeloop.errors import Conflict, Forbidden, NotFound
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, delete
from kubesim.faults import Fault, Faulty
from tests.contracts.zones.install.helm import render
from tests.e2e.clusters import CUSTOM_RESOURCES, NAMESPACES, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import a_kind_of, define, everything, present, put
from tests.e2e.programs import finished

MONITORING = "monitoring.coreos.com/v1"
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
TEMPLATES = Resource("rollout-operator.grafana.com", "v1", "replicatemplates", "ReplicaTemplate")


async def install(site: Site, made: Sequence[Tree] | None = None, namespace: str = "") -> list[Tree]:
    """Everything there is to install, as far as the cluster has the kinds; what was put in, in order."""
    if made is None:
        made = objects(everything(namespace or site.namespace))
    done = []
    for one in made:
        try:
            await put(site, one)
        except NotFound:
            assert not site.real, one["kind"]
            continue
        done.append(one)
    return done


async def define_all(site: Site) -> None:
    monitoring = (a_kind_of(MONITORING, "ServiceMonitor"), a_kind_of(MONITORING, "PrometheusRule"))
    await define(site, *zone_kinds(), *monitoring)


def names(items: Sequence[Item]) -> list[str]:
    return [f"{item.ref.resource.kind}/{item.ref.name}" for item in items]


def keys(made: Sequence[Tree]) -> set[str]:
    return {f"{one['kind']}/{one['metadata']['name']}" for one in made}


def a_map(name: str, **labels: str) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}


@everywhere(controllers=False)
async def test_all_of_an_installation_is_found_and_removed_webhooks_first(site: Site) -> None:
    await define_all(site)
    made = await install(site)

    items = await find(site.client, "zones", site.namespace, kinds=False)
    removal = await remove(site.client, items)

    found = names(items)
    assert set(found) == keys(made)
    assert [name.split("/")[0] for name in found[:4]] == [
        "ValidatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    ]
    assert (removal.removed, removal.left, removal.error) == (items, (), None)
    assert await present(site, made) == []
    assert await present(site, zone_kinds()) == [
        f"CustomResourceDefinition/{one['metadata']['name']}" for one in zone_kinds()
    ]


@everywhere(controllers=False)
async def test_deployment_goes_after_the_webhooks_and_before_its_rights(site: Site) -> None:
    await define_all(site)
    await install(site)

    kinds = [item.ref.resource.kind for item in await find(site.client, "zones", site.namespace, kinds=True)]

    last_webhook = max(number for number, kind in enumerate(kinds) if kind.endswith("WebhookConfiguration"))
    assert last_webhook < kinds.index("Deployment") < kinds.index("RoleBinding") < kinds.index("ClusterRole")
    assert kinds[-3:] == ["CustomResourceDefinition"] * 3


@everywhere(controllers=False)
async def test_nothing_of_others_is_touched(site: Site) -> None:
    await define_all(site)
    elsewhere = f"{site.namespace}-other"
    await site.create(NAMESPACES, {"metadata": {"name": elsewhere}})
    others = await install(site, namespace=elsewhere)
    others += await install(
        site,
        [
            a_map("settings"),
            a_map("of-another-app", **{"app.kubernetes.io/name": "mimir"}),
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": "shared", "labels": {"app.kubernetes.io/name": "rollout-operator"}},
                "rules": [],
            },
        ],
    )
    for one in others:
        one["metadata"].setdefault("namespace", site.namespace)
    await install(site)

    await remove(site.client, await find(site.client, "zones", site.namespace, kinds=False))

    assert set(await present(site, others)) == keys(others)


@everywhere(controllers=False)
async def test_kinds_go_only_when_asked_for_and_say_what_goes_with_them(site: Site) -> None:
    definitions = zone_kinds()
    await define_all(site)
    await put(site, {"apiVersion": TEMPLATES.api_version, "kind": TEMPLATES.kind, "metadata": {"name": "one"}})
    there = len((await site.client.list(TEMPLATES, dict)).items)

    kept = await find(site.client, "zones", site.namespace, kinds=False)
    asked = await find(site.client, "zones", site.namespace, kinds=True)
    await remove(site.client, asked)

    assert kept == ()
    assert names(asked) == [f"CustomResourceDefinition/{one['metadata']['name']}" for one in definitions]
    assert asked[0].holds == there > 0
    ours = {one["metadata"]["name"] for one in definitions}
    await site.until(lambda: not ours & site.history.objects(CUSTOM_RESOURCES).keys(), following=[CUSTOM_RESOURCES])


def test_kind_says_how_many_objects_go_with_it() -> None:
    ref = Ref(CUSTOM_RESOURCES, "", "sizes.example.com")

    assert str(Item(ref)) == "CustomResourceDefinition/sizes.example.com"
    assert str(Item(ref, holds=1)) == "CustomResourceDefinition/sizes.example.com with 1 object of all namespaces"
    assert str(Item(ref, holds=2)) == "CustomResourceDefinition/sizes.example.com with 2 objects of all namespaces"


@everywhere(controllers=False)
async def test_failure_stops_and_says_what_is_left(site: Site) -> None:
    """Were the Deployment removed while a webhook stays, that webhook would refuse for ever."""
    await define_all(site)
    made = await install(site)
    items = await find(site.client, "zones", site.namespace, kinds=False)

    def second_refused(request: Request, _number: int) -> Fault | None:
        refused = request.method == "DELETE" and request.path.endswith(items[1].ref.name)
        return Fault("status", status=403) if refused else None

    client = Client(Faulty(site.ground.transport("admin"), second_refused))
    removal = await remove(client, items)
    await client.close()

    assert isinstance(removal.error, Forbidden)
    assert (removal.removed, removal.left) == (items[:1], items[1:])
    assert set(await present(site, made)) == set(names(items[1:]))


@everywhere(controllers=False)
async def test_object_that_took_the_place_of_another_is_not_removed(site: Site) -> None:
    label = {"app.kubernetes.io/name": "rollout-operator"}
    await put(site, a_map("dashboard", **label))
    items = await find(site.client, "zones", site.namespace, kinds=False)
    await site.client.call(delete(Ref(CONFIG_MAPS, site.namespace, "dashboard")))
    await put(site, a_map("dashboard", **label))

    removal = await remove(site.client, items)

    assert isinstance(removal.error, Conflict)
    assert await site.get(CONFIG_MAPS, "dashboard") is not None


@everywhere(controllers=False)
async def test_object_that_is_gone_meanwhile_is_no_failure(site: Site) -> None:
    await put(site, a_map("dashboard", **{"app.kubernetes.io/name": "rollout-operator"}))
    items = await find(site.client, "zones", site.namespace, kinds=False)
    await site.client.call(delete(items[0].ref))

    removal = await remove(site.client, items)

    assert (removal.left, removal.error) == ((), None)


@everywhere(controllers=False, on=("served", "real"))
async def test_command_shows_first_and_removes_only_when_told(site: Site) -> None:
    await define_all(site)
    made = await install(site, list(render({}, namespace=site.namespace).values()))
    command = ("fairlead", "uninstall", "-n", site.namespace)
    config = site.server.kubeconfig

    shown = await finished(*command, kubeconfig=config)

    assert shown.code == 1
    assert all(f"  {key}\n" in shown.out for key in keys(made))
    assert "helm uninstall" in shown.out
    assert shown.err == "fairlead: nothing was removed: add --yes to remove it\n"
    assert set(await present(site, made)) == keys(made)

    removed = await finished(*command, "--yes", "-o", "json", kubeconfig=config)

    document: dict[str, Any] = msgspec.json.decode(removed.out)
    assert (removed.code, removed.err) == (0, "")
    assert {f"{one['kind']}/{one['name']}" for one in document["removed"]} == keys(made)
    assert (document["namespace"], document["left"]) == (site.namespace, [])
    assert await present(site, made) == []

    again = await finished(*command, "--yes", kubeconfig=config)

    assert (again.code, again.out) == (0, f"Nothing of rollout-operator is installed for namespace {site.namespace}.\n")
