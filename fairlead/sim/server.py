"""The embedded cluster over real HTTP or HTTPS, for kubectl and everything else that is not in this process.

The handler is the one that the in-process transport calls; here are only connections, bearer tokens and the end of open
watches when the server stops.
"""

from __future__ import annotations

import asyncio
import hmac
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

from aiohttp import web

from fairlead.kube.request import Request
from fairlead.sim import discovery
from fairlead.sim.cluster import Cluster
from fairlead.sim.errors import StatusError, unauthorized
from fairlead.sim.request import JSON, Handler, Watch, refusal

ADMIN_TOKENS = {"admin": "admin"}
LARGEST_BODY = 3 * 1024 * 1024
_PUBLIC = (*discovery.HEALTH, "/version")
_SHUTDOWN_SECONDS = 2.0


class Server:
    """A running server; `url` is where it listens."""

    def __init__(self, handler: Handler, tokens: Mapping[str, str], anonymous: str) -> None:
        self.url = ""
        self.port = 0
        self._handler = handler
        self._tokens = dict(tokens)
        self._anonymous = anonymous
        self._watches: dict[Watch, None] = {}
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Listens; port 0 takes a free one."""
        app = web.Application(client_max_size=LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._serve)
        # Without cancellation a watch whose client has gone would wait for its next event.
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=tls)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self.url = f"{'http' if tls is None else 'https'}://{host}:{self.port}"

    async def stop(self) -> None:
        """Ends open watches, lets their answers finish, and stops listening."""
        for watch in list(self._watches):
            watch.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _user(self, request: web.Request) -> str | None:
        """Whose token the request carries; without a token, who anybody is."""
        if "Authorization" not in request.headers:
            return self._anonymous or None
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        for known, user in self._tokens.items():
            if hmac.compare_digest(known.encode(), token.strip().encode()):
                return user
        return None

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        user = self._user(request)
        if user is None and request.path not in _PUBLIC:
            answer = refusal(unauthorized())
            return web.Response(status=answer.status, body=answer.body, headers=answer.headers)
        ours = Request(
            request.method,
            request.rel_url.raw_path,
            query=tuple(request.query.items()),
            body=await request.read(),
            content_type=request.headers.get("Content-Type", ""),
            headers=tuple(request.headers.items()),
        )
        try:
            watch = self._handler.watch(ours)
        except StatusError as error:
            answer = refusal(error)
            return web.Response(status=answer.status, body=answer.body, headers=answer.headers)
        if watch is not None:
            return await self._stream(request, watch)
        answer = self._handler.answer(ours, user or "")
        return web.Response(status=answer.status, body=answer.body, headers=answer.headers)

    async def _stream(self, request: web.Request, watch: Watch) -> web.StreamResponse:
        response = web.StreamResponse(headers=JSON)
        response.enable_chunked_encoding()
        self._watches[watch] = None
        try:
            await response.prepare(request)
            async with aclosing(watch.lines()) as lines:
                async for line in lines:
                    await response.write(line)
            await response.write_eof()
        except ConnectionResetError:
            pass
        finally:
            del self._watches[watch]
            watch.close()
        return response


@asynccontextmanager
async def serve(
    cluster: Cluster,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    tokens: Mapping[str, str] = ADMIN_TOKENS,
    anonymous: str = "",
) -> AsyncIterator[Server]:
    """Serves the cluster while the context is open; `tokens` tells whose each bearer token is.

    Requests without a token are refused unless `anonymous` names their user: kubectl sends tokens over TLS only, so
    that plain HTTP needs it.
    """
    server = Server(cluster.handler, tokens, anonymous)
    await server.start(host, port, tls)
    try:
        yield server
    finally:
        await asyncio.shield(server.stop())
