"""What changes in a namespace while nothing is to be done there."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from bench.ground import Ground, Requests
from bench.narrow import anything_in
from bench.watching import present
from fairlead.api.apps import STATEFULSETS
from fairlead.api.core import LEASES, PODS
from fairlead.api.meta import Resource
from fairlead.kube.request import Transport, watch

EVENTS = Resource("", "v1", "events", "Event")
REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
_MARGIN = 30.0


class Idle(Struct, frozen=True):
    """One stretch of idle time."""

    seconds: int
    changes: dict[str, int]
    """Changed resource versions by kind of object, leases among them."""
    requests: Requests
    """Of the operator."""

    @property
    def writes(self) -> int:
        """What must be none: changes by anybody and requests of the operator that would change something.

        Not the lease: to renew it is how a leader says that it lives.
        """
        return sum(count for kind, count in self.changes.items() if kind != LEASES.plural) + self.requests.writes


async def measure(ground: Ground, namespace: str, user: str, seconds: int) -> Idle:
    """Watches for so long."""
    before = await ground.requests_of(user)
    kinds = (PODS, STATEFULSETS, EVENTS, REVISIONS, LEASES)
    async with asyncio.timeout(seconds + _MARGIN):
        counts = await asyncio.gather(*(_changes(ground.transport, kind, namespace, seconds) for kind in kinds))
    requests = (await ground.requests_of(user)).since(before)
    return Idle(seconds, {kind.plural: count for kind, count in zip(kinds, counts, strict=True)}, requests)


async def _changes(transport: Transport, kind: Resource, namespace: str, seconds: int) -> int:
    """How many events the server sends before it ends the watch, which it does after that time."""
    version = anything_in(await present(transport, kind, namespace)).metadata.resource_version
    request = watch(kind, namespace, resource_version=version, bookmarks=False, timeout_seconds=seconds)
    async with transport.stream(request) as stream:
        if stream.status >= 400:
            raise RuntimeError(f"{request.doing}: {stream.status}")
        return len([line async for line in stream if line])
