"""Widgets that are stored in an old version: a CRD of two versions of one shape, whose storage version was changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON_PATCH, MERGE_PATCH, Request
from tests.e2e.clusters import CUSTOM_RESOURCES, Site
from tests.e2e.history import Tree

GROUP = "example.test"
NAME = f"widgets.{GROUP}"
OLD = Resource(GROUP, "v1", "widgets", "Widget")
NEW = Resource(GROUP, "v2", "widgets", "Widget")
SHAPE: Tree = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer"}, "colour": {"type": "string"}},
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
PROBE = "probe"
"""A Widget that is gone when a scenario begins."""
QUICK = ("--settle", "0s", "--qps", "0", "--progress", "none", "--concurrency", "32")
"""Options of a run that waits for nothing."""


def a_version(name: str, *, storage: bool = False, served: bool = True) -> Tree:
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "schema": {"openAPIV3Schema": SHAPE},
        "subresources": {"status": {}},
    }


def a_crd(*versions: Tree) -> Tree:
    return {
        "apiVersion": CUSTOM_RESOURCES.api_version,
        "kind": CUSTOM_RESOURCES.kind,
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": list(versions),
        },
    }


async def definition(client: Client) -> Tree:
    return await read(client, Ref(CUSTOM_RESOURCES, "", NAME))


async def read(client: Client, ref: Ref) -> Tree:
    found: Tree = msgspec.json.decode((await client.call(request.get(ref))).body)
    return found


async def stored_versions(client: Client) -> list[str]:
    versions: list[str] = (await definition(client))["status"]["storedVersions"]
    return versions


async def with_versions(client: Client, *versions: Tree) -> None:
    body = [{"op": "replace", "path": "/spec/versions", "value": list(versions)}]
    await client.call(request.patch(Ref(CUSTOM_RESOURCES, "", NAME), JSON_PATCH, msgspec.json.encode(body)))


async def stored_in_v1(site: Site, count: int, *, manager: str = "somebody") -> None:
    """So many Widgets that were applied in v1, and v2 as the storage version since."""
    crd = a_crd(a_version("v1", storage=True), a_version("v2"))
    await site.client.call(request.create(CUSTOM_RESOURCES, "", msgspec.json.encode(crd)))
    await site.until(lambda: is_served(site.client), every=0.05)
    await _clear(site.client)
    await each_of([f"w-{number}" for number in range(count)], lambda name: apply(site, name, manager=manager))
    await move_storage(site, NEW)


async def move_storage(site: Site, to: Resource) -> None:
    """Makes it the storage version, and waits until the API server stores in it.

    A write that changes nothing is performed only where the object is stored in another version.
    """
    before = (await apply(site, PROBE))["metadata"]["resourceVersion"]
    await with_versions(site.client, *(a_version(each.version, storage=each == to) for each in (OLD, NEW)))

    async def stores() -> bool:
        return bool((await apply(site, PROBE))["metadata"]["resourceVersion"] != before)

    await site.until(stores, every=0.05)
    await site.client.call(request.delete(Ref(NEW, site.namespace, PROBE)))


async def is_served(client: Client, *resources: Resource) -> bool:
    try:
        for resource in resources or (OLD, NEW):
            await client.list(resource, Any, page=1)
    except KubeError:
        return False
    return True


async def apply(
    site: Site,
    name: str,
    *,
    manager: str = "somebody",
    size: int = 1,
    colour: str = "red",
    via: Resource = OLD,
    force: bool = False,
) -> Tree:
    ref = Ref(via, site.namespace, name)
    body = {
        "apiVersion": via.api_version,
        "kind": via.kind,
        "metadata": {"name": name, "namespace": site.namespace},
        "spec": {"size": size, "colour": colour},
    }
    answer = await site.client.call(request.apply(ref, msgspec.json.encode(body), manager, force=force))
    made: Tree = msgspec.json.decode(answer.body)
    return made


async def each_of(names: Iterable[str], work: Callable[[str], Any], at_once: int = 32) -> None:
    """All of them, some at a time."""
    waiting = iter(names)

    async def worker() -> None:
        for name in waiting:
            await work(name)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(at_once):
            tasks.create_task(worker())


async def widgets(site: Site) -> dict[str, Tree]:
    """By name."""
    listed = await site.client.list(NEW, dict[str, Any], namespace=site.namespace)
    return {each["metadata"]["name"]: each for each in listed.items}


async def versions_of(site: Site) -> dict[str, str]:
    return {name: each["metadata"]["resourceVersion"] for name, each in (await widgets(site)).items()}


async def untrack(site: Site, name: str) -> None:
    """As a tool does that finds managedFields too long."""
    body = msgspec.json.encode({"metadata": {"managedFields": [{}]}})
    await site.client.call(request.patch(Ref(OLD, site.namespace, name), MERGE_PATCH, body))


async def _clear(client: Client) -> None:
    """A shared cluster keeps objects of a CRD of the same name that a scenario before has had."""
    listed = await client.list(NEW, dict[str, Any])
    for namespace in {each["metadata"]["namespace"] for each in listed.items}:
        await client.call(Request("DELETE", request.path_of(NEW, namespace)))
