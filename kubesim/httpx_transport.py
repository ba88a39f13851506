"""Clients that are built on httpx, in virtual time: their requests are answered within the process.

`async_transport(httpx, world.cluster.transport())` is a transport for clients that take one; within
`every_client(httpx, …)` those have it, too, that take none. The library is an argument: one with the same names
(`httpx2`) does as well, and neither is needed by whoever uses none.

What sockets would do it does as well: time-outs of reading count, by the clock of the loop; a connection that breaks
is the library's `ReadError`. What it cannot do: connections that are upgraded, for `exec`, `attach` and `portforward`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from types import ModuleType
from typing import Any

from kubeloop.errors import TransportError
from kubeloop.request import Request, Transport
from kubesim.api.writer import header_lines
from kubesim.connections import HOST, KUBECONFIG
from kubesim.requests.reading import flag_of, options_of
from kubesim.time import RealWorld

__all__ = ["HOST", "KUBECONFIG", "async_transport", "every_client"]


def async_transport(httpx: ModuleType, transport: Transport) -> Any:
    """An `AsyncBaseTransport` of the library; `transport` is a cluster's, or one that fails as planned."""

    loop = _running_loop()

    class ClusterTransport(httpx.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        async def handle_async_request(self, request: Any) -> Any:
            _check_loop(loop)
            return await _answered(httpx, transport, request)

    return ClusterTransport()


@contextmanager
def every_client(httpx: ModuleType, transport: Transport) -> Iterator[None]:
    """Within it all async clients of the library that were given no transport have this one for the host of KUBECONFIG.

    It does not matter when they were made; calls to other hosts go where they went before.
    """
    before, loop = httpx.AsyncHTTPTransport.handle_async_request, _running_loop()

    async def handle(own: Any, request: Any) -> Any:
        if request.url.host == HOST:
            _check_loop(loop)
            return await _answered(httpx, transport, request)
        return await before(own, request)

    httpx.AsyncHTTPTransport.handle_async_request = handle
    try:
        yield
    finally:
        httpx.AsyncHTTPTransport.handle_async_request = before


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _check_loop(loop: asyncio.AbstractEventLoop | None) -> None:
    """Refuses clients that hide asyncio in a thread: they would reach into the cluster from there."""
    if loop not in (None, asyncio.get_running_loop()):
        raise RealWorld("a client asks from another event loop than the scenario's: use the client's form for asyncio")


async def _answered(httpx: ModuleType, transport: Transport, request: Any) -> Any:
    """The library's response; that of a watch, or of a log that is followed, is open."""
    ours = await _translated(request)
    with _in_words_of(httpx, request):
        async with asyncio.timeout(_patience(request)):
            if not _is_streamed(ours):
                answer = await transport.send(ours)
                return httpx.Response(answer.status, headers=header_lines(answer.headers), content=answer.body)
            opened = AsyncExitStack()
            stream = await opened.enter_async_context(transport.stream(ours))
    lines = _lines(httpx, request, stream if _asks(ours, "follow") else _separated(stream), opened)
    return httpx.Response(stream.status, headers=header_lines(stream.headers), stream=lines)


def _lines(httpx: ModuleType, request: Any, stream: AsyncIterable[bytes], opened: AsyncExitStack) -> Any:
    """The stream as the library reads one; closing it leaves what was opened for it."""

    class Lines(httpx.AsyncByteStream):  # type: ignore[misc, name-defined]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            with _in_words_of(httpx, request):
                lines = aiter(stream)
                while (line := await _next(lines, _patience(request))) is not None:
                    yield line

        async def aclose(self) -> None:
            await opened.aclose()

    return Lines()


async def _next(lines: AsyncIterator[bytes], patience: float | None) -> bytes | None:
    async with asyncio.timeout(patience):
        return await anext(lines, None)


async def _translated(request: Any) -> Request:
    return Request(
        request.method,
        request.url.raw_path.partition(b"?")[0].decode("ascii"),
        query=tuple(request.url.params.multi_items()),
        body=await request.aread(),
        content_type=request.headers.get("content-type", ""),
        headers=tuple(request.headers.multi_items()),
    )


async def _separated(events: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Events of a watch, each on a line of its own."""
    async for event in events:
        yield event if event.endswith(b"\n") else event + b"\n"


def _is_streamed(request: Request) -> bool:
    return request.method == "GET" and (_asks(request, "watch") or _asks(request, "follow"))


def _asks(request: Request, option: str) -> bool:
    return bool(flag_of(options_of(request), option))


def _patience(request: Any) -> float | None:
    """Seconds for which the client waits for an answer, or for the next line."""
    seconds: float | None = request.extensions.get("timeout", {}).get("read")
    return seconds


@contextmanager
def _in_words_of(httpx: ModuleType, request: Any) -> Iterator[None]:
    """Failures are the library's own, as its clients expect them."""
    try:
        yield
    except TimeoutError as error:
        raise httpx.ReadTimeout(f"no answer in {_patience(request):g} seconds", request=request) from error
    except TransportError as error:
        raise httpx.ReadError(str(error), request=request) from error
