"""What changes in a namespace while nothing is to be done there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from msgspec import Struct

from bench.ground import Ground, Requests
from bench.narrow import anything_in
from bench.watching import present
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import LEASES, PODS
from kubeloop.objects.meta import Resource
from kubeloop.request import Transport, watch

EVENTS = Resource("", "v1", "events", "Event")
REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
ROLLED_KINDS = (PODS, STATEFULSETS, EVENTS, REVISIONS, LEASES)
"""Whatever a rollout of zones changes."""
CALM = 15.0
"""Seconds without a write after which nothing is left to say of the rollout; counts of events come ten seconds late."""
CALM_LIMIT = 180.0
"""Seconds after which an operator that still writes is taken as it is."""
_LOOK_EVERY = 1.0
_MARGIN = 30.0


class Idle(Struct, frozen=True):
    """One stretch of idle time."""

    seconds: int
    calm_after: float
    """Seconds after the rollout at which the operator had written its last event about it."""
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
    """Lets the operator finish what it has to say of the rollout, then watches for so long."""
    return await watched(ground, namespace, user, seconds, ROLLED_KINDS, await calmed(ground, user))


async def watched(
    ground: Ground, namespace: str, user: str, seconds: int, kinds: Sequence[Resource], calm_after: float
) -> Idle:
    """What happens from now on to objects of these kinds."""
    before = await ground.requests_of(user)
    async with asyncio.timeout(seconds + _MARGIN):
        counts = await asyncio.gather(*(_changes(ground.transport, kind, namespace, seconds) for kind in kinds))
    requests = (await ground.requests_of(user)).since(before)
    changes = {kind.plural: count for kind, count in zip(kinds, counts, strict=True)}
    return Idle(seconds, calm_after, changes, requests)


async def calmed(ground: Ground, user: str) -> float:
    """Returns when the user has written nothing for CALM seconds, or at the limit; answers with its last write."""
    begun = last = time.monotonic()
    writes = (await ground.requests_of(user)).writes
    while (now := time.monotonic()) < min(last + CALM, begun + CALM_LIMIT):
        await asyncio.sleep(_LOOK_EVERY)
        count = (await ground.requests_of(user)).writes
        if count != writes:
            writes, last = count, now
    return last - begun


async def _changes(transport: Transport, kind: Resource, namespace: str, seconds: int) -> int:
    """How many events the server sends before it ends the watch, which it does after that time."""
    version = anything_in(await present(transport, kind, namespace)).metadata.resource_version
    request = watch(kind, namespace, resource_version=version, bookmarks=False, timeout_seconds=seconds)
    async with transport.stream(request) as stream:
        if stream.status >= 400:
            raise RuntimeError(f"{request.doing}: {stream.status}")
        return len([line async for line in stream if line])
