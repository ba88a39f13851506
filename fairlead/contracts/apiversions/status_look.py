"""A look at the objects of a kind in every version, page by page, for `fairlead api status`.

Where a list in a version fails, because one object cannot be converted, each object is asked for by its name, so that
the ones in the way are known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from fairlead.contracts.apiversions.decide.crd_versions import owner_of, resource_of, served_versions, storage_version
from fairlead.contracts.apiversions.decide.status import (
    Migration,
    Status,
    Unconvertible,
    add_unlisted,
    add_uses,
    status_of,
)
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.version_uses import (
    MOST_NAMED,
    Uses,
    carry_bytes,
    counted,
    object_name,
)
from fairlead.contracts.apiversions.kinds import HOME
from fairlead.contracts.apiversions.live_objects import PAGE, objects
from fairlead.contracts.apiversions.uses import add_dependents
from fairlead.core.controller_version import CONTROLLER_VERSION, LEGACY_VERSION
from fairlead.engine.certificates import pairs
from fairlead.engine.decide.registration import authority_of
from fairlead.engine.decide.storage_migration.names import migration_name
from kubeloop.client import Client
from kubeloop.errors import ApiError, Forbidden, NotFound
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import get
from kubeloop.unreadable import UNREADABLE

UNSTAMPED = "unstamped"
AT_ONCE = 8


def brief(definition: Tree) -> Status:
    """Without a look at objects."""
    return status_of(definition, [end for _, end in pairs.authorities(authority_of(definition) or b"")])


async def look(
    client: Client, definition: Tree, *, named: Sequence[tuple[str, str]] = (), journal: str = "", page: int = PAGE
) -> Status:
    """Everything; raises KubeError where the cluster does not answer at all."""
    status = brief(definition)
    uses, controllers = Uses(), dict[str, int]()
    storage = storage_version(definition)
    listed = []
    for version in sorted(served_versions(definition), key=lambda each: each != storage):
        resource = resource_of(definition, version)
        try:
            async for each in objects(client, resource, page=page, metadata_only=True):
                if version == storage:
                    uses.see(each["metadata"], resource.group)
                    _count_controller(controllers, each["metadata"])
                _count_carried(status, each["metadata"], version)
            listed.append(resource)
        except ApiError as error:
            add_unlisted(status, version, error.message or str(error))
    for version in status.unlisted if listed else ():
        await _name_unconvertible(client, status, resource_of(definition, version), listed[0], page)
    if storage not in status.unlisted:
        await add_dependents(uses, client, definition, named=named, page=page)
        add_uses(status, uses, controllers)
    status.migration = await _last_migration(client, definition, journal)
    return status


def _count_controller(controllers: dict[str, int], metadata: Tree) -> None:
    annotations = metadata.get("annotations") or {}
    stamp = annotations.get(CONTROLLER_VERSION) or annotations.get(LEGACY_VERSION) or UNSTAMPED
    controllers[stamp] = controllers.get(stamp, 0) + 1


def _count_carried(status: Status, metadata: Tree, version: str) -> None:
    size = carry_bytes(metadata)
    if size:
        counted(status.carrying, (version,), object_name(metadata))
        status.most_carry_bytes = max(status.most_carry_bytes, size)
        status.all_carry_bytes += size


async def _name_unconvertible(client: Client, status: Status, resource: Resource, listed: Resource, page: int) -> None:
    """Asks by name for every object that another version lists, a page of them at a time."""
    part: list[Ref] = []
    async for each in objects(client, listed, page=page, metadata_only=True):
        part.append(Ref(resource, each["metadata"].get("namespace") or "", each["metadata"]["name"]))
        if len(part) == page:
            await _ask_each(client, status, part)
            part = []
    await _ask_each(client, status, part)


async def _ask_each(client: Client, status: Status, refs: Sequence[Ref]) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def asked(ref: Ref) -> Unconvertible | None:
        async with gate:
            try:
                await client.call(get(ref))
            except NotFound:
                return None
            except ApiError as error:
                name = "/".join(filter(None, (ref.namespace, ref.name)))
                return Unconvertible(ref.resource.version, name, error.message or str(error))
        return None

    found = [each for each in await asyncio.gather(*map(asked, refs)) if each is not None]
    room = max(0, MOST_NAMED - len(status.unconvertible))
    status.unconvertible += found[:room]
    status.more_unconvertible += len(found[room:])


async def _last_migration(client: Client, definition: Tree, journal: str) -> Migration | None:
    crd = str(definition["metadata"]["name"])
    ref = Ref(CONFIGMAPS, journal or owner_of(definition) or HOME, migration_name(crd))
    try:
        found: Tree = await client.read(ref, dict[str, Any])
    except (NotFound, Forbidden):
        return None
    for text in (found.get("data") or {}).values():
        if (told := _journal(text)) is not None:
            return told
    return None


def _journal(text: str) -> Migration | None:
    try:
        tree = msgspec.json.decode(text)
    except UNREADABLE:
        return None
    if not isinstance(tree, dict) or not isinstance(tree.get("phase"), str):
        return None
    return Migration(
        tree["phase"], str(tree.get("completed_at") or tree.get("completedAt") or ""), str(tree.get("problem") or "")
    )
