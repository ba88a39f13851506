"""Whether an operator has seen all that the cluster shows, and has nothing in hand."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from fairlead.engine.lane import ControllerLane
from fairlead.engine.manager import Manager
from kubeloop import clock
from kubeloop.objects.meta import Meta, Resource
from tests.e2e.clusters import Site

SOON = 2.0
"""Seconds; a look that is due later than that is a wait and not work in hand."""
Shown: TypeAlias = dict[tuple[Resource, str], dict[str, str]]
"""Versions by name, of each kind that is watched."""


class Known(Struct):
    """What is compared of an object."""

    metadata: Meta


def is_idle(lane: ControllerLane) -> bool:
    """No key is ready, in work, or to be looked at soon."""
    queue = lane.queue
    soon = [due for due in queue._delayed.values() if due < clock.monotonic() + SOON]
    return not (queue._live or queue._initial or queue._working or queue._again or soon)


async def shown_alike(site: Site, manager: Manager) -> Shown | None:
    """The versions of what the cluster shows, when the operator's caches show exactly the same."""
    shown = {}
    for informer in (one for each in manager._controllers for one in each.informers):
        selection = informer.selection
        listed = await site.client.list(
            selection.resource, Known, namespace=selection.namespace, labels=selection.labels, metadata_only=True
        )
        held = {item.metadata.name: item.metadata.resource_version for item in informer.store.items()}
        live = {item.metadata.name: item.metadata.resource_version for item in listed.items}
        if held != live:
            return None
        shown[selection.resource, selection.labels] = live
    return shown


async def rests(site: Site, manager: Manager | None) -> bool:
    """Whether all its lanes are idle on what the cluster shows now: a write between the two looks would show."""
    if manager is None or not _is_idle(manager):  # which costs the cluster nothing to see
        return False
    before = await shown_alike(site, manager)
    return before is not None and _is_idle(manager) and await shown_alike(site, manager) == before and _is_idle(manager)


def _is_idle(manager: Manager) -> bool:
    return all(map(is_idle, manager._lanes))
