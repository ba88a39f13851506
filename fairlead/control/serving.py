"""The plain HTTP server: `/ready` and `/metrics`, measured by the contract's request metrics."""

from __future__ import annotations

import errno
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Middleware

from fairlead.control.metrics import Metrics
from fairlead.kube import clock

_NOT_WORDS = re.compile(r"[^a-z0-9]+")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PortBusy(Exception):
    """The port cannot be had; the message names it."""


@asynccontextmanager
async def probes(port: int, metrics: Metrics, is_ready: Callable[[], bool]) -> AsyncIterator[int]:
    """Serves on all interfaces while the context lasts; yields the port (useful when 0 was given)."""
    app = web.Application(middlewares=[_measured(metrics)])

    async def ready(_: web.Request) -> web.Response:
        return web.Response(status=200 if is_ready() else 500)

    async def exposition(_: web.Request) -> web.Response:
        return web.Response(body=metrics.exposition(), headers={"Content-Type": "text/plain; version=0.0.4"})

    app.router.add_route("*", "/ready", ready)
    app.router.add_route("*", "/metrics", exposition)
    runner = web.AppRunner(app, access_log=None, keepalive_timeout=180, shutdown_timeout=1)
    await runner.setup()
    try:
        yield await _listen(runner, port)
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, port: int) -> int:
    """Listens on all interfaces of both families under one port, also when any free one is asked for."""
    try:
        await web.TCPSite(runner, "0.0.0.0", port).start()
        chosen: int = runner.addresses[0][1]
        if socket.has_ipv6:
            await web.TCPSite(runner, "::", chosen).start()
    except OSError as error:
        if error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):  # built with IPv6, run without
            return chosen
        raise PortBusy(f"port {port} cannot be listened on ({error.strerror}); choose another one") from error
    return chosen


def _route(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return _NOT_WORDS.sub("_", resource.canonical.lower()).strip("_") if resource else "other"


def _measured(metrics: Metrics) -> Middleware:
    @web.middleware
    async def measure(request: web.Request, handler: Handler) -> web.StreamResponse:
        where = (request.method, _route(request))
        websocket = request.headers.get("Upgrade", "").lower() == "websocket"
        begun = clock.monotonic()
        status = 500
        with metrics.inflight.labels(*where).track_inprogress():
            try:
                response = await handler(request)
                status = response.status
                body = getattr(response, "body", None) or b""
                metrics.response_bytes.labels(*where).observe(len(body))
                return response
            except web.HTTPException as error:
                status = error.status
                raise
            finally:
                metrics.request_bytes.labels(*where).observe(request.content_length or 0)
                took = clock.monotonic() - begun
                labels = (*where, str(status), "true" if websocket else "false")
                metrics.requests.labels(*labels).observe(took)

    return measure
