"""Servers on the loopback for the transport, and what they saw of a request."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest
from aiohttp import web

from kubeloop import request as requests
from kubeloop.errors import KubeError
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
POD = Ref(PODS, "ns", "cart-0", "u1")
GET = requests.get(POD)
HERE = ClusterConfig(server="")


@asynccontextmanager
async def serving(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server that answers everything with the handler."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        yield f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def ok(request: web.Request) -> web.Response:
    """What the server saw of the request."""
    peer = request.transport.get_extra_info("peercert") if request.transport else None
    subject = dict(part[0] for part in peer["subject"])["commonName"] if peer else ""
    return web.json_response(
        {"path": request.raw_path, "headers": [list(pair) for pair in request.headers.items()], "peer": subject}
    )


async def hang(request: web.Request) -> web.Response:
    with suppress(ConnectionError):
        await asyncio.sleep(60)
    return web.Response()


def answered(response: Response) -> dict[str, str]:
    tree = msgspec.json.decode(response.body)
    headers: dict[str, str] = {}
    for name, value in tree["headers"]:
        headers[name.lower()] = f"{headers[name.lower()]},{value}" if name.lower() in headers else value
    return {"path": tree["path"], "peer": tree["peer"], **headers}


def sent(
    config: ClusterConfig,
    request: Request = GET,
    handler: Handler = ok,
    context: ssl.SSLContext | None = None,
    *,
    times: int = 1,
) -> list[Response]:
    """Sends to a server started for it; the config's server is replaced by its address."""

    async def scenario() -> list[Response]:
        async with serving(handler, context) as address:
            transport = HttpTransport(msgspec.structs.replace(config, server=address + config.server))
            try:
                return [await transport.send(request) for _ in range(times)]
            finally:
                await transport.close()

    return asyncio.run(scenario())


def refused(config: ClusterConfig, handler: Handler = ok, context: ssl.SSLContext | None = None) -> str:
    with pytest.raises(KubeError) as caught:
        sent(config, handler=handler, context=context)
    return str(caught.value)
