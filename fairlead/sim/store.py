"""Where objects are kept: immutable versions, their history, and those who watch.

A version is the object's JSON plus a narrow head for what selectors, owners and preconditions read; trees are decoded
only where something is written. One counter numbers all writes of the cluster. The line of a watch event is
built once and shared by watchers. Lists at a past version are rebuilt from the history; what is older than the history
is answered with 410, as `compact` can bring about at will.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct, field

from fairlead.api.meta import Resource
from fairlead.kube import clock
from fairlead.sim.errors import expired, too_large_version
from fairlead.sim.time import Draws

Tree = dict[str, Any]
"""A decoded object."""

Key = tuple[str, str]
"""Namespace and name."""

STAMP = b'"resourceVersion":"'
HISTORY, HISTORY_BYTES = 20_000, 32_000_000
"""The most events of a table that are remembered, and the most bytes of them."""
TICK = 0.001
"""Seconds; late events arrive at whole ticks, so that what happens at about the same time arrives at once."""
FROZEN_LISTS = 16
LINES = 64
"""How many of the last lines are kept, because watchers share them."""
_BEGINNINGS = {type_: b'{"type":"%b","object":' % type_.encode() for type_ in ("ADDED", "MODIFIED", "DELETED")}
"""Of lines on a watch."""

_decoder: msgspec.json.Decoder[Tree] = msgspec.json.Decoder(Tree)


class Owner(Struct, frozen=True, rename="camel", gc=False):
    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class Head(Struct, frozen=True, rename="camel"):
    """The part of the metadata that is read without decoding the object."""

    name: str
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] = ()


class Version(Struct):
    """One state of one object; `body` starts with kind, apiVersion and the resource version, in this order."""

    key: Key
    revision: int
    head: Head
    body: bytes

    def tree(self) -> Tree:
        """A fresh tree that the caller may change."""
        return _decoder.decode(self.body)


class Event(Struct):
    """What one write did; `new` of a deletion is the last state under the revision of the deletion."""

    type: str
    revision: int
    new: Version
    old: Version | None = None
    _line: bytes | None = None

    def line(self) -> bytes:
        """As sent on a watch, with the line break."""
        if self._line is None:
            self._line = b"".join((_BEGINNINGS[self.type], self.new.body, b"}\n"))
            _lined.append(self)
            if len(_lined) > LINES:
                _lined.popleft().forget_line()
        return self._line

    def forget_line(self) -> None:
        """It is built anew for whoever still needs it."""
        self._line = None

    def tree(self) -> Tree:
        return self.new.tree()


_lined: deque[Event] = deque()
"""Events that keep their lines."""


class Author(Struct, frozen=True):
    """Who wrote, and how."""

    user: str
    verb: str
    subresource: str = ""


Match = Callable[[Version], bool]


def timestamp() -> str:
    """Now, in whole seconds as metadata carries it."""
    return clock.seconds(clock.now())


def encode(tree: Tree, revision: int) -> bytes:
    """The body of a version: the same fields, the identifying ones first."""
    metadata = {"resourceVersion": str(revision)} | {
        key: value for key, value in tree["metadata"].items() if key != "resourceVersion"
    }
    first = {"kind": tree["kind"], "apiVersion": tree["apiVersion"], "metadata": metadata}
    return msgspec.json.encode(first | {key: value for key, value in tree.items() if key not in first})


class _Outline(Struct, frozen=True):
    metadata: Head


class _Stamp(Struct, frozen=True):
    resource_version: str = field(name="resourceVersion")


class _Stamped(Struct, frozen=True):
    metadata: _Stamp


def restored(body: bytes) -> Version:
    """The version whose body this is."""
    head = msgspec.json.decode(body, type=_Outline).metadata
    stamp = msgspec.json.decode(body, type=_Stamped).metadata
    return Version((head.namespace, head.name), int(stamp.resource_version), head, body)


def _stamped(body: bytes, revision: int) -> bytes:
    start = body.index(STAMP) + len(STAMP)
    return b"%b%d%b" % (body[:start], revision, body[body.index(b'"', start) :])


def _restamped(version: Version, revision: int) -> Version:
    return Version(version.key, revision, version.head, _stamped(version.body, revision))


Listener = Callable[[Resource, Event, Author], None]


class Watcher:
    """Events of one table from a revision on, in order; iterate it, and close it when done.

    With a lag, each event becomes visible that long after the write, never before its predecessor.
    """

    def __init__(self, table: Table, match: Match | None, lag: tuple[float, float], draws: Draws) -> None:
        self._table = table
        self._match = match
        self._lag = lag
        self._draws = draws
        self._queue: deque[tuple[float, Event]] = deque()
        self._latest_due = 0.0
        self._wake: asyncio.Future[None] | None = None
        self._closed = False
        self.floor = 0
        """Nothing up to here is handed out."""
        self.revision = 0
        """Everything up to here has been handed out, or is part of the backlog."""
        self.backlog = 0
        """How many events there were when it was opened."""
        self.is_bounded = False
        """Whether it is ended when what it has not handed out is older than the history."""
        self._later = 0
        """How many events it was given since it is bounded."""

    def push(self, event: Event, now: float | None) -> None:
        """Takes an event if it concerns this watcher, as what it means to it; what is past (None) has no lag."""
        if event.revision <= self.floor:
            return
        seen = event if self._match is None else self._translated(event, self._match)
        if seen is None or (self.is_bounded and self._is_behind()):
            return
        due = 0.0
        if now is not None and self._lag[1] > 0:
            due = ((now + self._draws.between(*self._lag)) // TICK + 1) * TICK
            if due < self._latest_due:
                due = self._latest_due
            else:
                self._latest_due = due
        self._queue.append((due, seen))
        if self._wake is not None:
            self._notify()

    def _is_behind(self) -> bool:
        """Whether it is ended; the backlog, which is mostly older than the history, does not count."""
        queue = self._queue
        first = max(0, len(queue) - self._later)
        if first < len(queue) and queue[first][1].revision <= self._table.lost:
            self._closed = True
            queue.clear()
            self._notify()
        self._later += 1
        return self._closed

    @staticmethod
    def _translated(event: Event, match: Match) -> Event | None:
        """An object that starts or stops to match is added or deleted for this watcher."""
        now = event.type != "DELETED" and match(event.new)
        before = event.old is not None and match(event.old)
        if now and before:
            return event
        if now:
            return event if event.type == "ADDED" else Event("ADDED", event.revision, event.new)
        if before and event.old is not None:
            if event.type == "DELETED":
                return event
            return Event("DELETED", event.revision, _restamped(event.old, event.revision), event.old)
        return None

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def next(self, until: float | None = None) -> Event | None:
        """The next event; None at the loop time `until`, and when the watcher was closed."""
        while not self._closed:
            due = self._queue[0][0] if self._queue else None
            if due is not None and due <= clock.monotonic():
                event = self._queue.popleft()[1]
                self.revision = max(self.revision, event.revision)
                return event
            if until is not None and clock.monotonic() >= until:
                return None
            await self._sleep(min((time for time in (due, until) if time is not None), default=None))
        return None

    async def arrived(self, until: float | None = None, most: int | None = None) -> list[Event]:
        """The events that have arrived and were not handed out, at least one and not more than asked for.

        None at the loop time `until`, and when the watcher was closed.
        """
        event = await self.next(until)
        if event is None:
            return []
        queue = self._queue
        if not queue:
            return [event]
        events, now = [event], clock.monotonic()
        while queue and queue[0][0] <= now and len(events) != most:
            events.append(queue.popleft()[1])
        self.revision = max(self.revision, events[-1].revision)
        return events

    async def _sleep(self, until: float | None) -> None:
        loop = asyncio.get_running_loop()
        self._wake = loop.create_future()
        timer = None if until is None else loop.call_at(until, self._notify)
        try:
            await self._wake
        finally:
            self._wake = None
            if timer is not None:
                timer.cancel()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self.next()) is not None:
            yield event

    def __len__(self) -> int:
        """How many events wait to be handed out."""
        return len(self._queue)

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Ends the iteration; nothing more is kept for this watcher."""
        self._closed = True
        self._queue.clear()
        self._table.forget(self)
        self._notify()


