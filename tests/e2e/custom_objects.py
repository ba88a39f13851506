"""Custom objects that a scenario leaves on the shared control plane, wherever they are and whoever holds them.

Those who would convert them, or take finalizers off, have ended with the scenario. An object that stays keeps its
definition from going, or meets the next scenario that wants the same kind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.errors import NotFound, ServerError
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, path_of
from tests.e2e.history import Tree

LOOK_EVERY = 0.05
HEARD_WITHIN = 10.0
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""Of a definition: its objects are to be deleted before it."""
_PAGE = 500


class _Meta(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""
    finalizers: tuple[str, ...] = ()


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta


class _Continue(msgspec.Struct, frozen=True, rename="camel"):
    token: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, frozen=True):
    metadata: _Continue
    items: tuple[_Object, ...] | None = None


async def release(client: Client, definition: Resource, tree: Tree) -> None:
    """Afterwards nobody need convert objects of this kind, nobody holds one of them, and they go with the definition.

    Whoever writes a definition as a whole may have taken off the finalizer by which the API server deletes its objects:
    they would stay in its store, and be there again when somebody defines the kind anew.
    """
    meta, conversion = tree["metadata"], tree["spec"].get("conversion") or {}
    if "deletionTimestamp" not in meta:
        await _prepare(client, Ref(definition, "", meta["name"]), meta, conversion)
    await _let_go(client, tree)


async def _prepare(client: Client, ref: Ref, meta: Tree, conversion: Tree) -> None:
    changes: Tree = {}
    if conversion.get("strategy") == "Webhook":
        changes["spec"] = {"conversion": {"strategy": "None", "webhook": None}}
    if meta.get("finalizers") != [CLEANUP]:
        changes["metadata"] = {"finalizers": [CLEANUP]}
    if changes:
        body = msgspec.json.encode(changes)
        await client.call(request.patch(ref, MERGE_PATCH, body))


async def empty(client: Client, tree: Tree) -> None:
    """Afterwards there is no object of this kind in any namespace."""
    resource = _served(tree)
    if resource is None:
        return
    for namespace in sorted({each.namespace for each in await _let_go(client, tree)}):
        await client.call(Request("DELETE", path_of(resource, namespace)))
    while await _listed(client, resource):  # noqa: ASYNC110  (nothing tells when the last of them is gone)
        await asyncio.sleep(LOOK_EVERY)


async def _let_go(client: Client, tree: Tree) -> Sequence[_Meta]:
    """All objects of the kind, none of which anybody holds."""
    resource = _served(tree)
    found = [] if resource is None else await _listed(client, resource)
    body = msgspec.json.encode({"metadata": {"finalizers": None}})
    for each in found:
        if resource is not None and each.finalizers:
            try:
                await client.call(request.patch(Ref(resource, each.namespace, each.name), MERGE_PATCH, body))
            except NotFound:
                continue  # it was on its way
    return found


def _served(tree: Tree) -> Resource | None:
    """By a version that can be asked for: the stored one where it is."""
    spec = tree["spec"]
    served = sorted((each for each in spec["versions"] if each["served"]), key=lambda each: not each["storage"])
    if not served:
        return None
    names = spec["names"]
    return Resource(spec["group"], served[0]["name"], names["plural"], names["kind"], spec["scope"] == "Namespaced")


async def _listed(client: Client, resource: Resource) -> list[_Meta]:
    """What there is of it in all namespaces, once the server has heard that nobody converts.

    Nothing where it has none, or has objects that nobody can read: those are up to the deletion of the definition.
    """
    deadline = clock.monotonic() + HEARD_WITHIN
    found: list[_Meta] = []
    token = ""
    while True:
        try:
            page = await client.call(request.list_page(resource, "", limit=_PAGE, token=token, metadata_only=True))
        except NotFound:
            return []  # its names were never accepted
        except ServerError:
            if clock.monotonic() > deadline:
                return []
            await asyncio.sleep(LOOK_EVERY)
            continue
        seen = msgspec.json.decode(page.body, type=_List)
        found += [each.metadata for each in seen.items or ()]
        token = seen.metadata.token
        if not token:
            return found
