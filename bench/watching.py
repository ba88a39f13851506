"""A list and the watch that follows it, as plainly as the API offers them.

Whoever measures must not lose an event without noticing: what cannot be had in full is an error, and nothing is tried
again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Protocol, TypeVar

from bench.narrow import Line, Meta
from kubeloop.objects.meta import Resource
from kubeloop.request import Request, Transport, list_page, watch


class Named(Protocol):
    @property
    def metadata(self) -> Meta: ...


T = TypeVar("T", bound=Named)

WATCH_SECONDS = 1800
"""Longer than any phase of a measurement."""


async def answered(transport: Transport, request: Request) -> bytes:
    """The body of a good answer; anything else is a failure of the measurement."""
    response = await transport.send(request)
    if response.status >= 400:
        raise RuntimeError(f"{request.doing}: {response.status} {response.body.decode(errors='replace')}")
    return response.body


async def present(transport: Transport, resource: Resource, namespace: str) -> bytes:
    """The whole list in one answer."""
    return await answered(transport, list_page(resource, namespace))


async def changes(
    transport: Transport, resource: Resource, namespace: str, version: str, decode: Callable[[bytes], Line[T]]
) -> AsyncIterator[Line[T]]:
    """What happens after a version, for ever.

    The server ends watches that it finds too slow; the next one goes on where the last one ended. Should that place be
    forgotten by then, the server says so with an error, which is no Line and cannot be decoded.
    """
    while True:
        request = watch(resource, namespace, resource_version=version, bookmarks=False, timeout_seconds=WATCH_SECONDS)
        async with transport.stream(request) as stream:
            if stream.status >= 400:
                raise RuntimeError(f"{request.doing}: {stream.status}")
            async for line in stream:
                if line:
                    change = decode(line)
                    version = change.object.metadata.resource_version
                    yield change
