"""Commands that are killed at one of their effects: requests that write, and lines and files on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from enum import Enum
from typing import Any
from unittest.mock import patch

from fairlead.contracts.apiversions.backup_directory import DirectoryRecords, NewBackup
from kubeloop.client import Client
from kubeloop.errors import TransportError
from kubeloop.request import Request, Response, Stream, Transport
from tests.e2e.clusters import Site

BESIDE = ("/leases", "/selfsubjectreviews")
"""What is written beside the work."""


class How(Enum):
    BEFORE = "before"
    AFTER = "after"
    LOST = "lost"
    """It is carried out and goes on, but its answer does not come."""


class Killed(BaseException):
    """The process is gone, and tidies nothing up."""


class Executioner:
    """Counts effects, and kills at the one of this number; 0: at none."""

    def __init__(self, number: int = 0, how: How = How.BEFORE) -> None:
        self.number, self.how = number, how
        self.effects: list[str] = []
        self.killed = asyncio.Event()
        self.is_over = False
        """The scenario has ended, so whoever was killed may go."""

    @property
    def is_due(self) -> bool:
        return len(self.effects) == self.number

    async def at(self, name: str, carried_out: Callable[[], Awaitable[Any]], *, is_local: bool = False) -> Any:
        """Carries the effect out, or not; of what is local no answer is lost."""
        await self._stay_dead()
        self.effects.append(name)
        if self.is_due and self.how is How.BEFORE:
            await self._die()
        result = await carried_out()
        if self.is_due and (self.how is How.AFTER or (is_local and self.how is How.LOST)):
            await self._die()
        if self.is_due and self.how is How.LOST:
            raise TransportError("the answer was lost")
        return result

    def at_once(self, name: str, carried_out: Callable[[], Any]) -> Any:
        """The same of what happens in a thread."""
        if self.killed.is_set():
            raise Killed
        self.effects.append(name)
        if self.is_due and self.how is How.BEFORE:
            self.killed.set()
            raise Killed
        result = carried_out()
        if self.is_due and self.how is How.AFTER:
            self.killed.set()
            raise Killed
        return result

    async def _die(self) -> None:
        self.killed.set()
        await self._stay_dead()

    async def _stay_dead(self) -> None:
        while self.killed.is_set():
            if self.is_over:
                raise TransportError("the process is gone")
            await asyncio.sleep(1)


class Meddler(Executioner):
    """Lets something happen right before the first effect whose name begins so."""

    def __init__(self, name: str, happens: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._name, self._happens = name, happens
        self._is_done = False

    async def at(self, name: str, carried_out: Callable[[], Awaitable[Any]], *, is_local: bool = False) -> Any:
        if name.startswith(self._name) and not self._is_done:
            self._is_done = True
            await self._happens()
        return await super().at(name, carried_out, is_local=is_local)


class KilledAt(Executioner):
    """Kills after the so manieth effect whose name begins so."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(number, How.AFTER)
        self._name = name

    @property
    def is_due(self) -> bool:
        matching = [each for each in self.effects if each.startswith(self._name)]
        return len(matching) == self.number and self.effects[-1] in matching


class MortalTransport:
    def __init__(self, transport: Transport, executioner: Executioner) -> None:
        self._transport, self._executioner = transport, executioner

    async def send(self, request: Request) -> Response:
        is_dry = ("dryRun", "All") in request.query
        if request.method == "GET" or is_dry or any(each in request.path for each in BESIDE):
            await self._executioner._stay_dead()
            return await self._transport.send(request)
        name = f"{request.method} {request.path}"
        response: Response = await self._executioner.at(name, lambda: self._transport.send(request))
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        if (close := getattr(self._transport, "close", None)) is not None:
            await close()


@contextmanager
def mortal_files(executioner: Executioner) -> Iterator[None]:
    """While it lasts, lines of journals and files of backups are effects as well."""
    swap, save, finish, abandon = DirectoryRecords.swap, NewBackup.save, NewBackup.finish, NewBackup.abandon

    async def swapped(self: DirectoryRecords, key: str, version: str, value: bytes, lasts: int = 0) -> str:
        return str(await executioner.at(f"line {key}", lambda: swap(self, key, version, value, lasts), is_local=True))

    def abandoned(self: NewBackup) -> None:
        if not executioner.killed.is_set():
            abandon(self)

    with (
        patch.object(DirectoryRecords, "swap", swapped),
        patch.object(
            NewBackup,
            "save",
            lambda self, path, body: executioner.at_once(f"file {path}", lambda: save(self, path, body)),
        ),
        patch.object(
            NewBackup, "finish", lambda self, manifest: executioner.at_once("rename", lambda: finish(self, manifest))
        ),
        patch.object(NewBackup, "abandon", abandoned),
    ):
        yield


async def lived(site: Site, executioner: Executioner, run: Callable[[Client], Awaitable[Any]]) -> Any:
    """What the command comes to; None where it was killed."""
    client = Client(MortalTransport(site.ground.transport("admin"), executioner))
    try:
        return await _lived(client, executioner, run)
    finally:
        await client.close()


async def _lived(client: Client, executioner: Executioner, run: Callable[[Client], Awaitable[Any]]) -> Any:
    with mortal_files(executioner):
        task = asyncio.ensure_future(_caught(run(client)))
        killing = asyncio.ensure_future(executioner.killed.wait())
        await asyncio.wait([task, killing], return_when=asyncio.FIRST_COMPLETED)
        killing.cancel()
        if not executioner.killed.is_set():
            return await task
    executioner.is_over = True
    task.cancel()
    await asyncio.wait([task])
    return None


async def _caught(work: Awaitable[Any]) -> Any:
    try:
        return await work
    except BaseException as error:
        if "Killed" in repr(error):
            return None
        raise
