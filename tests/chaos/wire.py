"""What lies between one operator process and the cluster.

The network belongs to nobody: what was sent is carried out even if its sender is stopped, gives up or dies meanwhile,
and lines of watches pile up for a process that does not read. Tests keep its delays below the time for which a write
may be under way: what an operator has given up is carried out before anybody may take its place, or never.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from contextvars import Context, copy_context
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from fairlead.kube.errors import KubeError, TransportError
from fairlead.kube.faults import Fault, Faulty, Hook
from fairlead.kube.request import Request, Response, Stream, Transport, place_of
from tests.chaos.judge import Judge

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

    def fail(self, means: Callable[[Request], bool], nth: int, fault: Fault) -> None:
        """The nth request from now on that it means gets the fault."""
        self._waiting.append((means, nth, fault))

    def clear(self) -> None:
        self._waiting.clear()
        self.lag = 0.0

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
        if struck is None and self.lag and request.verb == "watch":
            return Fault("lag", self.lag)
        return struck


class Wire:
    """The transport of one operator process; everything that is handed over is told to the judge."""

    def __init__(self, process: str, transport: Transport, judge: Judge, log: Callable[[str], None]) -> None:
        self.plan = Plan()
        hook: Hook = self.plan
        self.faulty = Faulty(transport, hook)
        self.is_dead = False
        """The process has been killed: it cannot send, and nothing is handed to it."""
        self.is_cut = False
        """No connection can be made."""
        self.writes = 0
        self.at_write: Callable[[Request, int], Coroutine[Any, Any, None]] | None = None
        """Called with every write before it is sent, and its number."""
        self.after_write: Callable[[Request, int], Coroutine[Any, Any, None]] | None = None
        """Called with every write after it was answered, before its sender knows."""
        self._process = process
        self._judge = judge
        self._log = log
        self._outside: Context = copy_context()
        self._travelling: set[asyncio.Task[Any]] = set()
        self._pipes: set[_Pipe] = set()

    async def send(self, request: Request) -> Response:
        self._check(request)
        if request.method == "GET":
            response = await self._carried(self.faulty.send(request))
            place = place_of(request.path)
            if request.verb == "list" and response.status == 200:
                self._judge.told(self._process, place.plural, _version(_listed.decode(response.body)))
            elif place.plural == "statefulsets" and response.status == 200:
                self._judge.read(self._process, response.body)
            return response
        self.writes += 1
        number = self.writes
        if self.at_write is not None:
            await self.at_write(request, number)
            self._check(request)
        asked = self._judge.asks(self._process, request)
        try:
            response = await self._carried(self.faulty.send(request))
            if self.after_write is not None:
                await self.after_write(request, number)
            await self._handing_over()
            return response
        finally:
            self._judge.answered(asked)

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
