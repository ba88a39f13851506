"""Takes away the finalizer by which an operator heard of deletions, once it is gone: nobody else would.

Only where the definition names no converter: a write of an object may have to be converted, and whoever converts has an
operator that puts the finalizer back.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from fairlead.engine.contract import Mark
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.owned_definitions import is_webhook
from fairlead.engine.decide.registration import DEFINITIONS
from kubeloop.client import Client
from kubeloop.errors import Conflict, NotFound
from kubeloop.objects.meta import Meta, Ref, Resource
from kubeloop.request import MERGE_PATCH, get, patch

MOST_TRIES = 10


class _Meta(Meta, frozen=True, rename="camel"):
    finalizers: tuple[str, ...] = ()


class _Object(Struct, frozen=True):
    metadata: _Meta


async def unmark(client: Client, mark: Mark) -> int:
    """How many objects can go without an operator now that could not before."""
    resource = await _stored(client, mark.resource)
    if resource is None:
        return 0
    listed = await client.list(resource, _Object)
    return sum([await _unmarked(client, resource, mark.finalizer, each) for each in listed.items])


async def _stored(client: Client, resource: Resource) -> Resource | None:
    """In the version that needs no conversion; None: there is no such kind, or somebody converts its objects."""
    asked = get(Ref(DEFINITIONS, "", f"{resource.plural}.{resource.group}"))
    try:
        definition = definition_in((await client.call(asked)).body, asked.doing)
    except NotFound:
        return None
    if is_webhook(definition):
        return None
    version = next(str(each["name"]) for each in definition["spec"]["versions"] if each.get("storage"))
    return msgspec.structs.replace(resource, version=version)


async def _unmarked(client: Client, resource: Resource, finalizer: str, found: _Object) -> bool:
    """Whether it had the finalizer, and has it no more."""
    for _ in range(MOST_TRIES):
        metadata = found.metadata
        if finalizer not in metadata.finalizers:
            return False
        ref = Ref(resource, metadata.namespace, metadata.name, metadata.uid)
        kept = [each for each in metadata.finalizers if each != finalizer]
        body = msgspec.json.encode({"metadata": {"finalizers": kept}})
        try:
            await client.call(patch(ref, MERGE_PATCH, body, resource_version=metadata.resource_version))
        except NotFound:
            return False
        except Conflict:
            try:
                found = await client.read(ref, _Object)
            except NotFound:
                return False
            continue
        return True
    return False
