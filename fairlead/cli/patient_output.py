"""Output of commands whose exit code counts: a reader that leaves early changes neither what is done nor the code.

`fairlead api preflight | head -1` has found what it has found, and `fairlead api migrate … 2>&1 | head -1` goes on.
What only shows how something goes asks `nobody_reads`, and ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import IO, Any, cast


class PatientOutput:
    """The stream, for as long as somebody reads."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.is_left = False

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            return self._read_by_nobody(len(text))

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._read_by_nobody(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _read_by_nobody(self, count: int) -> int:
        self.is_left = True
        unread(self._stream)
        return count


@contextmanager
def patient(stream: IO[str]) -> Iterator[None]:
    with redirect_stdout(cast("IO[str]", PatientOutput(stream))):
        yield


@contextmanager
def patient_streams() -> Iterator[None]:
    """For standard output and standard error; what is left to be written is written at the end."""
    with patient(sys.stdout), patient_errors(sys.stderr):
        try:
            yield
        finally:
            sys.stdout.flush()


def nobody_reads() -> bool:
    """Whether the reader of standard output has left."""
    return isinstance(sys.stdout, PatientOutput) and sys.stdout.is_left


@contextmanager
def patient_errors(stream: IO[str]) -> Iterator[None]:
    """The same for standard error, on which progress is told."""
    with redirect_stderr(cast("IO[str]", PatientOutput(stream))):
        yield


def unread(stream: IO[str]) -> None:
    """What is written to it from now on goes nowhere; the interpreter does not complain when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
