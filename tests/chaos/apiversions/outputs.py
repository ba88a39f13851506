"""What commands print, kept apart although several run at once in one process."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_said: ContextVar[io.StringIO | None] = ContextVar("said", default=None)


class _Apart(io.TextIOBase):
    """Writes where the task that prints wants it, else where it went before."""

    def __init__(self, usual: object) -> None:
        self._usual = usual

    def write(self, text: str) -> int:
        found = _said.get()
        return found.write(text) if found is not None else self._usual.write(text)  # type: ignore[attr-defined]

    def flush(self) -> None:
        """Nothing is held back."""


@contextmanager
def apart() -> Iterator[None]:
    usual = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Apart(usual[0]), _Apart(usual[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = usual


def listened() -> io.StringIO:
    """What this task and those that it starts print from now on."""
    said = io.StringIO()
    _said.set(said)
    return said
