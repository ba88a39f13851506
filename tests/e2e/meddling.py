"""Transports that make trouble no fault plan can name: somebody else who acts first, and a wire that loses lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec

from kubeloop.request import Request, Response, Stream, Transport, place_of

EXCEEDED = "exceeded quota: few"


class _Through:
    """A transport through another one."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> Response:
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        if (close := getattr(self._transport, "close", None)) is not None:
            await close()


class Reviewed(_Through):
    """Writes of a resource are carried out after so many seconds, unless they are given up before."""

    def __init__(self, transport: Transport, plural: str, seconds: float) -> None:
        super().__init__(transport)
        self._plural = plural
        self._seconds = seconds

    async def send(self, request: Request) -> Response:
        if place_of(request.path).plural == self._plural and request.verb not in ("get", "list", "watch"):
            await asyncio.sleep(self._seconds)
        return await super().send(request)


class Meddling(_Through):
    """The first request of this verb and resource waits until `before` has been done."""

    def __init__(
        self, transport: Transport, verb: str, resource: str, before: Callable[[Request], Awaitable[object]]
    ) -> None:
        super().__init__(transport)
        self._verb = verb
        self._resource = resource
        self._before = before
        self.done = False

    async def send(self, request: Request) -> Response:
        place = place_of(request.path)
        resource = f"{place.plural}/{place.subresource}" if place.subresource else place.plural
        if not self.done and (request.verb, resource) == (self._verb, self._resource):
            self.done = True
            await self._before(request)
        return await super().send(request)


class Quota(_Through):
    """What a quota or a policy of somebody refuses while `holds`: this verb on this resource, like `delete pods`."""

    def __init__(self, transport: Transport, *refused: str) -> None:
        super().__init__(transport)
        self.holds = True
        self.asked = 0
        """How often something was refused."""
        self._refused = refused

    async def send(self, request: Request) -> Response:
        place = place_of(request.path)
        resource = f"{place.plural}/{place.subresource}" if place.subresource else place.plural
        if not self.holds or f"{request.verb} {resource}" not in self._refused:
            return await super().send(request)
        self.asked += 1
        status = {"kind": "Status", "apiVersion": "v1", "code": 403, "reason": "Forbidden", "message": EXCEEDED}
        return Response(403, msgspec.json.encode(status))


class Losing:
    """A transport; while `loses` is set, the lines of watches do not arrive."""

    def __init__(self, transport: Transport) -> None:
        self.loses = False
        self.lost = 0
        self._transport = transport
        self.send = transport.send

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._transport.stream(request) as opened:
            yield _Holed(self, opened)


class _Holed:
    def __init__(self, losing: Losing, opened: Stream) -> None:
        self.status = opened.status
        self.headers: Mapping[str, str] = opened.headers
        self._losing = losing
        self._opened = opened

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for line in self._opened:
            if self._losing.loses:
                self._losing.lost += 1
            else:
                yield line
