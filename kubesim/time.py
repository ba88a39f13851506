"""Virtual time for asyncio, repeatable by seed.

When nothing is ready the clock jumps to the next timer, so twelve hours of waiting cost nothing. Among ready callbacks
the one with the lowest lot runs next. A lot is drawn from the seed, the task and how often that task has run; a task is
known by its parent and by which child of it it is. Neither memory addresses (task groups keep their tasks in sets) nor
the order of arrival nor tasks elsewhere have a say: the same seed gives the same run in every process.

Sockets, threads and subprocesses belong to the real world and are refused, but for connections to hosts that are within
the process; work for a thread is done inline, in no time.
"""

from __future__ import annotations

import asyncio
import gc
import selectors
import socket
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from datetime import UTC, datetime, timedelta
from heapq import heapify, heappop, heappush
from typing import Any, TypeVar, TypeVarTuple, Unpack

from kubesim.connections import Connections
from kubesim.draws import MASK, STEP, Draws, lot, mixed, stream

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

START = datetime(2030, 1, 1, tzinfo=UTC)
# Cancelled timers stay in the heap until their time comes or until they are this many and more than half of it.
CANCELLED_TIMERS = 100
# Steps allowed after the limit was hit, so that cancelled tasks can still clean up.
CLEANUP_STEPS = 100_000
# Steps at one instant before a run is taken to go round in circles: a hundred for each pod of the largest clusters.
STANDSTILL_STEPS = 10_000_000
# Steps that are watched after that, to know who takes them.
WATCHED_STEPS = 1_000
INTRUDED = "is a thread, and called into virtual time; do without threads there"
INTRUDED_STEPS = 1_000
UNCONNECTED = "a connection was to be opened in virtual time; use the in-process transport"
GC_THRESHOLD = (100_000, 20, 100)


class Deadlock(RuntimeError):
    """Nothing is ready and no timer is set: every task waits for something that cannot happen."""


class Livelock(RuntimeError):
    """More steps were taken than the run was allowed, in all or without the clock moving."""


class RealWorld(RuntimeError):
    """Sockets, threads and subprocesses have no place in virtual time; use the in-process transport."""


class _Owner:
    """Who draws lots: a task for its own steps, and for the callbacks and timers that were set up while it ran."""

    __slots__ = ("callbacks", "children", "identity", "steps")

    def __init__(self, identity: int, seed: int | None) -> None:
        self.identity = identity
        self.steps = stream(seed or 0, identity)
        """Where its own steps, and those of its callbacks, stand in their streams."""
        self.callbacks = stream(seed or 0, ~identity & MASK)
        self.children = 0


_owner: ContextVar[_Owner] = ContextVar("owner")


class _OwningTask(asyncio.Task[T]):
    """A task that knows its owner record before its first step is queued."""

    def __init__(
        self,
        coro: Coroutine[Any, Any, T],
        *,
        loop: asyncio.AbstractEventLoop,
        name: str,
        context: Context | None,
        owner: _Owner,
    ) -> None:
        self.owner = owner
        super().__init__(coro, loop=loop, name=name, context=context)


class _Ready:
    """Stands in for the loop's queue of ready callbacks: the lowest lot comes first."""

    def __init__(self, seed: int | None, root: _Owner) -> None:
        self._seed = seed
        self._root = root
        self._heap: list[tuple[int, int, asyncio.Handle]] = []
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._heap)

    def clear(self) -> None:
        self._heap.clear()

    def append(self, handle: asyncio.Handle) -> None:
        self._arrivals += 1
        number = 0
        if self._seed is not None:
            task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]  # noqa: SLF001
            if type(task) is _OwningTask:
                owner = task.owner
                number = owner.steps = (owner.steps + STEP) & MASK
            else:
                owner = handle._context.get(_owner, self._root)  # type: ignore[attr-defined]  # noqa: SLF001
                number = owner.callbacks = (owner.callbacks + STEP) & MASK
            number = mixed(number)
        heappush(self._heap, (number, self._arrivals, handle))

    def popleft(self) -> asyncio.Handle:
        return heappop(self._heap)[2]


