"""An open watch: events as lines, bookmarks between them, and its end."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import msgspec
from msgspec import Struct

from fairlead.kube import clock
from fairlead.sim import views
from fairlead.sim.converting import Answers
from fairlead.sim.errors import StatusError, expired, too_large_version
from fairlead.sim.listing import Query, watch
from fairlead.sim.registry import Kind
from fairlead.sim.store import Store, Tree, Watcher

BOOKMARK_SECONDS = 60.0
# A watch that names no time-out is ended by the server after half an hour to an hour.
WATCH_SECONDS = (1800.0, 3600.0)


class Wish(Struct, frozen=True):
    """What the client asked of the watch itself; zero seconds leave its end to the server."""

    bookmarks: bool = False
    seconds: float = 0.0
    lag: tuple[float, float] = (0.0, 0.0)
    """How late events reach the client, at least and at most."""


class Watch:
    """An open watch, as lines."""

    def __init__(self, store: Store, kind: Kind, query: Query, wish: Wish, answers: Answers) -> None:
        self._store = store
        self._answers = answers
        self._kind = kind
        self._bookmarks = wish.bookmarks
        self._announce = query.initial_events is True and self._bookmarks
        seconds = wish.seconds or store.draws("timeout").between(*WATCH_SECONDS)
        self._until = clock.monotonic() + seconds
        self._refusal: StatusError | None = None
        self._watcher: Watcher | None = None
        try:
            self._watcher = watch(store, kind, query, wish.lag)
        except StatusError as error:
            # A version that is too old is told on the open watch, not by the status of the answer.
            if error.code != expired("").code:
                raise
            self._refusal = error

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Events until the time-out, the end of the server or `close`."""
        if self._watcher is None:
            if self._refusal is not None:
                yield _error(self._refusal)
            return
        shown = False
        opened, backlog = self._watcher.revision, self._watcher.backlog
        if self._announce and not backlog:
            yield self._bookmark(opened, initial=True)
        tick = clock.monotonic() + BOOKMARK_SECONDS
        while True:
            event = await self._watcher.next(min(self._until, tick) if self._bookmarks else self._until)
            if event is not None:
                try:
                    line = await views.line(self._kind, event, self._answers)
                except StatusError:
                    # The server's cache of this version falls behind: open watches end, and new ones wait in vain.
                    if not shown:
                        yield _error(too_large_version(self._store.revision, event.revision - 1))
                    return
                shown = True
                yield line
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

    def _bookmark(self, revision: int, *, initial: bool = False) -> bytes:
        metadata: Tree = {"resourceVersion": str(revision)}
        if initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        resource = self._kind.resource
        shown = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return msgspec.json.encode({"type": "BOOKMARK", "object": shown}) + b"\n"

    @property
    def warnings(self) -> list[str]:
        """What the client is told with the answer."""
        return self._kind.warnings

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()


def _error(error: StatusError) -> bytes:
    return b'{"type":"ERROR","object":' + json.dumps(error.status()).encode() + b"}\n"
