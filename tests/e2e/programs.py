"""Runs programs as a user does: as processes of their own, ours by the names they are installed under."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

LONG = 180.0
"""Seconds that a program may take to start, to say something or to end: others may use the machine."""


class Finished(NamedTuple):
    code: int
    out: str
    err: str


async def finished(
    program: str,
    *arguments: str,
    kubeconfig: Path | None = None,
    environment: Mapping[str, str] | None = None,
    within: float = LONG,
) -> Finished:
    """Runs it to its end, which must come `within` so many seconds."""
    async with running(program, *arguments, kubeconfig=kubeconfig, environment=environment) as process:
        async with asyncio.timeout(within):
            out, err = await process.communicate()
        assert process.returncode is not None
        return Finished(process.returncode, out.decode(), err.decode())


@asynccontextmanager
async def running(
    program: str, *arguments: str, kubeconfig: Path | None = None, environment: Mapping[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """While it runs, or has ended by itself; killed afterwards. Its output can be read line by line.

    Without a kubeconfig it finds none: never the one of the person who runs the tests.
    """
    process = await asyncio.create_subprocess_exec(
        program if Path(program).is_absolute() else Path(sys.executable).with_name(program),
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "KUBECONFIG": str(kubeconfig or os.devnull), "NO_COLOR": "1", **(environment or {})},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def line_with(stream: asyncio.StreamReader | None, text: str, within: float = LONG) -> str:
    """The next line that holds this text; those before it are lost, or shown when it does not come."""
    assert stream is not None
    before = []
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            async for line in stream:
                before.append(line.decode())
                if text in before[-1]:
                    return before[-1].rstrip("\n")
    raise AssertionError(f"{text!r} was never written, only:\n{''.join(before)}")


async def ended(process: asyncio.subprocess.Process, within: float = LONG) -> int:
    """Its exit code, once a signal to end has been obeyed."""
    process.terminate()
    async with asyncio.timeout(within):
        return await process.wait()
