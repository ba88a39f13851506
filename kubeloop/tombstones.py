"""Objects that are gone, for a reader who must act on it: the last struct of each, until it was handled.

A store forgets what is deleted, and who is woken by a deletion reads a world without the object: its UID, its labels
and its owner would be lost. A reader that needs them keeps tombstones of what its index names. They last for ten
minutes at most, and a restart forgets them: they are no record of what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, Protocol

from msgspec import Struct

from kubeloop import clock
from kubeloop.informer import Change
from kubeloop.store import Index, T, key_of

LONGEST_SECONDS = 600.0
"""For so long a tombstone stays that nobody handles."""


class Subscribable(Protocol[T]):
    """An informer, or a share of one."""

    def subscribe(self, handler: Callable[[Change[T]], None]) -> None: ...


class _Tombstone(Struct, Generic[T], frozen=True):
    item: T
    values: tuple[str, ...]
    until: float


class Tombstones(Generic[T]):
    """Those of one informer, for one reader; what leaves the selection of the informer counts as gone."""

    def __init__(self, informer: Subscribable[T], index: Index[T]) -> None:
        """Objects are found by the values that `index` gives; what it gives none for is not kept."""
        self._index = index
        self._by_uid: dict[str, _Tombstone[T]] = {}
        """In the order in which they run out."""
        self._uids: dict[str, dict[str, None]] = {}
        """By value of the index; none is empty."""
        informer.subscribe(self._changed)

    def __len__(self) -> int:
        return len(self._by_uid)

    def by(self, value: str) -> tuple[T, ...]:
        """The last structs of those that are gone, by namespace and name, of the same name the first gone first."""
        self._expire()
        items = (self._by_uid[uid].item for uid in self._uids.get(value, ()))
        return tuple(sorted(items, key=key_of))

    def forget(self, handled: Iterable[T]) -> None:
        """What became of these was seen to."""
        for item in handled:
            self._drop(item.metadata.uid)

    def forget_before(self, moment: float) -> None:
        """Whatever was gone by that loop time was seen to by somebody else."""
        for uid in [uid for uid, each in self._by_uid.items() if each.until < moment + LONGEST_SECONDS]:
            self._drop(uid)

    def _changed(self, change: Change[T]) -> None:
        self._expire()
        if change.new is not None:
            if self._by_uid:
                self._drop(change.new.metadata.uid)
        elif change.old is not None and (values := tuple(self._index(change.old))):
            uid = change.old.metadata.uid
            self._drop(uid)
            self._by_uid[uid] = _Tombstone(change.old, values, clock.monotonic() + LONGEST_SECONDS)
            for value in values:
                self._uids.setdefault(value, {})[uid] = None

    def _expire(self) -> None:
        now = clock.monotonic() if self._by_uid else 0.0
        while self._by_uid:
            uid, oldest = next(iter(self._by_uid.items()))
            if oldest.until > now:
                return
            self._drop(uid)

    def _drop(self, uid: str) -> None:
        gone = self._by_uid.pop(uid, None)
        for value in gone.values if gone is not None else ():
            uids = self._uids[value]
            uids.pop(uid, None)
            if not uids:
                del self._uids[value]
