"""Servers on the loopback for the Caller over real sockets, and calls to them."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import pytest
from aiohttp import web

from kubeloop.calls import Call, NoReply, Reply
from kubeloop.http_caller import HttpCaller
from kubesim.pki import Authority

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@cache
def authority() -> Authority:
    return Authority()


def server_context(*names: str) -> ssl.SSLContext:
    pair = authority().server(names)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.pem")
        path.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(path)
    return context


@asynccontextmanager
async def serving(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    application = web.Application(client_max_size=2**26)
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1, handler_cancellation=True, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def a_caller() -> AsyncIterator[HttpCaller]:
    caller = HttpCaller()
    try:
        yield caller
    finally:
        await caller.close()


async def echo(request: web.Request) -> web.Response:
    text = f"{request.method} {request.raw_path} {(await request.read()).decode()}"
    headers = [("X-Twice", "1"), ("X-Twice", "2"), ("X-Seen", request.headers.get("X-Sent", ""))]
    answer = web.Response(status=418, text=text)
    answer.headers.extend(headers)
    return answer


def called(handler: Handler, path: str = "/", context: ssl.SSLContext | None = None, **more: object) -> Reply:
    """One call to a server of this handler."""

    async def script() -> Reply:
        async with serving(handler, context) as address, a_caller() as caller:
            return await caller(Call(**{"method": "GET", "url": address + path, "timeout": 20.0} | more))  # type: ignore[arg-type]

    return asyncio.run(script())


def refused(handler: Handler, path: str = "/", context: ssl.SSLContext | None = None, **more: object) -> str:
    with pytest.raises(NoReply) as caught:
        called(handler, path, context, **more)
    return str(caught.value)
