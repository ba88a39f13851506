"""A fault layer around any transport: what a network, a proxy or an API server may do to us.

A plan is a few lines that read as sentences, or a function from a request and its number to a fault:

    delete pods #3: lost-answer        carried out, but the connection breaks before the answer
    delete pods #3: unanswered         carried out, but no answer until the caller gives up
    delete pods #2: drop               not sent
    get leases: timeout                not sent, and no answer until the caller gives up
    delete pods: duplicate             carried out twice
    patch *: delay 2s                  carried out later
    put statefulsets/status: 409       answered with that status, not carried out; `429 2s` asks to come back then
    watch pods: freeze 5s              its lines are held back for that long after the opening, then delivered
    watch pods 30s-60s: freeze         held back in that span, also those of open watches
    watch pods: lag 0.5s               each line comes that much later
    watch pods: end 30s                the server ends it after that long (without a time: at once)
    watch pods: break 30s              the connection breaks after that long
    watch pods #2-4: 410               the resource version is too old
    watch pods at 30s: 410             told to the watches that are open then

How a line says which calls it means, how often and when is told in `fault_lines`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import NoReturn

import msgspec
from msgspec import Struct

from kubeloop.clock import monotonic
from kubeloop.errors import KubeError, TransportError
from kubeloop.request import Request, Response, Stream, Transport, place_of
from kubesim.fault_lines import Fault, FaultRule, Hook, planned

__all__ = ["Fault", "FaultRule", "Faulty", "Hook"]

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}

JSON = {"content-type": "application/json"}


class Faulty:
    """A transport that fails as planned; lines are tried in order, the first that strikes counts.

    Of lines that bend an open watch all count. What is left to chance is up to the seed and to the line alone.
    """

    def __init__(self, transport: Transport, plan: str | Iterable[str] | Hook = (), *, seed: int = 0) -> None:
        self.calls = 0
        self.writes = 0
        self._transport = transport
        self._hook = plan if callable(plan) else planned(plan, seed=seed)
        self._before: list[Callable[[Request, int], None]] = []
        self._after: list[Callable[[Request, int], None]] = []
        self._frozen: dict[str, asyncio.Event] = {}

    def on_send(
        self,
        before: Callable[[Request, int], None] | None = None,
        after: Callable[[Request, int], None] | None = None,
    ) -> None:
        """Calls with every write that is sent and its number, before it is carried out and after; may raise."""
        self._before += [before] if before else []
        self._after += [after] if after else []

    def freeze(self, plural: str) -> None:
        """Holds back the lines of all watches of a resource, open ones too, until `thaw`."""
        self._frozen.setdefault(plural, asyncio.Event())

    def thaw(self, plural: str) -> None:
        if plural in self._frozen:
            self._frozen.pop(plural).set()

    async def send(self, request: Request) -> Response:
        fault = next(iter(self._struck(request)), None)
        match fault.kind if fault else "":
            case "drop":
                raise TransportError("injected fault: not sent")
            case "timeout":
                await _for_ever()
            case "status" if fault:
                return Response(fault.status, _status(fault), _headers(fault))
            case "delay" if fault:
                await asyncio.sleep(fault.seconds)
            case "duplicate":
                await self._carry_out(request)
        response = await self._carry_out(request)
        match fault.kind if fault else "":
            case "lost-answer":
                raise TransportError("injected fault: the answer was lost")
            case "unanswered":
                await _for_ever()
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._stream(request, self._struck(request))

    async def close(self) -> None:
        close = getattr(self._transport, "close", None)
        if close is not None:
            await close()

    def _struck(self, request: Request) -> tuple[Fault, ...]:
        self.calls += 1
        struck = self._hook(request, self.calls)
        return struck if isinstance(struck, tuple) else () if struck is None else (struck,)

    async def _carry_out(self, request: Request) -> Response:
        if request.method == "GET":
            return await self._transport.send(request)
        self.writes += 1
        number = self.writes
        for before in self._before:
            before(request, number)
        response = await self._transport.send(request)
        for after in self._after:
            after(request, number)
        return response

    @asynccontextmanager
    async def _stream(self, request: Request, faults: tuple[Fault, ...]) -> AsyncIterator[Stream]:
        fault = next((each for each in faults if not each.bends), None)
        match fault.kind if fault else "":
            case "drop" | "lost-answer":
                raise TransportError("injected fault: not opened")
            case "timeout" | "unanswered":
                await _for_ever()
            case "delay" if fault:
                await asyncio.sleep(fault.seconds)
            case "status" if fault:
                yield _refusal(fault)
                return
        async with self._transport.stream(request) as opened:
            bends = [each for each in faults if each.bends]
            bent = Bent(opened, bends, lambda: self._frozen.get(place_of(request.path).plural))
            pump = asyncio.create_task(bent.pump(), name="faults: watch")
            try:
                yield bent
            finally:
                pump.cancel()
                with suppress(asyncio.CancelledError):
                    await pump


class Bent:
    """A watch whose lines come late, not at all or to an early end."""

    def __init__(
        self, opened: Stream, bends: Sequence[Fault], frozen: Callable[[], asyncio.Event | None] = lambda: None
    ) -> None:
        self.status = opened.status
        self.headers: Mapping[str, str] = opened.headers
        self._opened = opened
        self._frozen = frozen
        now = monotonic()
        self._lags = [bend for bend in bends if bend.kind == "lag"]
        self._held = [
            (now, now + bend.seconds) if bend.seconds else (bend.since, bend.until)
            for bend in bends
            if bend.kind == "freeze"
        ]
        ends = [(max(now, bend.since) + bend.seconds, bend) for bend in bends if bend.kind not in ("lag", "freeze")]
        self._end = min(ends, key=lambda end: end[0], default=None)
        self._is_over = False
        self._lines: asyncio.Queue[tuple[float, bytes | KubeError | None]] = asyncio.Queue()

    async def pump(self) -> None:
        """Takes lines as the server sends them, so that each is late by its own time and not by that of all before."""
        try:
            async for line in self._opened:
                self._lines.put_nowait((monotonic(), line))
            self._lines.put_nowait((monotonic(), None))
        except KubeError as error:
            self._lines.put_nowait((monotonic(), error))

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        ends = None if self._end is None else self._end[0]
        try:
            if ends is not None and monotonic() >= ends:
                raise TimeoutError
            async with asyncio.timeout_at(ends):
                line = await self._next()
        except TimeoutError as error:
            line = self._last(error)
        if line is None:
            raise StopAsyncIteration
        return line

    def _last(self, error: TimeoutError) -> bytes | None:
        """What comes at its end: nothing, or once that the version is too old."""
        assert self._end is not None  # noqa: S101  nothing else sets a time
        _, bend = self._end
        if bend.kind == "break":
            raise TransportError("injected fault: the connection broke") from error
        if bend.kind == "end" or self._is_over:
            return None
        self._is_over = True
        return _error_line(bend)

    async def _next(self) -> bytes | None:
        arrived, line = await self._lines.get()
        late = max((bend.seconds for bend in self._lags if bend.since <= arrived < bend.until), default=0.0)
        if arrived + late > monotonic():
            await asyncio.sleep(arrived + late - monotonic())
        while (held := max((end for since, end in self._held if since <= monotonic() < end), default=0.0)) > 0:
            await (_for_ever() if held == math.inf else asyncio.sleep(held - monotonic()))
        while (thawed := self._frozen()) is not None:
            await thawed.wait()
        if isinstance(line, KubeError):
            raise line
        return line


class _Told(Struct):
    """A stream that holds what it has to say."""

    status: int
    headers: Mapping[str, str]
    lines: tuple[bytes, ...]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for line in self.lines:
            yield line


def _refusal(fault: Fault) -> Stream:
    """A watch that fails; one from too old a version opens and says so in its first event, as the API server's does."""
    if fault.status == 410:
        return _Told(200, JSON, (_error_line(fault),))
    return _Told(fault.status, _headers(fault), (_status(fault),))


def _error_line(fault: Fault) -> bytes:
    """The event that ends a watch."""
    return b'{"type":"ERROR","object":' + _status(fault) + b"}"


async def _for_ever() -> NoReturn:
    """Until the caller gives up."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody has the future")


def _status(fault: Fault) -> bytes:
    return msgspec.json.encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "reason": REASONS.get(fault.status, ""),
            "message": "injected fault",
            "code": fault.status,
        }
    )


def _headers(fault: Fault) -> dict[str, str]:
    return JSON | ({"retry-after": f"{fault.seconds:g}"} if fault.seconds else {})
