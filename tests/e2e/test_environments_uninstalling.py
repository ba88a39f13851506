"""The operator of environments is removed: nothing of users goes with it, and nothing is left that waits for it.

Scenario apiversions A37, for a kind that its operator registers itself.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.cli.removal import NAME_LABEL, find, remove
from fairlead.contracts import contract
from fairlead.contracts.environments.install.objects import objects
from fairlead.contracts.environments.install.values import ACCOUNT, Values
from fairlead.contracts.environments.kinds import FINALIZER, MATERIALIZES
from kubeloop.errors import Forbidden
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import SECRETS, SERVICES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, create, delete, patch, path_of
from tests.contracts.environments.install.charts import CHART
from tests.contracts.environments.install.test_chart import EVERYTHING
from tests.contracts.zones.install import helm
from tests.e2e.api_commands import api
from tests.e2e.clusters import CUSTOM_RESOURCES, NAMESPACES, Site, everywhere
from tests.e2e.environments import BACKEND, OLD, Scene, V, manifest, on_clusters
from tests.e2e.history import Tree
from tests.e2e.installing import a_kind_of, define, present, put, ref_of
from tests.e2e.orchestrators import SERVICE
from tests.e2e.test_apiversions_attaching import NOBODY, conversion
from tests.e2e.test_apiversions_uninstalling import uninstalled
from tests.e2e.test_environments_install import CERT_MANAGER
from tests.e2e.test_uninstall import MONITORING, keys, names

PART = "environments"
OPERATOR = "materialize-operator"
LABELS = {NAME_LABEL: OPERATOR}
DEFINITION = f"{MATERIALIZES.plural}.{MATERIALIZES.group}"
RBAC = "rbac.authorization.k8s.io"
OBJECTS = 3
GRANTED = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


async def installed(scene: Scene) -> None:
    """What an installation leaves for the command to find: its Service and its Deployment."""
    site = scene.site
    if await site.get(SERVICES, SERVICE) is None:
        await site.create(SERVICES, {"metadata": {"name": SERVICE}, "spec": {"ports": [{"port": 8001}]}})
    labelled = msgspec.json.encode({"metadata": {"labels": LABELS}})
    await site.client.call(patch(Ref(SERVICES, site.namespace, SERVICE), MERGE_PATCH, labelled))
    template = {
        "metadata": {"labels": {"app": "operator"}},
        "spec": {"containers": [{"name": "operator", "image": "operator"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "operator"}}, "template": template}
    await site.create(DEPLOYMENTS, {"metadata": {"name": OPERATOR, "labels": LABELS}, "spec": spec})


async def elsewhere(scene: Scene) -> str:
    """A namespace with environments that the operator has looked at."""
    site, name = scene.site, f"{scene.site.namespace}-objects"
    await site.client.call(create(NAMESPACES, "", msgspec.json.encode({"metadata": {"name": name}})))
    for number in range(OBJECTS):
        tree = manifest(V, MATERIALIZES, f"m-{number}")
        await site.client.call(create(MATERIALIZES, name, msgspec.json.encode(tree)))
    await scene.until(lambda: _are_marked(site, name))
    return name


async def _are_marked(site: Site, namespace: str) -> bool:
    return all(FINALIZER in each["metadata"].get("finalizers", ()) for each in await listed(site, namespace))


async def listed(site: Site, namespace: str, resource: Resource = MATERIALIZES) -> list[Tree]:
    return (await site.client.list(resource, dict[str, Any], namespace=namespace)).items


async def definition(site: Site) -> Tree:
    answer = await site.client.call(Request("GET", path_of(CUSTOM_RESOURCES, name=DEFINITION)))
    found: Tree = msgspec.json.decode(answer.body)
    return found


async def unserved(site: Site) -> None:
    for version in ("v1", "v1alpha1"):
        ran = await api(site.client, "unserve", DEFINITION, version, "--yes")
        assert ran.code == 0, ran.err


async def _is_gone(site: Site, namespace: str) -> bool:
    spaces = (await site.client.list(NAMESPACES, dict[str, Any])).items
    return namespace not in [each["metadata"]["name"] for each in spaces]


@on_clusters(follows=False)
async def test_the_operator_of_environments_is_removed_when_nothing_needs_its_conversion(scene: Scene) -> None:
    """apiversions A37: what it puts back for as long as it runs is cleared when it has ended; users keep all."""
    site = scene.site
    await installed(scene)
    namespace = await elsewhere(scene)

    refused = await uninstalled(site, part=PART)
    kept = [await site.get(SERVICES, SERVICE), await site.get(DEPLOYMENTS, OPERATOR)]
    still = conversion(await definition(site))
    await scene.operator.kill()
    await unserved(site)
    removed = await uninstalled(site, part=PART)

    assert refused.code == 4
    assert f"{DEFINITION}: cannot be detached: versions v1, v1alpha2, v1alpha1 are served" in refused.out
    assert "add --union, or end the operator" in refused.out
    assert f"fairlead api unserve {DEFINITION} v1alpha1" in refused.out
    assert all(kept)
    assert still["strategy"] == "Webhook"
    assert removed.code == 0, removed.err
    assert f"{DEFINITION}: is detached" in removed.out
    assert f"{OBJECTS} objects had the operator's finalizer" in removed.out
    assert [await site.get(SERVICES, SERVICE), await site.get(DEPLOYMENTS, OPERATOR)] == [None, None]
    assert await site.get(SECRETS, BACKEND) is not None
    assert conversion(await definition(site)) == NOBODY
    found = await listed(site, namespace)
    assert len(found) == OBJECTS
    assert all(not each["metadata"].get("finalizers") for each in found)

    await site.client.call(Request("DELETE", path_of(NAMESPACES, name=namespace)))
    await site.until(lambda: _is_gone(site, namespace), every=0.5, within=60)


@on_clusters(follows=False)
async def test_kinds_are_let_go_of_alone_once_the_operator_has_ended(scene: Scene) -> None:
    """As the chart does before it is deleted, with the operator's own rights: it would put the conversion back."""
    site = scene.site
    await installed(scene)
    namespace = await elsewhere(scene)
    granted = [each for each in objects(Values(namespace=site.namespace)) if each["kind"] in GRANTED]
    for one in granted:
        await put(site, one)
    account = f"system:serviceaccount:{site.namespace}:{ACCOUNT}"
    await scene.until(lambda: _may_look(site, account))
    ending = asyncio.create_task(_ended_with_its_deployment(scene))

    detached = await uninstalled(site, "--only-detach", "--union", part=PART, user=account)
    await ending
    for one in granted:  # some are of no namespace: later scenarios would find them
        await site.client.call(delete(ref_of(one)))

    assert detached.code == 0, detached.err
    assert conversion(await definition(site)) == NOBODY
    assert (await scene.read(DEPLOYMENTS, OPERATOR))["spec"]["replicas"] == 0
    assert all(not each["metadata"].get("finalizers") for each in await listed(site, namespace))
    for resource in (MATERIALIZES, OLD):
        assert [each["spec"]["backendSecretName"] for each in await listed(site, namespace, resource)] == [
            BACKEND
        ] * OBJECTS


