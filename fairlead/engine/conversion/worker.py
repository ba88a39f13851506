"""Large reviews are converted by a process of their own, so that this one goes on answering meanwhile.

The process is started with the first of them, ends when it has had nothing to do for a while, and is started anew
when it is needed again or has died. It speaks in frames over its standard streams: a review one way, its answer the
other. It knows its rules by name, because functions do not travel; or it makes them from data, by a function that it
knows by name, and keeps them until it is given others.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import importlib
import os
import select
import signal
import struct
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Coroutine
from contextlib import suppress
from functools import cached_property
from typing import Any, BinaryIO, TypeVar, cast

import msgspec
from msgspec import Struct, structs

from fairlead.engine.conversion.review import USUAL_MANNER, ConversionAnswer, Manner, Rules, answer

T = TypeVar("T")

TIMEOUT = 20.0
"""Seconds for one review, from when the process has ended the one before."""
IDLE_SECONDS = 60.0
"""After which the process ends and gives its memory back."""
_LENGTHS = struct.Struct("!II")
"""Bytes of a frame's head and of its body; a review for the rules at hand has no head."""
_PIECE = 1 << 20
"""Bytes that are written or read at once."""


class WorkerDied(Exception):
    """The process ended before it had answered."""


class TooSlow(Exception):
    """The process had its time for a review and has not answered."""


class NoWorker(Exception):
    """The process cannot be started here; the text says why."""


class RuleData(Struct, frozen=True, dict=True):
    """Rules as data: the function `module:attribute` makes them from it."""

    maker: str
    data: bytes

    @cached_property
    def digest(self) -> bytes:
        return hashlib.sha256(self.maker.encode() + b"\0" + self.data).digest()


class _Order(Struct, frozen=True):
    """The head of a frame that is no review."""

    rules: str = ""
    """The function that makes the rules for what follows from the body; the answer is empty."""
    call: str = ""
    """The function from bytes to bytes whose answer is wanted."""


class Worker:
    """One process for all large reviews, one after the other.

    `rules` is `module:attribute`; empty: each review comes with its own, as data. A review gets `seconds`.
    """

    def __init__(self, rules: str = "", manner: Manner = USUAL_MANNER, seconds: float = TIMEOUT) -> None:
        self._rules = rules
        self._manner = manner
        self._seconds = seconds
        self._wanted: RuleData | None = None
        """For the review whose turn it is."""
        self._held = b""
        """Digest of the data whose rules the process has."""
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def convert(self, body: bytes, rules: RuleData | None = None) -> ConversionAnswer:
        """Raises WorkerDied when the process dies of it twice, TooSlow, and NoWorker when there can be none.

        It waits its turn for as long as the caller lets it: the time of one review is not that of those before it.
        """
        async with self._turn:
            self._wanted = rules
            try:
                async with asyncio.timeout(self._seconds):
                    return await self._tried(body)
            except TimeoutError as error:
                raise TooSlow(f"the conversion took longer than {self._seconds:g} seconds") from error

    async def call(self, name: str, body: bytes) -> bytes:
        """What the function `module:attribute` makes of the bytes; raises as `convert` does."""
        async with self._turn:
            try:
                async with asyncio.timeout(self._seconds):
                    process = await self._started()
                    return (await self._asked(_ask(process, body, _Order(call=name), dict[str, Any])))[1]
            except TimeoutError as error:
                raise TooSlow(f"it took longer than {self._seconds:g} seconds") from error

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _tried(self, body: bytes) -> ConversionAnswer:
        try:
            return await self._exchange(body)
        except WorkerDied:  # it may have ended from idleness just now
            return await self._exchange(body)

    async def _exchange(self, body: bytes) -> ConversionAnswer:
        process = await self._started()
        converted, answered = await self._asked(self._reviewed(process, body))
        return structs.replace(converted, body=answered)

    async def _reviewed(self, process: Process, body: bytes) -> tuple[ConversionAnswer, bytes]:
        wanted = self._wanted
        if wanted is not None and wanted.digest != self._held:
            await _ask(process, wanted.data, _Order(rules=wanted.maker), dict[str, Any])
            self._held = wanted.digest
        return await _ask(process, body, None, ConversionAnswer)

    async def _asked(self, asking: Coroutine[Any, Any, tuple[T, bytes]]) -> tuple[T, bytes]:
        try:
            return await asking
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            await self.close()
            raise WorkerDied("the process that converts large reviews ended unexpectedly") from error
        except BaseException:  # given up in the middle of a frame: the streams are of no more use
            await asyncio.shield(self.close())
            raise

    async def _started(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            path = os.pathsep.join(each for each in sys.path if each)  # modules are found where this process finds them
            arguments = ("-P", "-m", __name__, self._rules, msgspec.json.encode(self._manner).decode())
            self._held = b""
            try:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, *arguments, stdin=PIPE, stdout=PIPE, env={**os.environ, "PYTHONPATH": path}
                )
            except OSError as error:
                raise NoWorker(f"no process can be started ({error.strerror})") from error
        return self._process