class _NoFiles(selectors.BaseSelector):
    """Takes the loop's own wake-up pipe, which nobody writes to, and nothing else."""

    def __init__(self) -> None:
        self._files: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if self._files:
            raise RealWorld("a file or socket was opened in virtual time; use the in-process transport")
        self._files[fileobj] = selectors.SelectorKey(fileobj, 0, events, data)
        return self._files[fileobj]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._files.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._files


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still while anything is ready; without a seed, callbacks run as they arrive.

    `steps` limits how many callbacks may run, `standstill` how many at the same instant.
    """

    is_virtual = True
    """Says so to `kubeloop.clock`."""

    def __init__(
        self,
        seed: int | None = 0,
        *,
        start: datetime = START,
        steps: int | None = None,
        standstill: int = STANDSTILL_STEPS,
    ) -> None:
        super().__init__(_NoFiles())
        self.seed = seed
        self.steps = 0
        self._limit = steps
        self._standstill = standstill
        self._most_here = standstill
        """How many steps may have been taken before the clock moves on."""
        self.connections = Connections()
        """Hosts that are within the process; all others are refused."""
        self._intrusion: RealWorld | None = None
        """What a thread has tried, which has no place here."""
        self._turning: Counter[str] = Counter()
        """Who took steps since there were too many at this instant."""
        self._start = start
        self._now = 0.0
        self._wall_at, self._wall = 0.0, start
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers_made = 0
        self._timers_cancelled = 0
        self._tasks_made = 0
        self._root = _Owner(0, seed)
        self._ready = _Ready(seed, self._root)
        self._jitter = Draws(seed, "jitter")

    def time(self) -> float:
        return self._now

    def wall(self) -> datetime:
        """Time of day; the same object for as long as it does not change."""
        if self._wall_at != self._now:
            self._wall_at, self._wall = self._now, self._start + timedelta(seconds=self._now)
        return self._wall

    def jump(self, seconds: float) -> None:
        """Sets the time of day forward, or back; what waits for the loop's own time waits as long as before."""
        self._start += timedelta(seconds=seconds)
        self._wall_at = -1.0

    def draw(self) -> int:
        """A seed for something that is left to chance."""
        return self._jitter.integer()

    def create_task(
        self, coro: Any, *, name: object = None, context: Context | None = None, **_: object
    ) -> asyncio.Task[Any]:
        running = asyncio.current_task(self)
        parent = running.owner if isinstance(running, _OwningTask) else _owner.get(self._root)
        parent.children += 1
        owner = _Owner(lot(parent.identity, 1, parent.children), self.seed)
        if context is None:
            context = copy_context()
            context.run(_owner.set, owner)
        self._tasks_made += 1
        name = f"task-{self._tasks_made}" if name is None else str(name)
        return _OwningTask(coro, loop=self, name=name, context=context, owner=owner)

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        handle._scheduled = True  # type: ignore[attr-defined]  # noqa: SLF001
        self._timers_made += 1
        heappush(self._timers, (when, self._timers_made, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        if not handle._scheduled:  # type: ignore[attr-defined]  # noqa: SLF001
            return
        self._timers_cancelled += 1
        if self._timers_cancelled > max(CANCELLED_TIMERS, len(self._timers) // 2):
            self._timers[:] = [timer for timer in self._timers if not timer[2].cancelled()]
            heapify(self._timers)
            self._timers_cancelled = 0

    def _run_once(self) -> None:
        """One callback; before that, when none is ready, the jump to the next timer."""
        timers, ready = self._timers, self._ready
        if timers and timers[0][2]._cancelled:  # noqa: SLF001
            self._drop_cancelled_timers()
        if timers:
            if not ready and timers[0][0] > self._now:
                self._now = timers[0][0]
                self._most_here = self.steps + self._standstill
            while timers and timers[0][0] <= self._now:
                ready.append(self._pop_timer())
                self._drop_cancelled_timers()
        elif not ready:
            raise self._intrusion or Deadlock(f"no task can ever run again; waiting: {self._waiting() or 'nobody'}")
        handle = ready.popleft()
        if handle._cancelled:  # noqa: SLF001
            return
        self.steps += 1
        if self._limit is not None and self.steps > self._limit:
            limit, self._limit = self._limit, self.steps + CLEANUP_STEPS
            ready.append(handle)
            if self._intrusion is not None:
                raise self._intrusion
            raise Livelock(f"{limit} steps were taken and {self._now} seconds have passed; running: {self._waiting()}")
        if self.steps > self._most_here:
            self._go_round(handle)
        handle._run()  # noqa: SLF001

    def _go_round(self, handle: asyncio.Handle) -> None:
        """Notes who goes on at an instant that has had too many steps, and raises once that is known."""
        task = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]  # noqa: SLF001
        self._turning[task.get_name() if isinstance(task, asyncio.Task) else "a callback"] += 1
        if self._turning.total() < WATCHED_STEPS:
            return
        busiest = ", ".join(f"{name} ({times})" for name, times in self._turning.most_common(10))
        self._turning.clear()
        taken, self._most_here = self._standstill, self.steps + CLEANUP_STEPS
        self._ready.append(handle)
        raise Livelock(
            f"{taken} steps were taken and the clock stands at {self._now} seconds; "
            f"of the next {WATCHED_STEPS} these took most: {busiest}"
        )

    def _drop_cancelled_timers(self) -> None:
        while self._timers and self._timers[0][2].cancelled():
            self._pop_timer()
            self._timers_cancelled -= 1

    def _pop_timer(self) -> asyncio.TimerHandle:
        handle = heappop(self._timers)[2]
        handle._scheduled = False  # type: ignore[attr-defined]  # noqa: SLF001
        return handle

    def _waiting(self) -> str:
        """Which tasks are unfinished and where they stand."""
        lines = []
        for task in asyncio.all_tasks(self):
            frames = task.get_stack(limit=1)
            where = f" at {frames[0].f_code.co_filename}:{frames[0].f_lineno}" if frames else ""
            lines.append(f"{task.get_name()}{where}")
        return ", ".join(sorted(lines))

    def run_in_executor(self, executor: object, func: Callable[[Unpack[Ts]], T], *args: *Ts) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  the caller gets whatever the work raised, as from a thread
            future.set_exception(error)
        return future

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if self._thread_id not in (None, threading.get_ident()):  # type: ignore[attr-defined]
            # Whoever waits for the thread would wait for ever, so the run ends soon unless it is about to.
            self._intrusion = RealWorld(f"{threading.current_thread().name} {INTRUDED}")
            self._limit = self.steps + INTRUDED_STEPS
            raise self._intrusion
        return self.call_soon(callback, *args, context=context)

    async def getaddrinfo(self, host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        address = self.connections.address_of(host)
        if address is None:
            raise RealWorld("a name was to be resolved in virtual time; use the in-process transport")
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))]

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        if self.connections.address_of(address[0]) is None:
            raise RealWorld(UNCONNECTED)
        self.connections.reach(sock, address[0])

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        if options.get("ssl"):
            raise RealWorld("there is no TLS in virtual time; use an address that begins with http://")
        connected = self.connections.connected(self, protocol_factory, host, options.get("sock"))
        if connected is None:
            raise RealWorld(UNCONNECTED)
        return connected

    async def create_server(self, *args: Any, **kwargs: Any) -> Any:
        raise RealWorld("a server was to be started in virtual time; call its handler instead")

    async def create_datagram_endpoint(self, *args: Any, **kwargs: Any) -> Any:
        raise RealWorld("a socket was to be opened in virtual time")

    async def subprocess_exec(self, *args: Any, **kwargs: Any) -> Any:
        raise RealWorld("a program was to be started in virtual time")

    async def subprocess_shell(self, *args: Any, **kwargs: Any) -> Any:
        raise RealWorld("a program was to be started in virtual time")


def run(
    main: Coroutine[Any, Any, T],
    *,
    seed: int | None = 0,
    steps: int | None = None,
    start: datetime = START,
    standstill: int = STANDSTILL_STEPS,
) -> T:
    """Runs the coroutine in virtual time and returns its result; what it left running is cancelled.

    `steps` limits how many callbacks may run, `standstill` how many at the same instant.
    """

    def loop() -> VirtualLoop:
        return VirtualLoop(seed, start=start, steps=steps, standstill=standstill)

    with seldom_collected(), asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(main)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Has the interpreter look for cycles less often: a cluster holds many objects for long and makes few cycles."""
    before = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)
