"""Workers that take keys from a queue and reconcile them.

Four outcomes: done; look again at a time; not begun, so that nothing is known of it; retry with back-off, after any
exception. The failure of one key is told and does not touch the others. Between two keys, or after a few, a worker
gives way to the loop, so that keys which are always ready and never wait hold up nothing else. Work that waits for
somebody who may never answer steps aside: another worker goes on with other keys meanwhile, and no more than `workers`
are ever at work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import cast

from kubeloop.queue import Closed, K, Queue

MOST_ASIDE = 256
"""Works that wait aside at the same time; one more waits in its place, as each holds on to what it has seen."""


class LooksAgain(Exception):
    """The work failed, and `again` says after how many seconds it is tried at the latest, whatever its back-off.

    For what waits for something that nobody watches.
    """

    again: float | None = None


class NotBegun(float):
    """Seconds until to look again at a key whose work could not begin: it has neither failed nor succeeded."""

    __slots__ = ()


async def work(
    queue: Queue[K],
    reconcile: Callable[[K], Awaitable[float | None]],
    *,
    workers: int,
    failed: Callable[[K, Exception], None],
    in_a_row: int = 1,
) -> None:
    """Reconciles keys, up to `workers` at once, until the queue is closed or the caller is cancelled.

    `reconcile` answers with the seconds until it wants to look again, as NotBegun where it did not begin, or None.
    A worker gives way to the loop after so many keys `in_a_row`: more than one is for work that hardly ever waits.
    """
    async with asyncio.TaskGroup() as group:
        crew = _Crew(group)
        crew.worker = partial(_worker, queue, reconcile, failed, crew, in_a_row)
        for number in range(workers):
            group.create_task(crew.worker(), name=f"worker {number}")


@asynccontextmanager
async def stepping_aside() -> AsyncIterator[None]:
    """While it lasts, the worker that runs this is not counted: another one works in its place.

    For waits that others must not share. It ends when there is a place again. Outside of a worker it does nothing.
    """
    crew = _CREW.get()
    if crew is None or crew.aside >= MOST_ASIDE:
        yield
        return
    _CREW.set(None)  # what is aside cannot step aside once more
    crew.leave()
    try:
        yield
    except asyncio.CancelledError:
        crew.aside -= 1  # all end, and whoever took the place keeps it
        raise
    except BaseException:
        await crew.come_back()
        raise
    else:
        await crew.come_back()
    finally:
        _CREW.set(crew)


class _Crew:
    """Workers of one queue: those at work, those that wait for a key, and those that are aside."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self.worker: Callable[[], Coroutine[None, None, None]]
        self.aside = 0
        self._group = group
        self._context = copy_context()
        """What workers begin with; that of one who steps aside belongs to its work, such as a span of a trace."""
        self._idle: dict[asyncio.Task[None], None] = {}
        """Those that wait for a key."""
        self._returning: deque[asyncio.Future[None]] = deque()
        """Those that were aside and wait for a place."""
        self._empty = 0
        """Places that workers left because the queue was closed."""

    def leave(self) -> None:
        self.aside += 1
        name = "worker for one that is aside"
        self._group.create_task(self.worker(), name=name, context=self._context.copy())

    async def come_back(self) -> None:
        """Takes the place of a worker that waits for a key, or else of the first that is done with one."""
        try:
            if self._empty:
                self._empty -= 1
                return
            if self._idle:
                idle, _ = self._idle.popitem()
                idle.cancel()
                return
            place = asyncio.get_running_loop().create_future()
            self._returning.append(place)
            await place
        finally:
            self.aside -= 1

    def give_place(self) -> bool:
        """Whether somebody takes the place of the worker that asks, which then ends."""
        while self._returning:
            place = self._returning.popleft()
            if not place.done():
                place.set_result(None)
                return True
        return False

    def end(self) -> None:
        """The queue was closed: a worker leaves its place."""
        self._empty += not self.give_place()

    async def next_key(self, queue: Queue[K]) -> K:
        """Raises Closed."""
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._idle[task] = None
        try:
            return await queue.get()
        finally:
            self._idle.pop(task, None)


_CREW: ContextVar[_Crew | None] = ContextVar("crew", default=None)


async def _worker(
    queue: Queue[K],
    reconcile: Callable[[K], Awaitable[float | None]],
    failed: Callable[[K, Exception], None],
    crew: _Crew,
    in_a_row: int,
) -> None:
    _CREW.set(crew)
    turn = 0
    while not crew.give_place():
        try:
            key = await crew.next_key(queue)
        except Closed:
            crew.end()
            return
        try:
            again = await reconcile(key)
        except Exception as error:  # noqa: BLE001  whatever it was, it must not end the work on other keys
            queue.retry(key)
            if isinstance(error, LooksAgain) and error.again is not None:
                queue.add_after(key, error.again)
            failed(key, error)
        else:
            if not isinstance(again, NotBegun):
                queue.forget(key)
            if again is not None:
                queue.add_after(key, again)
        finally:
            queue.done(key)
            del key  # who waits for the next one holds on to nothing
        turn += 1
        if len(queue) and turn % in_a_row == 0:  # else the next `get` waits, which gives way just as well
            await asyncio.sleep(0)
