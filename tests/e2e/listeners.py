"""Somebody outside of the cluster who is called: hooks, metric servers, chats.

On the embedded cluster the operator's calls come straight to the handler, in virtual time; beside a real cluster it is
a real HTTP server on the loopback, and the operator calls it as it calls anybody.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from msgspec import Struct, structs

from kubeloop.calls import Call, Caller, NoReply, Reply
from tests.e2e.clusters import Site
from tests.kubeloop.called import serving

NOWHERE = "http://listener.test:9090"

Answering = Callable[[Call], Reply | None]
"""None: the connection is cut off."""


class Listener(Struct, frozen=True):
    address: str
    caller: Caller | None
    """By which the operator reaches it; None: over real sockets."""


@asynccontextmanager
async def listening(site: Site, answer: Answering) -> AsyncIterator[Listener]:
    """While the context lasts, calls are answered; they have the path with its query as their address."""
    if not site.real:

        async def direct(call: Call) -> Reply:
            return _told(answer(structs.replace(call, url=call.url.removeprefix(NOWHERE))), call)

        yield Listener(NOWHERE, direct)
        return

    async def heard(request: web.Request) -> web.Response:
        call = Call(
            method=request.method,
            url=request.raw_path,
            headers=tuple(request.headers.items()),
            body=await request.read(),
        )
        reply = answer(call)
        if reply is None and request.transport is not None:
            request.transport.close()
        found = reply or Reply(500)
        return web.Response(status=found.status, body=found.body)

    async with serving(heard) as address:
        yield Listener(address, None)


def _told(reply: Reply | None, call: Call) -> Reply:
    if reply is None:
        raise NoReply(f"{call.shown}: the connection was cut off before the whole answer was there")
    return reply
