"""The stream of the log, which holds nobody up: not with a reader that hangs, nor with one that is gone.

A line is written at once where that does not have to be waited for. Where it does, as with a pipe that is full, lines
wait in memory for a thread that writes them; what comes beyond MOST_BYTES is dropped, and counted in a line of its own
once the reader goes on. What cannot be written at all, to a full disk or a pipe that nobody reads, is dropped as well.
"""

from __future__ import annotations

import atexit
import os
import select
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from io import UnsupportedOperation
from threading import Lock, Thread
from typing import Protocol, TextIO

MOST_BYTES = 4 * 2**20
"""Of lines that wait for their reader."""
PIECE = 4096
"""Bytes that a pipe takes without waiting, once it says that it takes any."""
LAST_SECONDS = 2.0
"""For lines that still wait when the process ends."""
PAUSE_SECONDS = 0.1
"""Between two looks at what takes nothing and does not say when it will."""


class Writable(Protocol):
    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


class _Silence:
    """Where a process was given no stream."""

    def write(self, _: str, /) -> None: ...

    def flush(self) -> None: ...


def unhindered(stream: TextIO | None) -> Writable:
    """The stream for lines of a log; one without a file behind it is written to as it is."""
    if stream is None:
        return _Silence()
    try:
        return LogStream(stream.fileno(), stream.encoding, is_closed=lambda: stream.closed)
    except (UnsupportedOperation, ValueError, AttributeError):  # in memory, or closed
        return stream


class LogStream:
    """Lines to one file descriptor, from any thread."""

    def __init__(
        self,
        descriptor: int,
        encoding: str = "utf-8",
        most_bytes: int = MOST_BYTES,
        is_closed: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_closed`: whether the descriptor may be somebody else's by now."""
        self.dropped: Callable[[int], None] = lambda _: None
        """Told how many lines were dropped, once others are written again."""
        self._descriptor = descriptor
        self._encoding = encoding
        self._most = most_bytes
        self._is_closed = is_closed
        self._lock = Lock()
        """Of all that follows; nobody waits for the reader with it."""
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        """Of those."""
        self._lost = 0
        self._thread: Thread | None = None
        """While there is one, it alone writes."""
        self._was_full = False

    def write(self, text: str, /) -> None:
        """Returns at once."""
        line = text.encode(self._encoding, "backslashreplace")
        with self._lock:
            if self._thread is None and not self._waiting and not (line := self._written(line)):
                return
            if self._waiting and self._bytes + len(line) > self._most:
                self._lost += 1
            else:
                self._keep(line)  # the first in any case: its end belongs to what is written of it
            if self._thread is None:
                self._begin()

    def flush(self) -> None:
        """Nothing is held back that could be written."""

    def finish(self, seconds: float) -> None:
        """Returns when nothing waits any more, in so many seconds at the latest."""
        until = time.monotonic() + seconds
        while (thread := self._thread) is not None and (left := until - time.monotonic()) > 0:
            thread.join(left)

    def _begin(self) -> None:
        if not self._was_full:
            self._was_full = True
            atexit.register(self.finish, LAST_SECONDS)
        self._thread = Thread(target=self._drain, name="log", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # no more threads are to be had; the next line tries again
            self._thread = None

    def _keep(self, line: bytes) -> None:
        self._waiting.append(line)
        self._bytes += len(line)

    def _written(self, line: bytes) -> bytes:
        """What is left of the line when all is written that need not be waited for."""
        try:
            while line and self._takes(0):
                line = self._piece_written(line)
        except BlockingIOError:
            return line  # somebody who shares the stream has made it so, or was faster
        except OSError:
            return b""
        return line

    def _piece_written(self, line: bytes) -> bytes:
        """The rest; nothing where there is no stream any more."""
        return b"" if self._is_closed() else line[os.write(self._descriptor, line[:PIECE]) :]

    def _takes(self, seconds: float) -> bool:
        """Whether a piece can be written now; also where that fails, which the write then says."""
        asked = select.poll()
        asked.register(self._descriptor, select.POLLOUT)
        return bool(asked.poll(seconds * 1000))

    def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    lost, self._lost = self._lost, 0
                    break
                line = self._waiting.popleft()
                self._bytes -= len(line)
            self._write_patiently(line)
        if lost:
            self.dropped(lost)

    def _write_patiently(self, line: bytes) -> None:
        with suppress(OSError):
            while line:
                try:
                    line = self._piece_written(line)
                except BlockingIOError:
                    if not self._takes(PAUSE_SECONDS):
                        time.sleep(PAUSE_SECONDS)