async def _may_look(site: Site, user: str) -> bool:
    try:
        await site.client_as(user).list(CUSTOM_RESOURCES, dict[str, Any])
    except Forbidden:
        return False
    return True


async def _ended_with_its_deployment(scene: Scene) -> None:
    async def is_scaled_down() -> bool:
        return bool((await scene.read(DEPLOYMENTS, OPERATOR))["spec"]["replicas"] == 0)

    await scene.until(is_scaled_down)
    await scene.operator.kill()


@on_clusters(follows=False, on=("sim",))
async def test_an_operator_that_goes_on_elsewhere_is_told_of(scene: Scene) -> None:
    """Nothing ends it here, so it puts its conversion back."""
    await installed(scene)

    ran = await uninstalled(scene.site, "--only-detach", "--union", part=PART)

    assert ran.code == 1
    assert "Its operator is scaled to 0 first" in ran.out
    assert "Lease/orchestratord is held by a process that runs" in ran.err
    assert "has them converted by it again" in ran.err
    await scene.until(lambda: _is_converted(scene.site))


@on_clusters(follows=False, on=("sim",))
async def test_an_operator_is_not_stopped_where_nothing_can_be_let_go_of(scene: Scene) -> None:
    """It converts on: whoever stops it would have requests fail, and gain nothing."""
    await installed(scene)

    ran = await uninstalled(scene.site, "--only-detach", "--leave-conversion", part=PART)

    assert ran.code == 0, ran.err
    assert "Its operator is scaled to 0" not in ran.out
    assert (await scene.read(DEPLOYMENTS, OPERATOR))["spec"]["replicas"] == 1
    assert await _is_converted(scene.site)


async def _is_converted(site: Site) -> bool:
    return bool(conversion(await definition(site))["strategy"] == "Webhook")


@on_clusters(follows=False, on=("sim",))
async def test_what_is_left_to_its_conversion_by_choice_is_named_and_nothing_is_written_to_it(scene: Scene) -> None:
    site = scene.site
    await installed(scene)
    namespace = await elsewhere(scene)
    ending = asyncio.create_task(_ended_with_its_service(scene))

    removed = await uninstalled(site, "--leave-conversion", part=PART)
    await ending

    assert removed.code == 0, removed.err
    assert f"{DEFINITION}: stays as it is; requests in v1, v1alpha1, and requests for objects" in removed.out
    assert conversion(await definition(site))["strategy"] == "Webhook"
    assert await _are_marked(site, namespace)


async def _ended_with_its_service(scene: Scene) -> None:
    async def is_gone() -> bool:
        return await scene.site.get(DEPLOYMENTS, OPERATOR) is None

    await scene.until(is_gone)
    await scene.operator.kill()


