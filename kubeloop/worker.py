"""Workers that take keys from a queue and reconcile them.

Four outcomes: done; look again at a time; not begun, so that nothing is known of it; retry with back-off, after any
exception. The failure of one key is told and does not touch the others. Between two keys a worker gives way to the
loop, so that keys which are always ready and never wait hold up nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kubeloop.queue import Closed, K, Queue


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
) -> None:
    """Reconciles keys, up to `workers` at once, until the queue is closed or the caller is cancelled.

    `reconcile` answers with the seconds until it wants to look again, as NotBegun where it did not begin, or None.
    """
    async with asyncio.TaskGroup() as group:
        for number in range(workers):
            group.create_task(_worker(queue, reconcile, failed), name=f"worker {number}")


async def _worker(
    queue: Queue[K],
    reconcile: Callable[[K], Awaitable[float | None]],
    failed: Callable[[K, Exception], None],
) -> None:
    while True:
        try:
            key = await queue.get()
        except Closed:
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
        if len(queue):  # else the next `get` waits, which gives way just as well
            await asyncio.sleep(0)
