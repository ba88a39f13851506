"""The HTTP and HTTPS server under probes, metrics and webhooks: connections, time-outs, measuring, cluster validation.

A client has so many seconds to send a request, another so many to take the answer; between requests a connection may
rest for three minutes. One that is slower loses its connection, whatever it is slow at: the handshake, the headers or
the body. A handler is not disturbed when its client goes away, since what it began must be ended in order.

A server may have a bound on the bytes that it holds. A request that would push it is told to come again, before its
body is read; clients of Kubernetes do so by themselves.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from typing import Any, Protocol, cast

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from msgspec import Struct, structs
from structlog.types import FilteringBoundLogger

from fairlead.engine.serving.bodies import BodyBudget, BodyTooLarge, announced, body_of
from fairlead.engine.serving.cluster_label import ClusterLabel
from fairlead.engine.serving.plain_paths import EVERYWHERE
from fairlead.engine.serving.routes import LARGEST_BODY, Routes, dispatching, path_of, route_name, text
from kubeloop import clock
from kubeloop.calls import Call, Reply

IDLE_SECONDS = 180.0
END_SECONDS = 1.0
"""For the polite end of a TLS connection."""
PART_SECONDS = 0.5
"""For what the other sides of TLS connections have to say to that, when the server ends."""
CUT_SECONDS = 0.01
"""For connections that are still there when the time for them is over."""
PIECE = 256 * 1024
"""Bytes of an answer that are encrypted at once: the whole of a large one would hold up everything else."""
RETRY_SECONDS = 1
"""After which a request may come again that did not fit."""
LINGER_SECONDS = 2.0
"""For which the rest of an unwanted body is read, so that the answer is not lost with the connection."""

_QUIET = logging.getLogger("fairlead.engine.serving.server")
"""What aiohttp would say of clients that speak no HTTP; what a handler fails at is logged here."""
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False


class PortBusy(Exception):
    """The port cannot be had; the message names it."""


class AnsweredRequest(Struct, frozen=True):
    """One request that was answered."""

    method: str
    route: str
    status: int
    websocket: bool
    seconds: float
    request_bytes: int
    response_bytes: int


class Measures(Protocol):
    """Counts what a server does."""

    def serving(self, method: str, route: str) -> AbstractContextManager[object]:
        """Open while a request is in work."""

    def served(self, served: AnsweredRequest) -> None: ...

    def wrong_cluster(self, method: str, label: str, request_label: str) -> None:
        """A request was meant for another cluster; `method` is its route."""


class ServerTerms(Struct, frozen=True):
    """How a server treats its clients."""

    timeout: float = 10.0
    """Seconds to send a request, and again to take the answer."""
    ending: float = 1.0
    """Seconds for requests under way when the server ends."""
    cluster: ClusterLabel | None = None
    tls: ssl.SSLContext | None = None
    largest: Mapping[str, int] = {}
    """Bytes of the largest body by path, where it is not the usual one."""
    most_held: int | None = None
    """Bytes of the bodies of all requests in work together; None for no bound."""
    unlabelled: frozenset[str] = frozenset()
    """Paths of callers that cannot say which cluster they mean."""
    is_leaving: Callable[[], bool] = lambda: False
    """Whether every answer is to be the last on its connection. A client that keeps connections goes on asking here for
    as long as it has one, and a request that crosses the end of an idle one is lost: clients repeat no POST."""

    def largest_body(self, path: str) -> int:
        return self.largest.get(path, LARGEST_BODY)


@asynccontextmanager
async def serving(
    port: int,
    routes: Routes,
    measures: Measures,
    log: FilteringBoundLogger,
    terms: ServerTerms,
    host: str = EVERYWHERE,
) -> AsyncIterator[int]:
    """Serves while the context lasts, on all interfaces unless a host is given; yields the port (useful for 0)."""
    loop = asyncio.get_running_loop()
    server = _Server(_Requests(routes, measures, log, terms).answer, terms.timeout)
    listening: list[asyncio.Server] = []

    async def listen(host: str, port: int) -> int:
        tls: dict[str, Any] = {}
        if terms.tls is not None:
            tls = {
                "ssl": terms.tls,
                "ssl_handshake_timeout": terms.timeout,
                "ssl_shutdown_timeout": END_SECONDS,
            }
        listening.append(await loop.create_server(server, host, port, backlog=128, **tls))
        chosen: int = listening[-1].sockets[0].getsockname()[1]
        return chosen

    try:
        yield await (_everywhere(port, listen) if host in ("", EVERYWHERE) else _on(host, port, listen))
    finally:
        for each in listening:
            each.close()
        try:
            await asyncio.sleep(0)  # requests that have come in are begun before idle connections are closed
            server.pre_shutdown()
            with suppress(TimeoutError):
                async with asyncio.timeout(terms.ending):
                    await server.shutdown(terms.ending)
        finally:  # also of who is cancelled while requests are waited for
            server.is_over = True
            await server.shutdown(CUT_SECONDS)  # aiohttp gives the time twice to whoever needs it
            await server.part()


class _Listen(Protocol):
    async def __call__(self, host: str, port: int, /) -> int: ...


async def _everywhere(port: int, listen: _Listen) -> int:
    """Listens on all interfaces of both families under one port, also when any free one is asked for."""
    chosen = 0
    try:
        chosen = await listen("0.0.0.0", port)
        if socket.has_ipv6:
            await listen("::", chosen)
    except OSError as error:
        if chosen and error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):  # built with IPv6, run without
            return chosen
        raise PortBusy(f"port {port} cannot be listened on ({error.strerror}); choose another one") from error
    return chosen


async def _on(host: str, port: int, listen: _Listen) -> int:
    try:
        return await listen(host, port)
    except OSError as error:
        raise PortBusy(
            f"port {port} of {host} cannot be listened on ({error.strerror}); choose another one, or an address that"
            " this machine has"
        ) from error


class _Connection(RequestHandler):
    """Cut when a request has begun to come in and is not there in time."""

    __slots__ = ("_begun", "_in_work", "_reading", "_seconds", "_server")

    def __init__(self, manager: _Server, *, loop: asyncio.AbstractEventLoop, seconds: float, **rest: Any) -> None:
        super().__init__(manager, loop=loop, **rest)
        self._server = manager
        self._seconds = seconds
        self._reading: asyncio.TimerHandle | None = None
        self._in_work = False
        self._begun = False
        """Whether bytes of the next request have come while one is in work."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._server.connected[self] = cast("asyncio.Transport", transport)
        if self._server.is_over:
            self.cut()  # its handshake took until nobody was there to answer
        else:
            self._expect()

    def data_received(self, data: bytes) -> None:
        if self._in_work:
            self._begun = True
        elif self._reading is None:
            self._expect()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._expect_nothing()
        self._server.left(self)
        super().connection_lost(exc)

    def headers_read(self) -> None:
        self._in_work = True
        self._expect_nothing()

    def body_read(self) -> None:
        self._begun = False

    def answered(self) -> None:
        self._in_work = False
        if self._begun:
            self._begun = False
            self._expect()

    def cut(self) -> None:
        """Ends the connection without a word: its other side is too slow to hear one."""
        transport = self.transport
        if transport is not None:
            self.force_close()
            transport.abort()

    def force_close(self) -> None:
        transport = self.transport
        if transport is not None and transport.is_closing():
            self.transport = None  # closed twice, a TLS connection cannot be aborted any more
        super().force_close()

    def _expect(self) -> None:
        self._reading = self._loop.call_later(self._seconds, self.cut)

    def _expect_nothing(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


class _Server(web.Server):
    def __init__(self, handler: Any, seconds: float) -> None:
        super().__init__(
            handler, access_log=None, logger=_QUIET, keepalive_timeout=IDLE_SECONDS, lingering_time=LINGER_SECONDS
        )
        self._seconds = seconds
        self.is_over = False
        """Whether all connections have been closed."""
        self.connected: dict[_Connection, asyncio.Transport] = {}
        """Those that have not ended, closed or not: the other side of TLS has a word in that."""
        self._is_empty = asyncio.Event()

    def left(self, connection: _Connection) -> None:
        self.connected.pop(connection, None)
        if not self.connected:
            self._is_empty.set()

    async def part(self) -> None:
        """Waits for the last words of those whose connections are closed; who has none in time is left without."""
        if self.connected:
            self._is_empty.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(PART_SECONDS):
                    await self._is_empty.wait()
        for transport in self.connected.values():
            transport.abort()
        await asyncio.sleep(0)  # in which they end

    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._loop, seconds=self._seconds, **self._kwargs)