class Table:
    """The objects of one resource."""

    def __init__(self, store: Store, resource: Resource, history: int, lost: int) -> None:
        self._store = store
        self.resource = resource
        self.live: dict[Key, Version] = {}
        self.changed = 0
        """The revision of the last write."""
        self.listeners: list[Listener] = []
        """Who hears of writes to this table, beside those who hear of all."""
        self._history: deque[Event] = deque()
        self._held = 0
        """Bytes of what the history holds."""
        self._longest = history
        self._lost = lost
        self._watchers: dict[Watcher, None] = {}
        self._frozen: dict[tuple[int, object], list[Version]] = {}

    def write(self, tree: Tree, old: Version | None, author: Author) -> Version:
        """Stores the tree as the newest version of its object; its metadata gets the new resource version."""
        revision = self._store.advance()
        tree["metadata"]["resourceVersion"] = str(revision)
        head = msgspec.convert(tree["metadata"], Head)
        key = (head.namespace, head.name) if old is None else old.key
        new = self.live[key] = Version(key, revision, head, encode(tree, revision))
        self._publish(Event("ADDED" if old is None else "MODIFIED", revision, new, old), author)
        return new

    def born(self, key: Key, head: Head, body: bytes, author: Author) -> Version:
        """Stores a body as the first version of an object; it gets the new resource version."""
        return self._put(None, key, head, body, author)

    def rewrite(self, old: Version, head: Head, body: bytes, author: Author) -> Version:
        """Stores a body as the newest version of the object; it gets the new resource version."""
        return self._put(old, old.key, head, body, author)

    def _put(self, old: Version | None, key: Key, head: Head, body: bytes, author: Author) -> Version:
        revision = self._store.advance()
        new = self.live[key] = Version(key, revision, head, _stamped(body, revision))
        self._publish(Event("ADDED" if old is None else "MODIFIED", revision, new, old), author)
        return new

    def remove(self, old: Version, author: Author) -> Version:
        """Takes the object away; its last state is kept under a new resource version."""
        new = _restamped(old, self._store.advance())
        del self.live[old.key]
        self._publish(Event("DELETED", new.revision, new, old), author)
        return new

    def _publish(self, event: Event, author: Author) -> None:
        self.changed = event.revision
        self._history.append(event)
        self._held += len(event.new.body)
        while len(self._history) > self._longest or self._held > HISTORY_BYTES:
            self._forget_oldest()
        self._store.note(self, event, author)
        if self._watchers:
            now = clock.monotonic()
            for watcher in self._watchers:
                watcher.push(event, now)

    def _forget_oldest(self) -> None:
        oldest = self._history.popleft()
        self._held -= len(oldest.new.body)
        self._lost = oldest.revision

    @property
    def lost(self) -> int:
        """Everything up to this revision is forgotten."""
        return self._lost

    def watch(self, since: int | None, match: Match | None, lag: tuple[float, float]) -> Watcher:
        """Watches from just after a revision, or, without one, from now on after everything that is there."""
        missed = self._snapshot() if since is None else self._since(since)
        watcher = Watcher(self, match, lag, self._store.draws("watch"))
        watcher.revision = self._store.revision if since is None else since
        watcher.floor = 0 if since is None else since
        for event in missed:
            watcher.push(event, None)
        watcher.backlog = len(watcher)
        self._watchers[watcher] = None
        return watcher

    def forget(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)

    def _snapshot(self) -> list[Event]:
        return [Event("ADDED", version.revision, version) for version in self.at(None)]

    def _since(self, revision: int) -> list[Event]:
        if revision < self._lost:
            raise expired(f"too old resource version: {revision} ({self._lost})")
        missed: list[Event] = []
        for event in reversed(self._history):
            if event.revision <= revision:
                break
            missed.append(event)
        return missed[::-1]

    def at(self, revision: int | None) -> list[Version]:
        """All objects as of a revision (None: now), in the order of their keys."""
        live = self.live
        if revision is not None:
            if revision > self._store.revision:
                raise too_large_version(revision, self._store.revision)
            later = self._since(revision)
            live = dict(live) if later else live
            for event in reversed(later):
                if event.old is None:
                    live.pop(event.new.key, None)
                else:
                    live[event.old.key] = event.old
        return [live[key] for key in sorted(live)]

    def frozen(self, revision: int, query: object, select: Callable[[list[Version]], list[Version]]) -> list[Version]:
        """A selection as of a revision, kept for a while because it is read page by page."""
        if revision < self._lost:
            raise expired(f"too old resource version: {revision} ({self._lost})")
        found = self._frozen.get((revision, query))
        if found is None:
            found = self._frozen[revision, query] = select(self.at(revision))
            if len(self._frozen) > FROZEN_LISTS:
                del self._frozen[next(iter(self._frozen))]
        return found

    def compact(self, revision: int) -> None:
        """Forgets the history up to and including a revision."""
        while self._history and self._history[0].revision <= revision:
            self._forget_oldest()
        self._lost = max(self._lost, revision)
        self._frozen.clear()

    def close_watchers(self) -> None:
        for watcher in list(self._watchers):
            watcher.close()


