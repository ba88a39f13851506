"""An open watch: events as lines, bookmarks between them, and its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeVar

import msgspec
from msgspec import Struct

from kubeloop import clock
from kubesim.errors import StatusError, expired, too_large_version
from kubesim.kinds import views
from kubesim.kinds.converting import Answers
from kubesim.kinds.registry import Kind
from kubesim.reads.listing import Query, begins_with_state, watch
from kubesim.requests.forms import Dress
from kubesim.requests.tables import INITIAL_EVENTS_END
from kubesim.store.decoded import reader_of
from kubesim.store.store import Store
from kubesim.store.versions import Event, Tree
from kubesim.store.watchers import Watcher

T = TypeVar("T")

LINES_AT_ONCE = 32
"""A long backlog is read in steps, as from a socket."""
BOOKMARK_SECONDS = 60.0
# How long before a watch ends a last bookmark is sent.
_LAST_BOOKMARK_SECONDS = 2.0
# A watch that names no time-out is ended by the server after half an hour to an hour.
WATCH_SECONDS = (1800.0, 3600.0)


class Wish(Struct, frozen=True):
    """What the client asked of the watch itself; zero seconds leave its end to the server."""

    bookmarks: bool = False
    seconds: float = 0.0
    lag: tuple[float, float] = (0.0, 0.0)
    """How late events reach the client, at least and at most."""
    dress: Dress | None = None
    """The form of the objects; None for the one they have."""


class Shared(Struct, frozen=True, gc=False):
    """An event whose object is decoded once for all who read it in the process."""

    event: Event

    def read(self, into: type[T]) -> T | None:
        """What the object is now; None where whoever gets it could change it for others."""
        reader = reader_of(into)
        return reader.of(self.event) if reader.is_shareable else None

    def gone(self) -> tuple[str, str, str, str] | None:
        """Which object is gone, in which version; None while it is there."""
        event = self.event
        return None if event.type != "DELETED" else (*event.new.key, event.new.head.uid, str(event.revision))

    def line(self) -> bytes:
        return self.event.line()


class Watch:
    """An open watch, as lines."""

    def __init__(self, store: Store, kind: Kind, query: Query, wish: Wish, answers: Answers) -> None:
        self._store = store
        self._answers = answers
        self._kind = kind
        self._bookmarks = wish.bookmarks
        self._dress = wish.dress
        self._is_first = True
        self._is_plain = wish.dress is None and kind.custom is None and kind.stored_as is None
        self._announce = self._bookmarks and begins_with_state(query)
        seconds = wish.seconds or store.draws("timeout").between(*WATCH_SECONDS)
        self._until = clock.monotonic() + seconds
        self._refusal: StatusError | None = None
        self._watcher: Watcher | None = None
        if self._dress is not None and not self._dress.shows_events:
            return  # nothing can be shown: the watch ends as soon as it has begun
        try:
            self._watcher = watch(store, kind, query, wish.lag)
        except StatusError as error:
            # A version that is too old, or yet to come, is told on the open watch, not by the status of the answer.
            if error.code not in (expired("").code, too_large_version(0, 0).code):
                raise
            self._refusal = error

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Events until the time-out, the end of the server or `close`."""
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for each in batch:
                    yield each if isinstance(each, bytes) else each.line()

    async def batches(self) -> AsyncGenerator[Sequence[bytes | Shared], None]:
        """The same, with what has arrived by the same time together; events that nobody dresses are not yet lines."""
        if self._watcher is None:
            if self._refusal is not None:
                yield [_error(self._refusal)]
            return
        shown = False
        opened, backlog = self._watcher.revision, self._watcher.backlog
        if self._announce and not backlog:
            yield [self._bookmark(opened, initial=True)]
        tick = self._next_bookmark()
        while True:
            until = min(self._until, tick) if self._bookmarks else self._until
            events = await self._watcher.arrived(until, self._most(backlog))
            if events:
                try:
                    lines = await self._lines(events)
                except StatusError:
                    # The server's cache of this version falls behind: open watches end, and new ones wait in vain.
                    if not shown:
                        yield [_error(too_large_version(self._store.revision, events[0].revision - 1))]
                    return
                shown = True
                backlog -= len(lines)
                if self._announce and backlog == 0:
                    lines.append(self._bookmark(opened, initial=True))
                yield lines
                continue
            if self._watcher.closed:
                return
            if clock.monotonic() >= self._until:
                return
            yield [self._bookmark(self._seen(self._watcher))]
            tick = self._next_bookmark()

    def _most(self, backlog: int) -> int:
        """Lines at once: one where that may fail, and none beyond what is announced to be all there was."""
        if not self._is_plain:
            return 1
        return min(LINES_AT_ONCE, backlog) if self._announce and backlog > 0 else LINES_AT_ONCE

    async def _lines(self, events: list[Event]) -> list[bytes | Shared]:
        if self._is_plain:
            return [Shared(event) for event in events]
        return [await self._line(event) for event in events]

    def _next_bookmark(self) -> float:
        """When the next one is due: in a while, or shortly before the end."""
        now = clock.monotonic()
        last = self._until - _LAST_BOOKMARK_SECONDS
        return min(now + BOOKMARK_SECONDS, last) if last > now else now + BOOKMARK_SECONDS

    async def _line(self, event: Event) -> bytes:
        if self._dress is None:
            return await views.line(self._kind, event, self._answers)
        is_stored = self._dress.wants_stored
        body = event.new.body if is_stored else await views.item(self._kind, event.new, self._answers)
        return self._dressed(event.type, body, self._dress)

    def _dressed(self, kind: str, body: bytes, dress: Dress) -> bytes:
        """A line with the object in its form; the columns of a table are told once."""
        shown = dress.event(body, is_first=self._is_first)
        self._is_first = False
        return b'{"type":"' + kind.encode() + b'","object":' + shown + b"}\n"

    def _seen(self, watcher: Watcher) -> int:
        """With nothing waiting, the watcher knows all there is."""
        return watcher.revision if len(watcher) else max(watcher.revision, self._store.revision)

    def _bookmark(self, revision: int, *, initial: bool = False) -> bytes:
        metadata: Tree = {"resourceVersion": str(revision)}
        if initial:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        resource = self._kind.resource
        shown = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        if self._dress is not None:
            return self._dressed("BOOKMARK", msgspec.json.encode(shown), self._dress)
        return msgspec.json.encode({"type": "BOOKMARK", "object": shown}) + b"\n"

    @property
    def warnings(self) -> list[str]:
        """What the client is told with the answer."""
        return self._kind.warnings

    def bound(self) -> None:
        """Has it ended when its client reads so slowly that what waits for it has been forgotten by all others."""
        if self._watcher is not None:
            self._watcher.is_bounded = True

    def has_more(self) -> bool:
        """Whether there are lines already that come after the last."""
        return self._watcher is not None and self._watcher.has_more()

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()


def _error(error: StatusError) -> bytes:
    return b'{"type":"ERROR","object":' + msgspec.json.encode(error.status()) + b"}\n"
