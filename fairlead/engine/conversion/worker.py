"""Large reviews are converted by a process of their own, so that this one goes on answering meanwhile.

The process is started with the first of them, ends when it has had nothing to do for a while, and is started anew
when it is needed again or has died. It speaks in frames over its standard streams: a review one way, its answer the
other. It knows its rules by name, because functions do not travel.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import select
import signal
import struct
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from typing import BinaryIO, cast

import msgspec
from msgspec import structs

from fairlead.engine.conversion.review import Converted, Rules, answer

TIMEOUT = 20.0
"""Seconds for one review, from when the process has ended the one before."""
IDLE_SECONDS = 60.0
"""After which the process ends and gives its memory back."""
_LENGTHS = struct.Struct("!II")
"""Bytes of an answer's head and of its body; a review has no head."""
_PIECE = 1 << 20
"""Bytes that are written or read at once."""


class WorkerDied(Exception):
    """The process ended before it had answered."""


class TooSlow(Exception):
    """The process had its time for a review and has not answered."""


class NoWorker(Exception):
    """The process cannot be started here; the text says why."""


class Worker:
    """One process for all large reviews, one after the other; `rules` is `module:attribute`."""

    def __init__(self, rules: str) -> None:
        self._rules = rules
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def convert(self, body: bytes) -> Converted:
        """Raises WorkerDied when the process dies of it twice, TooSlow, and NoWorker when there can be none.

        It waits its turn for as long as the caller lets it: the time of one review is not that of those before it.
        """
        async with self._turn:
            try:
                async with asyncio.timeout(TIMEOUT):
                    return await self._tried(body)
            except TimeoutError as error:
                raise TooSlow(f"the conversion took longer than {TIMEOUT:g} seconds") from error

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _tried(self, body: bytes) -> Converted:
        try:
            return await self._exchange(body)
        except WorkerDied:  # it may have ended from idleness just now
            return await self._exchange(body)

    async def _exchange(self, body: bytes) -> Converted:
        process = await self._started()
        try:
            return await _ask(process, body)
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            await self.close()
            raise WorkerDied("the process that converts large reviews ended unexpectedly") from error
        except BaseException:  # given up in the middle of a frame: the streams are of no more use
            await asyncio.shield(self.close())
            raise

    async def _started(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            path = os.pathsep.join(each for each in sys.path if each)  # modules are found where this process finds them
            arguments = ("-P", "-m", __name__, self._rules)
            try:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, *arguments, stdin=PIPE, stdout=PIPE, env={**os.environ, "PYTHONPATH": path}
                )
            except OSError as error:
                raise NoWorker(f"no process can be started ({error.strerror})") from error
        return self._process


async def _ask(process: Process, body: bytes) -> Converted:
    sending, receiving = process.stdin, process.stdout
    if sending is None or receiving is None:
        raise TypeError("a process without streams")
    sending.write(_LENGTHS.pack(0, len(body)))
    for start in range(0, len(body), _PIECE):  # what a pipe does not take at once is copied
        sending.write(body[start : start + _PIECE])
        await sending.drain()
    head, rest = _LENGTHS.unpack(await receiving.readexactly(_LENGTHS.size))
    converted = msgspec.json.decode(await receiving.readexactly(head), type=Converted)
    pieces: list[bytes] = []
    while rest:
        pieces.append(await receiving.read(min(rest, _PIECE)))
        if not pieces[-1]:
            raise asyncio.IncompleteReadError(b"", rest)
        rest -= len(pieces[-1])
    return structs.replace(converted, body=b"".join(pieces))


def rules_named(name: str) -> Rules:
    """The rules at `module:attribute`."""
    module, _, attribute = name.partition(":")
    return cast("Rules", getattr(importlib.import_module(module), attribute))


def serve(rules: Rules, reading: BinaryIO, writing: BinaryIO) -> None:
    """Answers reviews until the other side is gone or has been silent for long.

    The next one comes after the answer, so what is buffered when a review has been read is nothing.
    """
    while select.select([reading], [], [], IDLE_SECONDS)[0]:
        lengths = reading.read(_LENGTHS.size)
        if len(lengths) < _LENGTHS.size:
            return
        converted = answer(reading.read(_LENGTHS.unpack(lengths)[1]), rules)
        head = msgspec.json.encode(structs.replace(converted, body=b""))
        writing.write(_LENGTHS.pack(len(head), len(converted.body)))
        writing.write(head)
        writing.write(converted.body)
        writing.flush()


def main() -> None:
    # A Ctrl-C in a terminal goes to all; who started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(BrokenPipeError):
        serve(rules_named(sys.argv[1]), sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