def made_by(case: str, namespace: str) -> list[Tree]:
    if case == "manifests":
        return list(objects(Values(namespace=namespace, monitoring=True)))
    values = {**EVERYTHING, "podMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}}
    return list(helm.render(values, release="mz", namespace=namespace, chart=CHART).values())


async def define_all(site: Site) -> None:
    kinds = [(CERT_MANAGER, kind) for kind in ("Issuer", "Certificate")]
    kinds += [(MONITORING, kind) for kind in ("PodMonitor", "PrometheusRule")]
    await define(site, *(a_kind_of(*each) for each in kinds))


@pytest.mark.parametrize("case", ["chart", "manifests"])
@everywhere(controllers=False)
async def test_all_of_an_installation_of_environments_is_found_and_removed(site: Site, case: str) -> None:
    """The class of the volumes stays, since environments that stay have some; so do all Secrets."""
    await define_all(site)
    made = made_by(case, site.namespace)
    kept = [each for each in made if each["kind"] == "StorageClass"]
    for one in made:
        await put(site, one)
    await site.create(SECRETS, {"metadata": {"name": BACKEND, "labels": LABELS}})

    items = await find(site.client, PART, site.namespace, kinds=False)
    removal = await remove(site.client, items)

    assert set(names(items)) == keys(made) - keys(kept)
    assert (removal.left, removal.error) == ((), None)
    assert await present(site, made) == [*keys(kept)]
    assert await site.get(SECRETS, BACKEND) is not None
    for one in kept:  # of no namespace: later scenarios would find it
        await site.client.call(delete(ref_of(one)))


@pytest.mark.parametrize("is_there", [False, True], ids=["gone", "of somebody else"])
@everywhere(controllers=False, on=("sim",))
async def test_a_removal_that_was_cut_short_is_finished_by_the_next(site: Site, is_there: bool) -> None:
    """The Service was gone before its operator was, which put its conversion back."""
    kinds = contract(PART).kinds
    assert kinds is not None
    made = next(each for each in kinds.get()() if each["metadata"]["name"] == DEFINITION)
    config = {"service": {"namespace": site.namespace, "name": SERVICE}}
    webhook = {"clientConfig": config, "conversionReviewVersions": ["v1"]}
    spec = {**made["spec"], "conversion": {"strategy": "Webhook", "webhook": webhook}}
    await define(site, {**made, "spec": spec})
    if is_there:
        await site.create(SERVICES, {"metadata": {"name": SERVICE}, "spec": {"ports": [{"port": 8001}]}})

    ran = await uninstalled(site, "--union", part=PART)

    assert ran.code == 0, ran.err
    assert (conversion(await definition(site)) == NOBODY) is not is_there


def a_role(name: str) -> Tree:
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": []}


def a_binding(name: str, role: str, *namespaces: str) -> Tree:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "orchestratord", "namespace": each} for each in namespaces],
    }


@pytest.mark.parametrize(
    ("bound", "goes"),
    [
        (("here",), ["ClusterRoleBinding", "ClusterRole"]),
        (("there",), []),
        (("here", "there"), []),
    ],
    ids=["of this namespace", "of another namespace", "of both"],
)
@everywhere(controllers=False)
async def test_roles_without_labels_are_known_by_name_and_by_whom_they_are_bound_to(
    site: Site, bound: tuple[str, ...], goes: list[str]
) -> None:
    """As the chart makes them that ours takes the place of."""
    name = f"mz-{site.namespace}"
    spaces = [site.namespace if each == "here" else f"{site.namespace}-there" for each in bound]
    deployment = next(each for each in objects(Values(namespace=site.namespace)) if each["kind"] == "Deployment")
    await put(site, {**deployment, "metadata": {**deployment["metadata"], "name": name}})
    made = [a_role(name), a_binding(name, name, *spaces), a_role(f"{name}-more")]
    for one in made:
        await put(site, one)

    items = await find(site.client, PART, site.namespace, kinds=False)
    await remove(site.client, items)

    assert [each.ref.resource.kind for each in items] == ["Deployment", *goes]
    left = [each for each in made if each["kind"] not in goes or each["metadata"]["name"] != name]
    assert await present(site, made) == [f"{each['kind']}/{each['metadata']['name']}" for each in left]


@everywhere(controllers=False, on=("sim",))
async def test_a_role_that_somebody_else_is_bound_to_stays(site: Site) -> None:
    (deployment,) = [each for each in objects(Values(namespace=site.namespace)) if each["kind"] == "Deployment"]
    await put(site, deployment)
    shared, other = a_role(OPERATOR), a_binding("other", OPERATOR, "elsewhere")
    for one in (shared, other, a_binding(OPERATOR, OPERATOR, site.namespace)):
        await put(site, one)

    await remove(site.client, await find(site.client, PART, site.namespace, kinds=False))

    assert await present(site, (shared, other)) == [f"ClusterRole/{OPERATOR}", "ClusterRoleBinding/other"]
    assert contract(PART).chart == OPERATOR
