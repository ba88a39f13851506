"""The embedded cluster behind the request seam, without sockets.

Each call gives way to the loop on the way in and on the way out, for as long as the latency says: other tasks run in
between, and a caller that gives up does not know whether its write was carried out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager

from kubeloop.errors import TransportError
from kubeloop.request import Request, Response
from kubesim.api.writer import with_warnings
from kubesim.auth.rbac import User
from kubesim.draws import Draws
from kubesim.errors import StatusError
from kubesim.requests.handling import JSON, PLAIN, Handler, refusal
from kubesim.requests.pod_logs import Follow
from kubesim.requests.watching import Shared, Watch


class LocalStream:
    """The lines of a log, or the body of a refusal."""

    def __init__(self, status: int, headers: Mapping[str, str], lines: AsyncIterator[bytes]) -> None:
        self.status = status
        self.headers = headers
        self._lines = lines

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._lines


class LocalWatch:
    """The lines of a watch, or its events as they are for whoever shares them."""

    def __init__(self, watch: Watch) -> None:
        self.status = 200
        self.headers = with_warnings(JSON, watch.warnings)
        self._watch = watch
        self._batches = self._giving_way()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for batch in self._batches:
            for each in batch:
                yield each if isinstance(each, bytes) else each.line()

    def batches(self) -> AsyncGenerator[Sequence[bytes | Shared], None]:
        return self._batches

    async def _giving_way(self) -> AsyncGenerator[Sequence[bytes | Shared], None]:
        """Has a turn for others between those that come together and the next."""
        async with aclosing(self._watch.batches()) as batches:
            async for batch in batches:
                yield batch
                if self._watch.has_more():  # else waiting for the next gives way just as well
                    await asyncio.sleep(0)

    async def aclose(self) -> None:
        await self._batches.aclose()


class LocalTransport:
    """A transport for one user; `latency` are the least and most seconds of a round trip."""

    def __init__(
        self, handler: Handler, user: User, *, latency: tuple[float, float] = (0.0, 0.0), draws: Draws
    ) -> None:
        self._handler = handler
        self._user = user
        self._latency = latency
        self._draws = draws
        self._is_far = latency[1] > 0 or not user.is_inside
        """A program of the cluster's own has its answer at once where nothing takes time."""

    async def send(self, request: Request) -> Response:
        if request.timeout is None:
            return await self._answered(request)
        try:
            async with asyncio.timeout(request.timeout):
                return await self._answered(request)
        except TimeoutError:
            raise TransportError(f"{request.method} {request.path}: no answer in {request.timeout} seconds") from None

    def is_prompt(self) -> bool:
        """Whether an answer takes no time: nothing is far, and nobody is asked about anything."""
        return not self._is_far and self._handler.admission.index.is_empty

    async def _answered(self, request: Request) -> Response:
        await self._travel()
        response = await self._handler.answer(request, self._user)
        if self._is_far:
            await self._travel()
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[LocalStream | LocalWatch]:
        await self._travel()
        stream: Watch | Follow | None = None
        try:
            stream = self._handler.watch(request, self._user) or self._handler.follow(request, self._user)
            answer = None if stream is not None else await self._handler.answer(request, self._user)
        except StatusError as error:
            answer = refusal(error)
        await self._travel()
        if stream is None:
            assert answer is not None  # noqa: S101  without a stream there is an answer
            yield LocalStream(answer.status, answer.headers, _once(answer.body))
            return
        try:
            if isinstance(stream, Watch):
                async with aclosing(LocalWatch(stream)) as watch:
                    yield watch
            else:
                async with aclosing(_giving_way(stream)) as lines:
                    yield LocalStream(200, with_warnings(PLAIN, stream.warnings), lines)
        finally:
            stream.close()

    async def _travel(self) -> None:
        await asyncio.sleep(self._draws.between(*self._latency) / 2 if self._latency[1] > 0 else 0)


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _giving_way(stream: Follow) -> AsyncGenerator[bytes, None]:
    """The lines, with a turn for others after each."""
    async with aclosing(stream.lines()) as lines:
        async for line in lines:
            yield line
            await asyncio.sleep(0)
