"""Where objects are kept: their versions, the history of these, and those who watch.

One counter numbers all writes of the cluster. Lists at a past version are rebuilt from the history; what is older than
the history is answered with 410, as `compact` can bring about at will.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping

import msgspec

from kubeloop import clock
from kubeloop.objects.meta import Resource
from kubesim.draws import Draws
from kubesim.errors import expired, too_large_version
from kubesim.store.versions import (
    Author,
    Event,
    Head,
    Key,
    Match,
    Parted,
    Tree,
    Version,
    encode,
    restamped,
    stamped,
)
from kubesim.store.watchers import Watcher

HISTORY, HISTORY_BYTES = 20_000, 32_000_000
"""The most events of a table that are remembered, and the most bytes of them."""
FROZEN_LISTS = 16

Listener = Callable[[Resource, Event, Author], None]


class Table:
    """The objects of one resource."""

    def __init__(self, store: Store, resource: Resource, history: int, lost: int) -> None:
        self.store = store
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
        revision = self.store.advance()
        tree["metadata"]["resourceVersion"] = str(revision)
        head = msgspec.convert(tree["metadata"], Head)
        key = (head.namespace, head.name) if old is None else old.key
        new = self.live[key] = Version(key, revision, head, encode(tree, revision))
        self._publish(Event("ADDED" if old is None else "MODIFIED", revision, new, old), author)
        return new

    def born(self, key: Key, head: Head, body: bytes | Parted, author: Author) -> Version:
        """Stores a body as the first version of an object; it gets the new resource version."""
        return self._put(None, key, head, body, author)

    def rewrite(self, old: Version, head: Head, body: bytes | Parted, author: Author) -> Version:
        """Stores a body as the newest version of the object; it gets the new resource version."""
        return self._put(old, old.key, head, body, author)

    def _put(self, old: Version | None, key: Key, head: Head, body: bytes | Parted, author: Author) -> Version:
        revision = self.store.advance()
        kept = stamped(body, revision) if isinstance(body, bytes) else body
        new = self.live[key] = Version(key, revision, head, kept)
        self._publish(Event("ADDED" if old is None else "MODIFIED", revision, new, old), author)
        return new

    def remove(self, old: Version, author: Author) -> Version:
        """Takes the object away; its last state is kept under a new resource version."""
        new = restamped(old, self.store.advance())
        del self.live[old.key]
        self._publish(Event("DELETED", new.revision, new, old), author)
        return new

    def _publish(self, event: Event, author: Author) -> None:
        self.changed = event.revision
        self._history.append(event)
        self._held += len(event.new.kept)
        while len(self._history) > self._longest or self._held > HISTORY_BYTES:
            self._forget_oldest()
        self.store.note(self, event, author)
        if self._watchers:
            now = clock.monotonic()
            for watcher in self._watchers:
                watcher.push(event, now)

    def _forget_oldest(self) -> None:
        oldest = self._history.popleft()
        self._held -= len(oldest.new.kept)
        self._lost = oldest.revision

    @property
    def lost(self) -> int:
        """Everything up to this revision is forgotten."""
        return self._lost

    def watch(self, since: int | None, match: Match | None, lag: tuple[float, float]) -> Watcher:
        """Watches from just after a revision, or, without one, from now on after everything that is there."""
        missed = self._snapshot() if since is None else self._since(since)
        watcher = Watcher(self, match, lag, self.store.draws("watch"))
        watcher.revision = self.store.revision if since is None else since
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
            if revision > self.store.revision:
                raise too_large_version(revision, self.store.revision)
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

    def end_watchers(self) -> None:
        """Each is told what there was to tell, and then ends."""
        for watcher in list(self._watchers):
            watcher.end()


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
        self.since = 0
        """The revision that it began with."""

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

    def hold(
        self, revision: int, tables: Mapping[Resource, Mapping[Key, Version]], but_for: Collection[Resource] = ()
    ) -> None:
        """Holds these objects and no others, at this revision; what it has of the resources `but_for` stays.

        Nobody is told, and nothing before can be watched. What is drawn from now on was never drawn by who held them
        before, so that new names and UIDs are new.
        """
        for table in self._tables.values():
            if table.resource not in but_for:
                table.live.clear()
            # What stays must not be newer than what comes after it.
            revision = max((revision, *(version.revision for version in table.live.values())))
        for resource, versions in tables.items():
            self.table(resource).live.update(versions)
        for table in self._tables.values():
            table.changed = revision
        self.revision = revision
        self.since = revision
        self._draws.clear()
        self.compact()

    def tables(self) -> dict[Resource, dict[Key, Version]]:
        """What is held now, in tables of the caller's own."""
        return {resource: dict(table.live) for resource, table in self._tables.items()}

    def advance(self) -> int:
        self.revision += 1
        return self.revision

    def draws(self, purpose: str) -> Draws:
        """The stream of draws for a purpose."""
        found = self._draws.get(purpose)
        if found is None:
            named = f"{purpose} since {self.since}" if self.since else purpose
            found = self._draws[purpose] = Draws(self._seed, named)
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
