"""Somebody else who acts at the worst moment: right before a request of the operator reaches the cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from fairlead.kube.request import Request, Response, Stream, Transport, place_of


class Meddling:
    """A transport; the first request of this verb and resource waits until `before` has been done."""

    def __init__(
        self, transport: Transport, verb: str, resource: str, before: Callable[[Request], Awaitable[object]]
    ) -> None:
        self._transport = transport
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
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)
