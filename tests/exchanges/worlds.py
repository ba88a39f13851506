"""The two sides that a case is played on: any server over HTTP, and the embedded cluster in process."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from io import BytesIO
from typing import Any, Protocol

import aiohttp
from aiohttp import web
from msgspec import Struct
from yarl import URL

from kubeloop.calls import Call
from kubeloop.request import Request
from kubesim.auth.rbac import AUTHENTICATED, User
from kubesim.cluster import Cluster
from tests.e2e.webhooks import authority, server_context
from tests.exchanges import handlers
from tests.exchanges.masking import HOOKS

Tree = dict[str, Any]
AGENT = ("User-Agent", "exchange/1.0")


class Answer(Struct, frozen=True):
    status: int
    headers: Mapping[str, Sequence[str]]
    """All values of each, names in lower case."""
    body: bytes


class Opened(Struct, frozen=True):
    """An answer whose lines are still coming."""

    status: int
    headers: Mapping[str, Sequence[str]]
    lines: AsyncIterator[bytes]


class World(Protocol):
    """A cluster as a case sees it; requests are sent by a user in groups, an empty name is the administrator's."""

    async def send(self, request: Request, user: str, groups: Sequence[str]) -> Answer: ...

    def stream(self, request: Request, user: str, groups: Sequence[str]) -> AbstractAsyncContextManager[Opened]: ...

    def hook(self, name: str) -> Tree:
        """The `clientConfig` of a handler."""


class InProcess:
    """An embedded cluster of the case's own."""

    def __init__(self) -> None:
        self._cluster = Cluster()
        self._cluster.network.serve(HOOKS.removeprefix("https://"), handlers.answer)

    async def send(self, request: Request, user: str, groups: Sequence[str]) -> Answer:
        answer = await self._cluster.transport(_user(user, groups)).send(request)
        return Answer(answer.status, _listed(answer.headers), answer.body)

    @asynccontextmanager
    async def stream(self, request: Request, user: str, groups: Sequence[str]) -> AsyncIterator[Opened]:
        async with self._cluster.transport(_user(user, groups)).stream(request) as stream:
            yield Opened(stream.status, _listed(stream.headers), aiter(stream))

    def hook(self, name: str) -> Tree:
        return _client_config(HOOKS, name)


class OverHttp:
    """A server at a URL; `context` tells how to connect as a user."""

    def __init__(
        self, url: str, context: Callable[[str, Sequence[str]], ssl.SSLContext | bool], hooks: str = ""
    ) -> None:
        self._url = url
        self._context = context
        self._hooks = hooks
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, request: Request, user: str, groups: Sequence[str]) -> Answer:
        async with self._requested(request, user, groups) as response:
            return Answer(response.status, _all(response), await response.read())

    @asynccontextmanager
    async def stream(self, request: Request, user: str, groups: Sequence[str]) -> AsyncIterator[Opened]:
        async with self._requested(request, user, groups) as response:
            yield Opened(response.status, _all(response), _lines(response))

    def hook(self, name: str) -> Tree:
        return _client_config(self._hooks, name)

    @asynccontextmanager
    async def _requested(
        self, request: Request, user: str, groups: Sequence[str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                skip_auto_headers=("Accept", "Content-Type", "User-Agent"), timeout=aiohttp.ClientTimeout(total=60)
            )
        typed = (("Content-Type", request.content_type),) if request.content_type else ()
        response = await self._session.request(
            request.method,
            URL(self._url + request.target, encoded=True),
            data=BytesIO(request.body) if request.body else None,
            headers=(*request.headers, *typed),
            ssl=self._context(user, groups),
        )
        try:
            yield response
        finally:
            response.close()


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    begun = b""
    async for chunk in response.content.iter_any():
        *whole, begun = (begun + chunk).split(b"\n")
        for line in whole:
            yield line
    if begun:
        yield begun


def _user(name: str, groups: Sequence[str]) -> str | User:
    return User(name, (*groups, AUTHENTICATED)) if name else "admin"


def _listed(headers: Mapping[str, str]) -> dict[str, list[str]]:
    return {name: [value] for name, value in headers.items()}


def _all(response: aiohttp.ClientResponse) -> dict[str, list[str]]:
    return {name.lower(): response.headers.getall(name) for name in dict.fromkeys(response.headers)}


def _client_config(base: str, name: str) -> Tree:
    if not handlers.exists(name):
        raise ValueError(f"there is no handler {name}")
    return {"url": f"{base}/{name}", "caBundle": base64.b64encode(authority().certificate).decode()}


@asynccontextmanager
async def handlers_served() -> AsyncIterator[str]:
    """Serves the handlers over HTTPS on the loopback; gives the URL."""

    async def answer(request: web.Request) -> web.Response:
        call = Call(method=request.method, url=str(request.rel_url), body=await request.read())
        reply = await handlers.answer(call)
        return web.Response(status=reply.status, body=reply.body, headers=dict(reply.headers))

    app = web.Application(client_max_size=16 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=await asyncio.to_thread(server_context)).start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
