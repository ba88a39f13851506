"""Hooks on loopback: one that accepts whatever it is asked, and a port that takes connections and never answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiohttp import web

HOST = "127.0.0.1"


class Hooks:
    """Addresses, and how many wait for an answer that never comes."""

    def __init__(self) -> None:
        self.sound = self.dead = ""
        self.waiting = 0
        self._changed = asyncio.Condition()

    async def count(self, more: int) -> None:
        async with self._changed:
            self.waiting += more
            self._changed.notify_all()

    async def hanging(self, count: int) -> None:
        """Returns when so many wait at once."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.waiting >= count)


@asynccontextmanager
async def answering() -> AsyncIterator[Hooks]:
    """While the context lasts."""
    hooks = Hooks()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hooks.count(1)
        with suppress(ConnectionError):
            await reader.read(-1)  # until the other side gives up
        await hooks.count(-1)
        writer.close()

    async def accept(_: web.Request) -> web.Response:
        return web.Response()

    application = web.Application()
    application.router.add_post("/", accept)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    await site.start()
    dead = await asyncio.start_server(hang, HOST, 0)
    try:
        hooks.sound = f"http://{HOST}:{runner.addresses[0][1]}/"
        hooks.dead = f"http://{HOST}:{dead.sockets[0].getsockname()[1]}/"
        yield hooks
    finally:
        dead.close()
        await runner.cleanup()
