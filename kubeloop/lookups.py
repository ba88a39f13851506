"""Names in DNS, looked up in threads of their own.

asyncio has a few threads for everything that blocks. A cluster whose DNS does not answer holds a lookup for ten seconds
and more: with the names of some pods all threads would be taken, and whatever else needs one, such as the credential
of a call to the API server, would wait for them. The end of the process would, too.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar, cast

from aiohttp import ThreadedResolver

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

T = TypeVar("T")

MOST = 32
"""At once; whoever comes beyond that waits for one of them."""


def resolver() -> AbstractResolver:
    """For the event loop that runs."""
    return ThreadedResolver(cast("asyncio.AbstractEventLoop", Lookups()))


class Lookups:
    """What a resolver asks of its event loop."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(MOST)

    async def getaddrinfo(self, host: str, port: int, **how: int) -> list[Any]:
        return await self._apart(partial(socket.getaddrinfo, host, port, **how))

    async def getnameinfo(self, address: tuple[Any, ...], flags: int) -> tuple[str, str]:
        return await self._apart(partial(socket.getnameinfo, address, flags))

    async def _apart(self, look: Callable[[], T]) -> T:
        """What the lookup finds. Its turn ends when it is over, also where nobody waits for it any more."""
        await self._turns.acquire()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[T] = loop.create_future()

        def over(tell: Callable[[], None]) -> None:
            self._turns.release()
            if not found.done():
                tell()

        def looking() -> None:
            try:
                tell = partial(found.set_result, look())
            except Exception as error:  # noqa: BLE001  whatever it was, it is for whoever asked
                tell = partial(found.set_exception, error)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(over, tell)

        try:
            Thread(target=looking, name="lookup", daemon=True).start()
        except RuntimeError as error:  # no more threads are to be had
            self._turns.release()
            raise OSError(str(error)) from error
        return await found
