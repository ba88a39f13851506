"""Whoever is called from outside of a cluster: in the network of the embedded one, else a real server on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from kubeloop.calls import Call, Caller, Reply
from kubeloop.http_caller import HttpCaller
from tests.e2e.clusters import SimGround, Site
from tests.e2e.history import Tree
from tests.e2e.served import ServedGround

HOST = "receiver.test"


class Receiver:
    """Keeps what it was sent; `answer` may be replaced while it is there."""

    def __init__(self, answer: Callable[[Call], Reply]) -> None:
        self.answer = answer
        self.calls: list[Call] = []
        self.url = f"http://{HOST}"

    @property
    def bodies(self) -> list[Tree]:
        return [msgspec.json.decode(each.body) for each in self.calls]

    async def take(self, call: Call) -> Reply:
        self.calls.append(call)
        return self.answer(call)


def caller_of(site: Site) -> Caller:
    """How an operator on the site calls others."""
    ground = site.ground
    return ground.cluster.network.call if isinstance(ground, SimGround | ServedGround) else HttpCaller()


@asynccontextmanager
async def receiving(site: Site, answer: Callable[[Call], Reply] = lambda _: Reply(200)) -> AsyncIterator[Receiver]:
    receiver = Receiver(answer)
    if isinstance(site.ground, SimGround | ServedGround):
        site.ground.cluster.network.serve(HOST, receiver.take)
        yield receiver
        return

    async def taken(request: web.Request) -> web.Response:
        call = Call(
            method=request.method,
            url=request.path_qs,
            headers=tuple(request.headers.items()),
            body=await request.read(),
        )
        reply = await receiver.take(call)
        site.history.wake()
        return web.Response(status=reply.status, body=reply.body, headers=dict(reply.headers))

    app: Any = web.Application()
    app.router.add_route("*", "/{path:.*}", taken)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        place = web.TCPSite(runner, "127.0.0.1", 0)
        await place.start()
        receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield receiver
    finally:
        await runner.cleanup()