class _Requests:
    """From aiohttp's requests to Calls, from Replies to its responses."""

    def __init__(self, routes: Routes, measures: Measures, log: FilteringBoundLogger, terms: ServerTerms) -> None:
        self._routes = routes
        self._handle = dispatching(routes)
        self._measures = measures
        self._log = log
        self._terms = terms
        self._scale = BodyBudget(terms.most_held)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        if not isinstance(connection, _Connection):
            raise TypeError("a request without a connection of ours")
        connection.headers_read()
        begun = clock.monotonic()
        route = route_name(request.path, self._routes)
        size = announced(request, self._terms.largest_body(request.path))
        with self._measures.serving(request.method, route), self._scale.holding(size) as fits:
            body, reply = await self._reply(request, route, connection) if fits else (b"", _later())
            response = _response(reply)
            if reply.status == 413 or not fits or self._terms.is_leaving():
                response.force_close()  # of a body that is too large the rest is not worth reading
            await self._send(request, response, reply, connection)
        websocket = request.headers.get("Upgrade", "").lower() == "websocket"
        seconds = clock.monotonic() - begun
        self._measures.served(
            AnsweredRequest(request.method, route, reply.status, websocket, seconds, len(body), len(reply.body))
        )
        connection.answered()
        return response

    async def _reply(self, request: web.BaseRequest, route: str, connection: _Connection) -> tuple[bytes, Reply]:
        headers = tuple(request.headers.items())
        call = Call(method=request.method, url=request.path_qs, headers=headers, timeout=self._terms.timeout)
        if (refusal := self._refusal(call, route)) is not None:
            return b"", refusal
        largest = self._terms.largest_body(path_of(call))
        try:
            async with asyncio.timeout(self._terms.timeout):
                body = await body_of(request, largest)
        except TimeoutError:
            connection.cut()
            return b"", text(408, f"the request was not sent within {self._terms.timeout:g} seconds")
        except BodyTooLarge:
            return b"", text(413, f"the body is larger than {largest} bytes")
        except (web.RequestPayloadError, ConnectionError):
            return b"", text(400, "the body cannot be read")
        connection.body_read()
        try:
            sent = structs.replace(call, body=body, is_awaited=lambda: _is_open(request))
            return body, await self._handle(sent)
        except Exception as error:  # noqa: BLE001  (whatever it is, the client gets an answer and the log all of it)
            self._log.error("request failed", route=route, exc_info=error)
            return body, text(500, "this is a mistake of the operator; its log says more")

    def _refusal(self, call: Call, route: str) -> Reply | None:
        cluster = self._terms.cluster
        if cluster is None or path_of(call) in self._terms.unlabelled or (label := cluster.wrong(call)) is None:
            return None
        self._measures.wrong_cluster(route, cluster.label, label)
        self._log.warning(
            "request with wrong cluster validation label",
            path=path_of(call),
            cluster_validation_label=cluster.label,
            request_cluster_validation_label=label,
            soft_validation=cluster.soft,
        )
        return None if cluster.soft else cluster.refusal(label, route)

    async def _send(
        self, request: web.BaseRequest, response: web.StreamResponse, reply: Reply, connection: _Connection
    ) -> None:
        with suppress(ConnectionError):
            try:
                async with asyncio.timeout(self._terms.timeout):
                    await response.prepare(request)
                    if not isinstance(response, web.Response):
                        for start in range(0, len(reply.body), PIECE):
                            await response.write(reply.body[start : start + PIECE])
                    await response.write_eof()
            except TimeoutError:
                connection.cut()


def _later() -> Reply:
    refused = text(429, f"other requests hold as many bytes as may be held at once; try again in {RETRY_SECONDS} s")
    return Reply(refused.status, refused.body, (*refused.headers, ("Retry-After", str(RETRY_SECONDS))))


def _response(reply: Reply) -> web.StreamResponse:
    if len(reply.body) <= PIECE:
        return web.Response(status=reply.status, body=reply.body, headers=dict(reply.headers))
    response = web.StreamResponse(status=reply.status, headers=dict(reply.headers))
    response.content_length = len(reply.body)
    return response


def _is_open(request: web.BaseRequest) -> bool:
    """Whether an answer has somewhere to go; a client that gave up has closed the connection."""
    return request.transport is not None and not request.transport.is_closing()
