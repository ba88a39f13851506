"""What lies between one operator process and the cluster.

The network belongs to nobody: what was sent is carried out even if its sender is stopped, gives up or dies meanwhile,
and lines of watches pile up for a process that does not read. Tests keep its delays below the time for which a write
may be under way: what an operator has given up is carried out before anybody may take its place, or never.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from kubeloop.calls import Call, Caller, NoReply, Reply
from kubeloop.errors import KubeError, TransportError
from kubeloop.request import Request, Response, Stream, Transport, place_of
from kubesim.faults import Fault, Faulty, Hook
from tests.chaos.doing import at, doing, is_pass
from tests.chaos.judge import Asked, Judge

T = TypeVar("T")


class _Meta(Struct, frozen=True, rename="camel"):
    resource_version: str = "0"


class _Versioned(Struct, frozen=True):
    metadata: _Meta = _Meta()


class _Line(Struct, frozen=True):
    object: _Versioned
    type: str = ""


_listed = msgspec.json.Decoder(_Versioned)
_line = msgspec.json.Decoder(_Line)


class Plan:
    """The faults to come on one wire."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Callable[[Request], bool], int, Fault]] = []
        self.lag = 0.0
        """Seconds by which lines of watches opened from now on are late."""
        self.struck = 0
        self.usual: Callable[[Request], Fault | None] = lambda _: None
        """The fault of a request that nothing else is planned for."""

    def fail(self, means: Callable[[Request], bool], nth: int, fault: Fault) -> None:
        """The nth request from now on that it means gets the fault."""
        self._waiting.append((means, nth, fault))

    def clear(self) -> None:
        self._waiting.clear()
        self.lag = 0.0
        self.usual = lambda _: None

    def __call__(self, request: Request, _number: int) -> Fault | None:
        left, struck = [], None
        for means, nth, fault in self._waiting:
            counts = means(request)
            if counts and nth == 1 and struck is None:
                struck = fault
                self.struck += 1
            else:
                left.append((means, max(nth - counts, 1), fault))
        self._waiting = left
        if struck is None and (struck := self.usual(request)) is not None:
            self.struck += 1
        if struck is None and self.lag and request.verb == "watch":
            return Fault("lag", self.lag)
        return struck


