"""The embedded cluster behind the request seam, without sockets.

Each call gives way to the loop on the way in and on the way out, for as long as the latency says: other tasks run in
between, and a caller that gives up does not know whether its write was carried out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

from fairlead.kube.errors import TransportError
from fairlead.kube.request import Request, Response
from fairlead.sim.access import User
from fairlead.sim.clerk import with_warnings
from fairlead.sim.errors import StatusError
from fairlead.sim.request import JSON, Handler, refusal
from fairlead.sim.time import Draws
from fairlead.sim.watching import Watch


class LocalStream:
    """The lines of a watch, or the body of a refusal."""

    def __init__(self, status: int, headers: Mapping[str, str], lines: AsyncIterator[bytes]) -> None:
        self.status = status
        self.headers = headers
        self._lines = lines

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._lines


class LocalTransport:
    """A transport for one user; `latency` are the least and most seconds of a round trip."""

    def __init__(
        self, handler: Handler, user: User, *, latency: tuple[float, float] = (0.0, 0.0), draws: Draws
    ) -> None:
        self._handler = handler
        self._user = user
        self._latency = latency
        self._draws = draws

    async def send(self, request: Request) -> Response:
        try:
            async with asyncio.timeout(request.timeout):
                await self._travel()
                response = await self._handler.answer(request, self._user)
                await self._travel()
        except TimeoutError:
            raise TransportError(f"{request.method} {request.path}: no answer in {request.timeout} seconds") from None
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[LocalStream]:
        await self._travel()
        watch: Watch | None = None
        try:
            watch = self._handler.watch(request, self._user)
            answer = None if watch is not None else await self._handler.answer(request, self._user)
        except StatusError as error:
            answer = refusal(error)
        await self._travel()
        if watch is None:
            assert answer is not None  # noqa: S101  without a watch there is an answer
            yield LocalStream(answer.status, answer.headers, _once(answer.body))
            return
        try:
            async with aclosing(_giving_way(watch)) as lines:
                yield LocalStream(200, with_warnings(JSON, watch.warnings), lines)
        finally:
            watch.close()

    async def _travel(self) -> None:
        await asyncio.sleep(self._draws.between(*self._latency) / 2)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _giving_way(watch: Watch) -> AsyncGenerator[bytes, None]:
    """The lines, with a turn for others before each: a backlog is read in steps, as from a socket."""
    async with aclosing(watch.lines()) as lines:
        async for line in lines:
            await asyncio.sleep(0)
            yield line
