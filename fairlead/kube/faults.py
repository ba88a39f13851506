"""A fault layer around any transport: what a network, a proxy or an API server may do to us.

A plan is a few lines that read as sentences, or a function from a request and its number to a fault:

    delete pods #3: lost-answer        carried out, but the answer never comes
    delete pods #2: drop               not sent
    get leases: timeout                no answer until the caller gives up
    delete pods: duplicate             carried out twice
    patch *: delay 2s                  carried out later
    put statefulsets/status: 409       answered with that status, not carried out; `429 2s` asks to come back then
    watch pods: freeze 5s              its lines are held back for that long after the opening, then delivered
    watch pods: lag 0.5s               each line comes that much later
    watch pods: end 30s                the server ends it after that long (without a time: at once)
    watch pods: break 30s              the connection breaks after that long
    watch pods #2-4: 410               the resource version is too old

The first word is a verb (get list watch create update patch delete), a method (get post put), `write` or `any`. `#3` is
the third call that the line matches, `#2-4` the second to the fourth; without a number every one.
A resource without a subresource is that alone; `pods/*` has all of its subresources, `*` is everything.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from fairlead.kube.clock import monotonic
from fairlead.kube.errors import KubeError, TransportError
from fairlead.kube.request import Request, Response, Stream, Transport, place_of

Kind = Literal[
    "status", "lost-answer", "drop", "timeout", "delay", "duplicate", "freeze", "lag", "end", "break"
]  # fmt: skip
KINDS: tuple[str, ...] = get_args(Kind)
FOR_WATCHES = ("freeze", "lag", "end", "break")
NEED_SECONDS = ("delay", "freeze", "lag")
VERBS = ("any", "write", "get", "list", "watch", "create", "update", "patch", "delete", "post", "put")
LINE = re.compile(
    r"(?P<verb>[a-z]+)(?:\s+(?P<resource>[a-z*][a-z0-9.*/]*))?(?:\s+#(?P<first>\d+)(?:-(?P<last>\d+))?)?"
    r"\s*:\s*(?P<what>[a-z-]+|\d{3})(?:\s+(?P<seconds>\d+(?:\.\d+)?)s)?"
)
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


class Fault(Struct, frozen=True):
    kind: Kind
    seconds: float = 0.0
    status: int = 0


Hook = Callable[[Request, int], Fault | None]
"""The fault of a request, given how many were sent up to it (the first is 1)."""


class Rule:
    """One line of a plan, and how many calls it has matched."""

    def __init__(self, line: str) -> None:
        parts = LINE.fullmatch(line.strip())
        if parts is None:
            raise ValueError(f"{line!r} is not a fault: write it like 'delete pods #3: lost-answer'")
        self.verb = parts["verb"]
        resource: str = parts["resource"] or "*"
        self.plural, _, self.subresource = resource.partition("/")
        self.first = int(parts["first"] or 1)
        self.last = int(parts["last"] or parts["first"] or 0)
        self.fault = _fault(line, parts["what"], float(parts["seconds"] or 0))
        self.matched = 0
        if self.verb not in VERBS:
            raise ValueError(f"{line!r} begins with no verb of {', '.join(VERBS)}")
        if self.fault.kind in FOR_WATCHES and self.verb != "watch":
            raise ValueError(f"{line!r}: {self.fault.kind} is for watches only")

    def struck(self, request: Request) -> Fault | None:
        """The fault, when the request is one of those that the line means."""
        if not (self._means_verb(request) and self._means_resource(request)):
            return None
        self.matched += 1
        return self.fault if self.first <= self.matched <= (self.last or self.matched) else None

    def _means_verb(self, request: Request) -> bool:
        if self.verb == "any":
            return True
        if self.verb == "write":
            return request.method != "GET"
        method = request.method.lower()
        return self.verb == request.verb or (request.verb != "watch" and self.verb == method)

    def _means_resource(self, request: Request) -> bool:
        place = place_of(request.path)
        if self.plural == "*" and not self.subresource:
            return True
        return self.plural in ("*", place.plural) and (
            self.subresource == place.subresource or (self.subresource == "*" and bool(place.subresource))
        )


def _fault(line: str, what: str, seconds: float) -> Fault:
    if what.isdigit():
        return Fault("status", seconds, int(what))
    if what not in KINDS[1:]:
        raise ValueError(f"{line!r} names no fault of {', '.join(KINDS[1:])} or a status")
    if what in NEED_SECONDS and not seconds:
        raise ValueError(f"{line!r} needs a time: '{what} 2s'")
    return Fault(msgspec.convert(what, Kind), seconds)


class Faulty:
    """A transport that fails as planned; lines are tried in order, the first that strikes counts."""

    def __init__(self, transport: Transport, plan: str | Iterable[str] | Hook = ()) -> None:
        self.calls = 0
        self.writes = 0
        self._transport = transport
        self._hook = plan if callable(plan) else _planned(plan)
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
        fault = self._struck(request)
        match fault.kind if fault else "":
            case "drop":
                raise TransportError("injected fault: not sent")
            case "timeout":
                await asyncio.get_running_loop().create_future()
            case "status" if fault:
                return Response(fault.status, _status(fault), _headers(fault))
            case "delay" if fault:
                await asyncio.sleep(fault.seconds)
            case "duplicate":
                await self._carry_out(request)
        response = await self._carry_out(request)
        if fault is not None and fault.kind == "lost-answer":
            raise TransportError("injected fault: the answer was lost")
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._stream(request, self._struck(request))

    async def close(self) -> None:
        close = getattr(self._transport, "close", None)
        if close is not None:
            await close()

    def _struck(self, request: Request) -> Fault | None:
        self.calls += 1
        return self._hook(request, self.calls)

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
    async def _stream(self, request: Request, fault: Fault | None) -> AsyncIterator[Stream]:
        match fault.kind if fault else "":
            case "drop" | "lost-answer":
                raise TransportError("injected fault: not opened")
            case "timeout":
                await asyncio.get_running_loop().create_future()
            case "delay" if fault:
                await asyncio.sleep(fault.seconds)
            case "status" if fault:
                yield _refusal(fault)
                return
        async with self._transport.stream(request) as opened:
            bent = Bent(opened, fault, lambda: self._frozen.get(place_of(request.path).plural))
            pump = asyncio.create_task(bent.pump(), name="faults: watch")
            try:
                yield bent
            finally:
                pump.cancel()
                with suppress(asyncio.CancelledError):
                    await pump


class Bent:
    """A watch whose lines come late, not at all or to an early end."""

    def __init__(self, opened: Stream, fault: Fault | None, frozen: Callable[[], asyncio.Event | None]) -> None:
        self.status = opened.status
        self.headers: Mapping[str, str] = opened.headers
        self._opened = opened
        self._fault = fault or Fault("lag")
        self._frozen = frozen
        self._since = monotonic()
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
        ends = self._since + self._fault.seconds if self._fault.kind in ("end", "break") else None
        try:
            if ends is not None and monotonic() >= ends:
                raise TimeoutError
            async with asyncio.timeout_at(ends):
                line = await self._next()
        except TimeoutError as error:
            if self._fault.kind == "break":
                raise TransportError("injected fault: the connection broke") from error
            line = None
        if line is None:
            raise StopAsyncIteration
        return line

    async def _next(self) -> bytes | None:
        arrived, line = await self._lines.get()
        due = arrived
        if self._fault.kind == "lag":
            due = arrived + self._fault.seconds
        elif self._fault.kind == "freeze":
            due = max(arrived, self._since + self._fault.seconds)
        if due > monotonic():
            await asyncio.sleep(due - monotonic())
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
        return _Told(200, {}, (b'{"type":"ERROR","object":' + _status(fault) + b"}",))
    return _Told(fault.status, _headers(fault), (_status(fault),))


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
    return {"retry-after": f"{fault.seconds:g}"} if fault.seconds else {}


def _planned(plan: str | Iterable[str]) -> Hook:
    lines = plan.splitlines() if isinstance(plan, str) else plan
    rules = [Rule(line) for line in lines if line.strip()]

    def hook(request: Request, _number: int) -> Fault | None:
        # Every rule counts, also behind one that strikes.
        struck = [rule.struck(request) for rule in rules]
        return next((fault for fault in struck if fault is not None), None)

    return hook