class Wire:
    """The transport of one operator process; everything that is handed over is told to the judge."""

    def __init__(
        self, process: str, transport: Transport, dial: Caller, judge: Judge, log: Callable[[str], None]
    ) -> None:
        self.plan = Plan()
        hook: Hook = self.plan
        self.faulty = Faulty(transport, hook)
        self.is_dead = False
        """The process has been killed: it cannot send, and nothing is handed to it."""
        self.is_cut = False
        """No connection can be made."""
        self.effects = 0
        self.effects_of: dict[str, list[str]] = {}
        """What was tried, by what was being done."""
        self.at_effect: Callable[[str, int], Coroutine[Any, Any, None]] | None = None
        """Called with every write, call and record before it is sent, and its number."""
        self.after_effect: Callable[[str, int], Coroutine[Any, Any, None]] | None = None
        """Called with every one after it was answered, before its sender knows."""
        self.unread: list[str] = []
        """What was being done when a read failed."""
        self._process = process
        self._dial = dial
        self._judge = judge
        self._log = log
        self._outside: Context = copy_context()
        self._travelling: set[asyncio.Task[Any]] = set()
        self._pipes: set[_Pipe] = set()

    async def send(self, request: Request) -> Response:
        if request.method == "GET":
            return await self._read(request)
        asked: list[Asked | None] = []

        async def write() -> Response:
            self._check(request)
            asked.append(self._judge.asks(self._process, request))
            response = await self._carried(self.faulty.send(request))
            if response.status >= 400:
                self._judge.failed(request)
            if 400 <= response.status < 500:
                self._judge.refused(request)
            return response

        try:
            return await self.effect(request.doing, write)
        finally:
            for each in asked:
                self._judge.answered(each)

    async def _read(self, request: Request) -> Response:
        """What is read in a review is not kept for a pass, nor is a list for which a pass asked itself."""
        place = place_of(request.path)
        try:
            self._check(request)
            response = await self._carried(self.faulty.send(request))
        except KubeError:
            self.unread.append(doing())
            raise
        if response.status != 200:
            self.unread.append(doing())
        elif request.verb == "list" and not doing():
            self._judge.told(self._process, place.plural, _version(_listed.decode(response.body)))
        elif request.verb == "get" and place.plural == "statefulsets" and is_pass(doing()):
            self._judge.read(self._process, response.body)
        return response

    async def effect(self, what: str, send: Callable[[], Awaitable[T]]) -> T:
        """The result of something that changes the world, unless a test wants something else to happen."""
        self.effects += 1
        number = self.effects
        self.effects_of.setdefault(doing(), []).append(what)
        if self.at_effect is not None:
            await self.at_effect(what, number)
        result = await send()
        if self.after_effect is not None:
            await self.after_effect(what, number)
        await self._handing_over()
        return result

    async def call(self, call: Call) -> Reply:
        """A call to a pod; whatever becomes of its sender, the pod hears it."""

        async def dial() -> Reply:
            if self.is_dead:
                raise NoReply("this process is dead")
            self._log(f"{self._process} {call.method} {call.url}")
            return await self._carried(at(doing(), self._dial(call)))

        return await self.effect(f"{call.method} {call.url}", dial)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        self._check(request)
        pipe = _Pipe(self, place_of(request.path).plural)
        pump = self._start(self._pump(request, pipe))
        self._pipes.add(pipe)
        try:
            await pipe.opened.wait()
            await self._handing_over()
            if pipe.status == 0:
                raise TransportError("the watch could not be opened")
            yield pipe
        finally:
            self._pipes.discard(pipe)
            pump.cancel()

    def cut(self) -> None:
        """No connection from now on; open watches break."""
        self.is_cut = True
        for pipe in self._pipes:
            pipe.lines.put_nowait(TransportError("the connection broke"))

    def mend(self) -> None:
        self.is_cut = False

    def told(self, plural: str, line: bytes) -> None:
        event = _line.decode(line)
        if event.type != "ERROR":
            self._judge.told(self._process, plural, _version(event.object))

    async def close(self) -> None:
        """Nothing of it runs afterwards."""
        for task in self._travelling:
            task.cancel()
        await asyncio.gather(*self._travelling, return_exceptions=True)

    def _check(self, request: Request) -> None:
        if self.is_dead:
            raise TransportError("this process is dead")
        body = blake2b(request.body, digest_size=6).hexdigest()
        self._log(f"{self._process} {request.method} {request.target} {body}")
        if self.is_cut:
            raise TransportError("no connection")

    async def _handing_over(self) -> None:
        if self.is_dead:
            await asyncio.Event().wait()

    async def _carried(self, work: Coroutine[Any, Any, T]) -> T:
        """The answer, once the network has it; without it the work goes on."""
        travelling = self._start(work)
        await asyncio.wait([travelling])
        await self._handing_over()
        return travelling.result()

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task: asyncio.Task[T] = self._outside.copy().run(asyncio.get_running_loop().create_task, work)
        self._travelling.add(task)
        task.add_done_callback(self._arrived)
        return task

    def _arrived(self, task: asyncio.Task[Any]) -> None:
        self._travelling.discard(task)
        if not task.cancelled():
            task.exception()  # its sender may be gone

    async def _pump(self, request: Request, pipe: _Pipe) -> None:
        try:
            async with self.faulty.stream(request) as opened:
                pipe.status, pipe.headers = opened.status, opened.headers
                pipe.opened.set()
                async for line in opened:
                    pipe.lines.put_nowait(line)
                pipe.lines.put_nowait(None)
        except KubeError as error:
            pipe.lines.put_nowait(error)
        finally:
            pipe.opened.set()


class _Pipe:
    """An open watch at the operator's end."""

    def __init__(self, wire: Wire, plural: str) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.opened = asyncio.Event()
        self.lines: asyncio.Queue[bytes | KubeError | None] = asyncio.Queue()
        self._wire = wire
        self._plural = plural

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        await asyncio.sleep(0)  # a backlog is read in steps, as from a socket
        line = await self.lines.get()
        if self._wire.is_dead:
            await asyncio.Event().wait()
        if isinstance(line, KubeError):
            raise line
        if line is None:
            raise StopAsyncIteration
        if self.status < 400:
            self._wire.told(self._plural, line)
        return line


def _version(item: _Versioned) -> int:
    return int(item.metadata.resource_version or 0)
