"""Which versions the objects of a kind and their dependents name, counted on the cluster."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.contracts.apiversions.decide.crd_versions import resource_of, storage_version
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.version_uses import Uses
from fairlead.contracts.apiversions.dependents import search
from fairlead.contracts.apiversions.live_objects import PAGE, objects
from kubeloop.client import Client


async def uses_of(client: Client, definition: Tree, *, named: Sequence[tuple[str, str]] = (), page: int = PAGE) -> Uses:
    """Of all objects in the storage version, metadata only, and of what belongs to them."""
    uses = Uses()
    resource = resource_of(definition, storage_version(definition))
    async for each in objects(client, resource, page=page, metadata_only=True):
        uses.see(each["metadata"], resource.group)
    await add_dependents(uses, client, definition, named=named, page=page)
    return uses


async def add_dependents(
    uses: Uses, client: Client, definition: Tree, *, named: Sequence[tuple[str, str]] = (), page: int = PAGE
) -> None:
    group, kind = definition["spec"]["group"], definition["spec"]["names"]["kind"]
    stored = resource_of(definition, storage_version(definition))
    looking = await search(client, named, page, stored=stored)
    async for resource, found in looking.found(group, kind):
        versions = {
            each.api_version.rpartition("/")[2]
            for each in found.owner_references
            if each.kind == kind and each.api_version.rpartition("/")[0] == group
        }
        uses.see_dependent(versions, f"{resource.kind} {'/'.join(filter(None, (found.namespace, found.name)))}")
    uses.untold = [*looking.unlisted]
