"""Puts the objects of an installation into a cluster, as `kubectl apply` would."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.contracts.zones.install.values import Values
from kubeloop.errors import NotFound
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, Request, get, path_of
from tests.e2e.clusters import CUSTOM_RESOURCES, Site
from tests.e2e.definitions import is_established
from tests.e2e.history import Tree

IRREGULAR = {"NetworkPolicy": "networkpolicies", "StorageClass": "storageclasses"}
CLUSTER_WIDE = (
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "StorageClass",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
)


def everything(namespace: str) -> Values:
    """All that can be switched on."""
    return Values(
        namespace=namespace,
        webhooks=True,
        high_availability=True,
        monitoring=True,
        network_policy=True,
        phased_deployments=True,
        zone_tracker="times",
    )


def resource_of(one: Tree) -> Resource:
    group, _, version = str(one["apiVersion"]).rpartition("/")
    kind = one["kind"]
    return Resource(group, version, IRREGULAR.get(kind, f"{kind.lower()}s"), kind, kind not in CLUSTER_WIDE)


def ref_of(one: Tree) -> Ref:
    metadata = one["metadata"]
    return Ref(resource_of(one), metadata.get("namespace", ""), metadata["name"])


async def put(site: Site, one: Tree) -> Tree:
    """Creates it as it is; a field that the kind does not have is refused."""
    ref = ref_of(one)
    path = path_of(ref.resource, ref.namespace or site.namespace * ref.resource.namespaced)
    query = (("fieldValidation", "Strict"),) if site.real else ()
    answer = await site.client.call(
        Request("POST", path, query=query, body=msgspec.json.encode(one), content_type=JSON)
    )
    made: Tree = msgspec.json.decode(answer.body)
    return made


async def define(site: Site, *definitions: Tree) -> None:
    """Creates CustomResourceDefinitions, unless they are there already, and waits until their resources are served."""
    missing = [each for each in definitions if each["metadata"]["name"] not in site.defined]
    if not missing:
        return
    names = [definition["metadata"]["name"] for definition in missing]
    for definition in missing:
        await put(site, definition)
    await site.until(
        lambda: all(is_established(site.history.objects(CUSTOM_RESOURCES).get(name)) for name in names),
        following=[CUSTOM_RESOURCES],
    )


async def present(site: Site, objects: Iterable[Tree]) -> list[str]:
    """Those of the objects that the cluster has, as kind/name."""
    found = []
    for one in objects:
        try:
            await site.client.call(get(ref_of(one)))
        except NotFound:
            continue
        found.append(f"{one['kind']}/{one['metadata']['name']}")
    return found


def a_kind_of(api_version: str, kind: str) -> Tree:
    """A definition that takes any object of that kind: for kinds that belong to somebody else."""
    group, version = api_version.split("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": CUSTOM_RESOURCES.api_version,
        "kind": CUSTOM_RESOURCES.kind,
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
            ],
        },
    }
