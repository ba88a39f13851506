"""Typed calls over a transport: deadlines, retries, the write gate, the rate limit, errors that say what was done.

A write is sent at most once unless the server itself said that it did nothing and when to come back: after a lost
answer its outcome is unknown, and only the caller can find out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from copy import copy
from typing import Generic, NoReturn, TypeVar

import msgspec
from msgspec import Struct

from kubeloop.clock import monotonic
from kubeloop.decoding import decoded
from kubeloop.errors import ApiError, Garbled, Gone, TransportError, error_of
from kubeloop.objects.meta import Ref, Resource
from kubeloop.rate_limit import Limiter
from kubeloop.request import Request, Response, Stream, Transport, get, list_page

T = TypeVar("T")

LEAST_WAIT = 0.1
"""Seconds before a retry where the server asks for fewer, so that `Retry-After: 0` is not a busy loop."""


class Listed(Struct, Generic[T], frozen=True):
    """A whole list; a watch may start at its resource version."""

    items: list[T]
    resource_version: str


class Page(Struct, Generic[T], frozen=True):
    """A part of a list; `token` leads to the next one and is empty on the last."""

    items: list[T]
    resource_version: str
    token: str
    remaining: int | None = None
    """Items behind this page, about; None where the server does not say."""


_OF_PAGE = {"resource_version": "resourceVersion", "token": "continue", "remaining": "remainingItemCount"}


class _PageMeta(Struct, frozen=True, rename=_OF_PAGE):
    resource_version: str = ""
    token: str = ""
    remaining: int | None = None


class _Page(Struct, Generic[T]):
    metadata: _PageMeta = _PageMeta()
    items: list[T] | None = None


class Client:
    """Calls to one cluster in one name.

    `gate` is called immediately before every request but a GET is sent, retries included, and may raise NotLeader.
    `observe` hears of each request sent: its status, None without an answer, and the seconds it took.
    `heard` hears of each answer: None where the request was carried out, else the refusal.
    `timeout` is for requests that name none; it covers the rate limit, the waits and the retries of a call.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        user_agent: str = "kubeloop",
        limiter: Limiter | None = None,
        gate: Callable[[], None] | None = None,
        timeout: float = 30.0,
        headers: tuple[tuple[str, str], ...] = (),
        observe: Callable[[Request, int | None, float], None] | None = None,
        heard: Callable[[Request, ApiError | None], None] = lambda *_: None,
    ) -> None:
        self.timeout = timeout
        self._transport = transport
        self._is_prompt: Callable[[], bool] = getattr(transport, "is_prompt", lambda: False)
        """Whether an answer takes no time, so that there is nothing to wait for."""
        self.limiter = limiter
        self._gate = gate
        self._headers = (("User-Agent", user_agent), ("Accept", "application/json"), *headers)
        self._observe = observe
        self._heard = heard

    async def call(self, request: Request) -> Response:
        """The answer; raises one of `kubeloop.errors` for a failure, after the retries that the server asks for."""
        outgoing, deadline, seconds = self._outgoing(request)
        reads = request.method == "GET"
        lost = 0
        while True:
            if self.limiter is not None or self._gate is not None:
                await self._admit(outgoing, deadline)
            try:
                response = await self._send(outgoing, deadline)
            except TransportError as error:
                # A connection that the server closed while idle shows only when it is used again.
                if reads and not lost and monotonic() < deadline:
                    lost += 1
                    continue
                _no_answer(request, str(error), error)
            except TimeoutError as error:
                _no_answer(request, f"no answer within {seconds:g} seconds", error)
            if response.status < 400:
                self._heard(request, None)
                return response
            refusal = error_of(response, request.doing)
            self._heard(request, refusal)
            if not request.retry_when_throttled:
                raise refusal
            await self._pause(refusal, deadline)

    async def read(self, ref: Ref, into: type[T], subresource: str = "") -> T:
        """The object that `ref` names; its UID is not compared."""
        request = get(ref, subresource)
        return decoded((await self.call(request)).body, into, request.doing)

    async def list(
        self,
        resource: Resource,
        into: type[T],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        page: int = 500,
        metadata_only: bool = False,
    ) -> Listed[T]:
        """All objects in pages of `page` (0: at once); when a token expires between pages, all at once."""
        limit, token = page, ""
        items: list[T] = []
        while True:
            request = list_page(
                resource, namespace, labels, fields, limit=limit, token=token, metadata_only=metadata_only
            )
            try:
                part = await self.page(request, into)
            except Gone:
                if not token:
                    raise
                limit, token = 0, ""
                items.clear()
                continue
            items.extend(part.items)
            token = part.token
            if not token:
                return Listed(items, part.resource_version)

    async def page(self, request: Request, into: type[T]) -> Page[T]:
        """One page of a list; raises Gone when the server no longer knows its token."""
        part = decoded((await self.call(request)).body, _Page[into], request.doing)  # type: ignore[valid-type]
        if not part.metadata.resource_version:
            raise Garbled(f"{request.doing}: the answer has no resource version: it is none of the API server's")
        found = part.metadata
        return Page(part.items or [], found.resource_version, found.token, found.remaining)

    def within(self, seconds: float) -> Client:
        """The same client, its limit and its gate, for calls that must be over in so many seconds."""
        hurried = copy(self)
        hurried.timeout = min(self.timeout, seconds)
        return hurried

    def uncounted(self) -> Client:
        """The same client, with its gate, for calls that neither wait for the rate limit nor use it up."""
        free = copy(self)
        free.limiter = None
        return free

    def gated(self, gate: Callable[[], None]) -> Client:
        """The same client, for calls that pass this gate as well as its own."""
        guarded = copy(self)
        guarded._gate = gate if self._gate is None else _both(self._gate, gate)  # noqa: SLF001  (of the same class)
        return guarded

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """An open watch; raises ApiError at once for a failure status. The deadline covers the opening only."""
        return self._stream(request)

    async def close(self) -> None:
        """Closes the transport, if it is one that can be closed."""
        close = getattr(self._transport, "close", None)
        if close is not None:
            await close()

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[Stream]:
        outgoing, deadline, seconds = self._outgoing(request)
        await self._admit(outgoing, deadline)
        async with AsyncExitStack() as stack:
            started = monotonic()
            status: int | None = None
            try:
                async with asyncio.timeout_at(deadline):
                    opened = await stack.enter_async_context(self._transport.stream(outgoing))
                    status = opened.status
                    body = b"\n".join([line async for line in opened]) if status >= 400 else b""
            except TransportError as error:
                _no_answer(request, str(error), error)
            except TimeoutError as error:
                _no_answer(request, f"no answer within {seconds:g} seconds", error)
            finally:
                self._tell(request, status, started)
            refusal = error_of(Response(status, body, opened.headers), request.doing) if status >= 400 else None
            self._heard(request, refusal)
            if refusal is not None:
                raise refusal
            yield opened

    def _outgoing(self, request: Request) -> tuple[Request, float, float]:
        seconds = self.timeout if request.timeout is None else request.timeout
        headers = self._headers
        if request.headers:
            given = {name.lower() for name, _ in request.headers}
            headers = (*(pair for pair in headers if pair[0].lower() not in given), *request.headers)
        return msgspec.structs.replace(request, headers=headers), monotonic() + seconds, seconds

    async def _admit(self, request: Request, deadline: float) -> None:
        """Waits for the rate limit, then asks the gate: nothing may be awaited between the gate and the sending."""
        if self.limiter is not None:
            await self.limiter.take(request, deadline)
        if self._gate is not None and request.method != "GET":
            self._gate()

    async def _send(self, request: Request, deadline: float) -> Response:
        if self._observe is None and self._is_prompt():
            return await self._transport.send(request)
        started = monotonic()
        status: int | None = None
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._transport.send(request)
            status = response.status
            return response
        finally:
            self._tell(request, status, started)

    async def _pause(self, error: ApiError, deadline: float) -> None:
        """Waits as long as the server asks; raises the error when it does not ask or the deadline is sooner."""
        if error.status not in (429, 503) or error.retry_after is None:
            raise error
        wait = max(error.retry_after, LEAST_WAIT)
        if monotonic() + wait >= deadline:
            raise error
        await asyncio.sleep(wait)

    def _tell(self, request: Request, status: int | None, started: float) -> None:
        if self._observe is not None:
            self._observe(request, status, monotonic() - started)


def _no_answer(request: Request, why: str, cause: Exception) -> NoReturn:
    outcome = "" if request.method == "GET" else "; whether it was carried out is not known"
    raise TransportError(f"{request.doing}: {why}{outcome}") from cause


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def gate() -> None:
        first()
        second()

    return gate
