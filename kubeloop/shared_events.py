"""Watches in the process of their server: what arrives together comes in one piece, and objects are decoded already.

A stream that can do so has `batches` beside its lines; whoever reads lines need not know.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Protocol, TypeVar

from kubeloop.request import Stream

T = TypeVar("T")


class SharedEvent(Protocol):
    """A line of a watch that nobody has written: its object may have been decoded for others before."""

    def read(self, into: type[T]) -> T | None:
        """What the object is now, shared by all who read the type; None where the line has to be read."""

    def gone(self) -> tuple[str, str, str, str] | None:
        """Namespace, name, UID and last version of an object that is gone; None while it is there."""

    def line(self) -> bytes: ...


Batches = AsyncGenerator[Sequence[bytes | SharedEvent], None]


def batches_of(stream: Stream) -> Batches | None:
    """What comes on the stream, to be closed by whoever takes it; None where there are lines alone."""
    batches: Callable[[], Batches] | None = getattr(stream, "batches", None)
    return None if batches is None else batches()
