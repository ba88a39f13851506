"""Every accepted write, in order, for those who check what must never happen.

Entries share the stored bytes; trees are decoded when they are asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime

from msgspec import Struct

from kubeloop import clock
from kubeloop.objects.meta import Resource
from kubesim.store.store import Store
from kubesim.store.versions import Author, Event, Tree


class Entry(Struct, frozen=True):
    """One write: when, what, by whom."""

    at: datetime
    resource: Resource
    event: Event
    author: Author

    @property
    def type(self) -> str:
        """ADDED, MODIFIED or DELETED."""
        return self.event.type

    @property
    def old(self) -> Tree | None:
        """The object before, None when it was created."""
        return None if self.event.old is None else self.event.old.tree()

    @property
    def new(self) -> Tree:
        """The object after; of a deletion, its last state."""
        return self.event.new.tree()

    @property
    def namespace(self) -> str:
        return self.event.new.key[0]

    @property
    def name(self) -> str:
        return self.event.new.key[1]

    @property
    def user(self) -> str:
        return self.author.user

    @property
    def verb(self) -> str:
        return self.author.verb

    @property
    def subresource(self) -> str:
        return self.author.subresource


class History:
    """The writes of a store from now on."""

    def __init__(self, store: Store) -> None:
        self.entries: list[Entry] = []
        self._listeners: list[Callable[[Entry], None]] = []
        store.listen(self._note)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def digest(self) -> str:
        """Of all writes: when, what, by whom; equal runs have equal ones."""
        found = hashlib.blake2b(digest_size=16)
        for entry in self.entries:
            event, author = entry.event, entry.author
            head = (entry.at.isoformat(), entry.resource.plural, event.type, author.user, author.verb)
            found.update("\t".join((*head, author.subresource, "")).encode())
            found.update(event.new.body)
        return found.hexdigest()

    def of(self, resource: Resource, name: str = "") -> list[Entry]:
        """Writes to one resource, or to the objects of one name."""
        return [entry for entry in self.entries if entry.resource == resource and name in ("", entry.name)]

    def listen(self, listener: Callable[[Entry], None]) -> None:
        """Has the listener called with every write as it happens; what it raises reaches the writer."""
        self._listeners.append(listener)

    def _note(self, resource: Resource, event: Event, author: Author) -> None:
        entry = Entry(clock.now(), resource, event, author)
        self.entries.append(entry)
        for listener in self._listeners:
            listener(entry)
