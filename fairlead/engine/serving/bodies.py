"""Bodies of requests: how they are read, and how many bytes of them a server holds at once.

A body weighs what its request announces, before a byte of it is read, until the answer was sent. So memory has a bound
that clients cannot push, and one that comes too early has lost nothing and may come again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web


class BodyTooLarge(Exception):
    """The body is larger than its route takes."""


class BodyBudget:
    """Weighs what is in work; without `most` everything fits."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._held = 0

    @contextmanager
    def holding(self, size: int) -> Iterator[bool]:
        """Whether so many bytes more fit; if so, they are held while the context lasts."""
        fits = self._most is None or self._held + size <= self._most
        held = size if fits else 0
        self._held += held
        try:
            yield fits
        finally:
            self._held -= held


def announced(request: web.BaseRequest, largest: int) -> int:
    """Bytes to expect: none where no body comes or one that is refused unread, the most where none are announced."""
    if not request.body_exists:
        return 0
    if request.content_length is None:
        return largest
    return 0 if request.content_length > largest else request.content_length


async def body_of(request: web.BaseRequest, largest: int) -> bytes:
    if (request.content_length or 0) > largest:
        raise BodyTooLarge
    pieces: list[bytes] = []
    size = 0
    async for piece in request.content.iter_any():
        size += len(piece)
        if size > largest:
            raise BodyTooLarge
        pieces.append(piece)
    return b"".join(pieces)
