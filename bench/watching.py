"""A list and the watch that follows it, as plainly as the API offers them: one connection, no retries.

Whoever measures must not lose an event without noticing, so an end before time is an error.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from fairlead.api.meta import Resource
from fairlead.kube.request import Request, Transport, list_page, watch

WATCH_SECONDS = 1800
"""Longer than any phase of a measurement."""


class WatchEnded(Exception):
    """The server ended a watch that was still needed."""


async def answered(transport: Transport, request: Request) -> bytes:
    """The body of a good answer; anything else is a failure of the measurement."""
    response = await transport.send(request)
    if response.status >= 400:
        raise RuntimeError(f"{request.doing}: {response.status} {response.body.decode(errors='replace')}")
    return response.body


async def present(transport: Transport, resource: Resource, namespace: str) -> bytes:
    """The whole list in one answer."""
    return await answered(transport, list_page(resource, namespace))


async def lines(transport: Transport, resource: Resource, namespace: str, version: str) -> AsyncIterator[bytes]:
    """The lines of a watch from a version on, until the caller has enough."""
    request = watch(
        resource, namespace, resource_version=version, bookmarks=False, timeout_seconds=WATCH_SECONDS
    )
    async with transport.stream(request) as stream:
        if stream.status >= 400:
            raise WatchEnded(f"{request.doing}: {stream.status}")
        async for line in stream:
            if line:
                yield line
    raise WatchEnded(f"the watch on {resource.plural} in {namespace} ended")
