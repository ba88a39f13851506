"""The embedded cluster over real HTTP or HTTPS, for kubectl and everything else that is not in this process.

The handler is the one that the in-process transport calls; here are only connections, who they come from, and the end
of open watches when the server stops.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

from aiohttp import web
from multidict import CIMultiDict

from kubeloop.request import Request, Response
from kubesim.api.writer import header_lines, with_warnings
from kubesim.auth.rbac import ANONYMOUS, AUTHENTICATED, User, user_of
from kubesim.bodies.decoding import LARGEST
from kubesim.cluster import Cluster
from kubesim.connections import HOST, Connections
from kubesim.controllers.kubernetes_service import advertise
from kubesim.discovery.groups import HEALTH
from kubesim.errors import StatusError, internal_error, unauthorized
from kubesim.requests import sending
from kubesim.requests.handling import JSON, PLAIN, Handler, refusal
from kubesim.requests.pod_logs import Follow
from kubesim.requests.watching import Watch
from kubesim.time import VirtualLoop

_log = logging.getLogger(__name__)
ADMIN_TOKENS = {"admin": "admin"}
_PUBLIC = (*HEALTH, "/version")
_SHUTDOWN_SECONDS = 2.0
_LONGEST_HEAD = 1024 * 1024
"""Bytes of a URL, or of a header."""


class Server:
    """A running server; `url` is where it listens."""

    def __init__(self, handler: Handler, anonymous: str) -> None:
        self.url = ""
        self.port = 0
        self._handler = handler
        self._anonymous = user_of(anonymous) if anonymous else None
        self._streams: dict[Watch | Follow, None] = {}
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Listens; port 0 takes a free one."""
        runner = await self._prepared()
        site = web.TCPSite(runner, host, port, ssl_context=tls)
        await site.start()
        self.port = runner.addresses[0][1]
        self.url = f"{'http' if tls is None else 'https'}://{host}:{self.port}"

    async def answer(self, connections: Connections, host: str) -> None:
        """Answers at a host that is within the process."""
        prepared = (await self._prepared()).server
        assert prepared is not None  # noqa: S101  it was set up
        connections.serve(host, prepared)
        self.url = f"http://{host}"

    async def _prepared(self) -> web.AppRunner:
        """What takes connections."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        app.on_response_prepare.append(self._sign)
        # Without cancellation a watch whose client has gone would wait for its next event. Bodies are taken as they
        # are sent, whatever their encoding is said to be.
        self._runner = web.AppRunner(
            app,
            handler_cancellation=True,
            access_log=None,
            shutdown_timeout=_SHUTDOWN_SECONDS,
            max_line_size=_LONGEST_HEAD,
            max_field_size=_LONGEST_HEAD,
            auto_decompress=False,
        )
        await self._runner.setup()
        return self._runner

    async def stop(self) -> None:
        """Ends open watches and logs, lets their answers finish, and stops listening."""
        for stream in list(self._streams):
            stream.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _user(self, request: web.Request) -> User | None:
        """Whom a certificate names, else whose token the request carries; without either, who anybody is."""
        certified = _certified(request)
        if certified is not None:
            return certified
        if "Authorization" not in request.headers:
            return self._anonymous
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return self._handler.tokens.user(token.strip()) if scheme.lower() == "bearer" else None

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        """The answer; a mistake of the server's own costs the request, not the server."""
        try:
            answer = await self._answer(request)
        except OSError:
            raise  # the connection's
        except Exception:  # noqa: BLE001  whatever it is
            _log.exception("request failed: %s %s", request.method, request.path)
            answer = refusal(internal_error("this request made the server fail, and its log says how"))
        if isinstance(answer, Response):
            return sending.sent(answer, request)
        return await self._stream(request, answer)

    async def _answer(self, request: web.Request) -> Response | Watch | Follow:
        user = self._user(request) or (user_of(ANONYMOUS) if request.path in _PUBLIC else None)
        if user is None:
            return refusal(unauthorized())
        ours = Request(
            request.method,
            request.rel_url.raw_path,
            query=tuple(request.query.items()),
            body=await _body(request),
            content_type=request.headers.get("Content-Type", ""),
            headers=tuple(request.headers.items()),
        )
        try:
            stream = self._handler.watch(ours, user) or self._handler.follow(ours, user)
        except StatusError as error:
            return refusal(error)
        return await self._handler.answer(ours, user) if stream is None else stream

    async def _sign(self, request: web.Request, response: web.StreamResponse) -> None:
        sending.sign(request, response, self._handler.verbs.store.draws("audit"))

    async def _stream(self, request: web.Request, stream: Watch | Follow) -> web.StreamResponse:
        is_json = isinstance(stream, Watch)
        if isinstance(stream, Watch):
            stream.bound()
        headers = JSON if is_json else PLAIN
        response = web.StreamResponse(headers=CIMultiDict(header_lines(with_warnings(headers, stream.warnings))))
        response.enable_chunked_encoding()
        self._streams[stream] = None
        try:
            await response.prepare(request)
            async with aclosing(stream.lines()) as lines:
                async for line in lines:
                    if line:  # nothing would end the answer
                        await response.write(sending.escaped(line) if is_json else line)
            await response.write_eof()
        except ConnectionResetError:
            pass
        finally:
            del self._streams[stream]
            stream.close()
        return response


async def _body(request: web.Request) -> bytes:
    """The body as far as it is looked at: what is larger than any may be is refused without its end."""
    pieces, length = [], 0
    async for piece in request.content.iter_any():
        pieces.append(piece)
        length += len(piece)
        if length > LARGEST:
            break
    return b"".join(pieces)


def _certified(request: web.Request) -> User | None:
    """Whom the connection's certificate names; there is one only where the TLS context asked for it and checked it."""
    connection = request.transport
    certificate = None if connection is None else connection.get_extra_info("peercert")
    named = [pair for part in (certificate or {}).get("subject", ()) for pair in part]
    name = next((value for kind, value in named if kind == "commonName"), "")
    groups = (value for kind, value in named if kind == "organizationName")
    return User(name, (*groups, AUTHENTICATED)) if name else None


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
    """Serves the cluster while the context is open; `tokens` tells whose each bearer token is, from now on.

    Requests without a token are refused unless `anonymous` names their user: kubectl sends tokens over TLS only, so
    that plain HTTP needs it.
    """
    cluster.handler.tokens.give(tokens)
    server = Server(cluster.handler, anonymous)
    await server.start(host, port, tls)
    advertise(cluster.verbs, server.port)
    try:
        yield server
    finally:
        await asyncio.shield(server.stop())


@asynccontextmanager
async def served_within(cluster: Cluster, *, host: str = HOST, user: str = "admin") -> AsyncIterator[Server]:
    """Serves the cluster to all clients on the loop of virtual time, at `http://HOST`, while the context is open."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        raise TypeError("a cluster is served within the process in virtual time alone: elsewhere use `serve`")
    server = Server(cluster.handler, user)
    await server.answer(loop.connections, host)
    try:
        yield server
    finally:
        loop.connections.withdraw(host)
        await asyncio.shield(server.stop())
