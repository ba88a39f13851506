"""An open watch: events as lines, bookmarks between them, and its end."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import msgspec
from msgspec import Struct

from fairlead.kube import clock
from fairlead.sim import views
from fairlead.sim.errors import StatusError, expired
from fairlead.sim.listing import Query, watch
from fairlead.sim.registry import Kind
from fairlead.sim.store import Event, Store, Tree, Watcher

BOOKMARK_SECONDS = 60.0
# A watch that names no time-out is ended by the server after half an hour to an hour.
WATCH_SECONDS = (1800.0, 3600.0)


class Wish(Struct, frozen=True):
    """What the client asked of the watch itself; zero seconds leave its end to the server."""

    bookmarks: bool = False
    seconds: float = 0.0


class Watch:
    """An open watch, as lines."""

    def __init__(self, store: Store, kind: Kind, query: Query, wish: Wish, lag: tuple[float, float]) -> None:
        self._store = store
        self._kind = kind
        self._bookmarks = wish.bookmarks
        self._announce = query.initial_events is True and self._bookmarks
        seconds = wish.seconds or store.draws("timeout").between(*WATCH_SECONDS)
        self._until = clock.monotonic() + seconds
        self._refusal: StatusError | None = None
        self._watcher: Watcher | None = None
        try:
            self._watcher = watch(store, kind, query, lag)
        except StatusError as error:
            # A version that is too old is told on the open watch, not by the status of the answer.
            if error.code != expired("").code:
                raise
            self._refusal = error

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Events until the time-out, the end of the server or `close`."""
        if self._watcher is None:
            if self._refusal is not None:
                yield b'{"type":"ERROR","object":' + json.dumps(self._refusal.status()).encode() + b"}\n"
            return
        opened, backlog = self._watcher.revision, self._watcher.backlog
        if self._announce and not backlog:
            yield self._bookmark(opened, initial=True)
        tick = clock.monotonic() + BOOKMARK_SECONDS
        while True:
            event = await self._watcher.next(min(self._until, tick) if self._bookmarks else self._until)
            if event is not None:
                yield self._line(event)
                backlog -= 1
                if self._announce and backlog == 0:
                    yield self._bookmark(opened, initial=True)
                continue
            if self._watcher.closed:
                return
            if self._bookmarks:
                yield self._bookmark(self._seen(self._watcher))
            if clock.monotonic() >= self._until:
                return
            tick = clock.monotonic() + BOOKMARK_SECONDS

    def _seen(self, watcher: Watcher) -> int:
        """With nothing waiting, the watcher knows all there is."""
        return watcher.revision if len(watcher) else max(watcher.revision, self._store.revision)

    def _line(self, event: Event) -> bytes:
        return views.line(self._kind, event)

    def _bookmark(self, revision: int, *, initial: bool = False) -> bytes:
        metadata: Tree = {"resourceVersion": str(revision)}
        if initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        resource = self._kind.resource
        shown = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return msgspec.json.encode({"type": "BOOKMARK", "object": shown}) + b"\n"

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