async def _ask(process: Process, body: bytes, order: _Order | None, into: type[T]) -> tuple[T, bytes]:
    """Head and body of the answer."""
    sending, receiving = process.stdin, process.stdout
    if sending is None or receiving is None:
        raise TypeError("a process without streams")
    head = b"" if order is None else msgspec.json.encode(order)
    sending.write(_LENGTHS.pack(len(head), len(body)) + head)
    for start in range(0, len(body), _PIECE):  # what a pipe does not take at once is copied
        sending.write(body[start : start + _PIECE])
        await sending.drain()
    told_bytes, rest = _LENGTHS.unpack(await receiving.readexactly(_LENGTHS.size))
    told = msgspec.json.decode(await receiving.readexactly(told_bytes), type=into)
    pieces: list[bytes] = []
    while rest:
        pieces.append(await receiving.read(min(rest, _PIECE)))
        if not pieces[-1]:
            raise asyncio.IncompleteReadError(b"", rest)
        rest -= len(pieces[-1])
    return told, b"".join(pieces)


def rules_named(name: str) -> Rules:
    """The rules at `module:attribute`."""
    return cast("Rules", _found(name))


def _found(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def serve(rules: Rules, reading: BinaryIO, writing: BinaryIO, manner: Manner = USUAL_MANNER) -> None:
    """Answers reviews until the other side is gone or has been silent for long.

    The next one comes after the answer, so what is buffered when a review has been read is nothing.
    """
    while select.select([reading], [], [], IDLE_SECONDS)[0]:
        lengths = reading.read(_LENGTHS.size)
        if len(lengths) < _LENGTHS.size:
            return
        head, body = _LENGTHS.unpack(lengths)
        order = msgspec.json.decode(reading.read(head), type=_Order) if head else None
        data = reading.read(body)
        if order is None:
            converted = answer(data, rules, manner)
            told = msgspec.json.encode(structs.replace(converted, body=b""))
            _answer(writing, told, converted.body)
        elif order.call:
            _answer(writing, b"{}", _found(order.call)(data))
        else:
            rules = _found(order.rules)(data)
            # What is there from now on stays: the collector need not walk it again and again.
            gc.collect()
            gc.freeze()
            _answer(writing, b"{}", b"")


def _answer(writing: BinaryIO, head: bytes, body: bytes) -> None:
    writing.write(_LENGTHS.pack(len(head), len(body)))
    writing.write(head)
    writing.write(body)
    writing.flush()


def main() -> None:
    # A Ctrl-C in a terminal goes to all; who started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    named, manner = sys.argv[1], msgspec.json.decode(sys.argv[2], type=Manner)
    with suppress(BrokenPipeError):
        serve(rules_named(named) if named else (), sys.stdin.buffer, sys.stdout.buffer, manner)


if __name__ == "__main__":
    main()