class Store:
    """All tables of a cluster and the counter they share."""

    def __init__(self, seed: int | None = 0, *, history: int = HISTORY) -> None:
        self.revision = 0
        self._seed = seed
        self._history = history
        self._forgotten = 0
        """Everything up to here is forgotten by all, those included whose resource was not used yet."""
        self._tables: dict[Resource, Table] = {}
        self._listeners: list[Listener] = []
        self._draws: dict[str, Draws] = {}

    def table(self, resource: Resource) -> Table:
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = Table(self, resource, self._history, self._forgotten)
        return table

    def everything(self) -> Iterator[tuple[Resource, Version]]:
        """Every object there is, in the order of keys within its resource."""
        for resource, table in self._tables.items():
            for version in table.at(None):
                yield resource, version

    def restore(self, revision: int, objects: Iterable[tuple[Resource, bytes]]) -> None:
        """Holds these objects and no others, at this revision; nobody is told, and nothing before can be watched."""
        for table in self._tables.values():
            table.live.clear()
        for resource, body in objects:
            version = restored(body)
            self.table(resource).live[version.key] = version
        for table in self._tables.values():
            table.changed = revision
        self.revision = revision
        self.compact()

    def advance(self) -> int:
        self.revision += 1
        return self.revision

    def draws(self, purpose: str) -> Draws:
        """The stream of draws for a purpose."""
        found = self._draws.get(purpose)
        if found is None:
            found = self._draws[purpose] = Draws(self._seed, purpose)
        return found

    def listen(self, listener: Listener, *resources: Resource) -> None:
        """Has the listener called with every write, or with every write to these, before watchers see it."""
        if not resources:
            self._listeners.append(listener)
        for resource in resources:
            self.table(resource).listeners.append(listener)

    def note(self, table: Table, event: Event, author: Author) -> None:
        for listener in self._listeners:
            listener(table.resource, event, author)
        for listener in table.listeners:
            listener(table.resource, event, author)

    def compact(self, revision: int | None = None) -> None:
        """Forgets all history up to a revision (None: all there is): resuming before it is answered with 410."""
        self._forgotten = max(self._forgotten, self.revision if revision is None else revision)
        for table in self._tables.values():
            table.compact(self._forgotten)

    def close_watchers(self) -> None:
        """Ends every open watch, as a server that goes down does."""
        for table in self._tables.values():
            table.close_watchers()
