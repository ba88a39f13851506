"""Programs that are measured: started with their output in a file, ended by their process, read from /proc."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

PATIENCE = 15.0
"""Seconds that a program gets to end after a signal."""
TICKS = os.sysconf("SC_CLK_TCK")
_LAST_LINES = 15
_LOOK_EVERY = 0.05


class Ended(Exception):
    """A program that should run has ended; the message has its last words."""


class Process(Struct):
    """A running program and where its output goes."""

    name: str
    handle: asyncio.subprocess.Process
    log: Path

    @property
    def pid(self) -> int:
        return self.handle.pid

    def check(self) -> None:
        """Raises when it does not run any more."""
        if self.handle.returncode is not None:
            raise Ended(f"{self.name} ended with code {self.handle.returncode}; its last words:\n{self.last_words()}")

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_LAST_LINES:])


@asynccontextmanager
async def running(name: str, arguments: Sequence[str], folder: Path) -> AsyncIterator[Process]:
    """While the context lasts; afterwards it has ended. It finds no kubeconfig but the one it is given."""
    log = folder / f"{name}.log"
    with log.open("wb") as output:
        handle = await asyncio.create_subprocess_exec(
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "KUBECONFIG": os.devnull},
        )
    try:
        yield Process(name, handle, log)
    finally:
        await _end(handle)


async def while_running(process: Process, waiting: Coroutine[Any, Any, float]) -> float:
    """What is waited for; a program that ends is told at once, and not when everybody's patience has."""
    task = asyncio.create_task(waiting)
    try:
        while not task.done():
            process.check()
            await asyncio.wait((task,), timeout=_LOOK_EVERY)
        return task.result()
    finally:
        task.cancel()


async def _end(handle: asyncio.subprocess.Process) -> None:
    for signal in (handle.terminate, handle.kill):
        with suppress(ProcessLookupError):
            signal()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await handle.wait()
                return


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time that the processes have used since they started."""
    return sum(map(_cpu_of, pids))


def _cpu_of(pid: int) -> float:
    # The name, in parentheses, may contain anything; user and system time are fields 14 and 15 of the line.
    _, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    fields = rest.split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def children(pid: int) -> list[int]:
    """The processes that its main thread has started and that still run."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def peak_megabytes(pid: int) -> float:
    """The most memory that the process has had resident."""
    return _megabytes(pid, "VmHWM:")


def present_megabytes(pid: int) -> float:
    """The memory that the process has resident at this moment."""
    return _megabytes(pid, "VmRSS:")


def _megabytes(pid: int, which: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(which):
            return int(line.split()[1]) * 1024 / 1e6
    raise Ended(f"process {pid} has no memory any more")


def busy_seconds() -> float:
    """Time that all cores of the machine have been at work, whoever for."""
    cores = Path("/proc/stat").read_text().partition("\n")[0]
    _name, user, nice, system, _idle, _waiting, interrupt, soft, *_ = cores.split()
    return sum(map(int, (user, nice, system, interrupt, soft))) / TICKS
