"""What was last seen of one resource: objects by name, and by whatever index the readers need.

Objects are frozen, so they are handed out without copying. Every answer is ordered by namespace and name, whatever
the order of arrival, so that decisions made from it are repeatable. A change costs the same however many objects are
held; the order of an answer is worked out when it is read and kept until something in it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from kubeloop.objects.meta import Meta


class HasName(Protocol):
    """What tells objects of one resource apart."""

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...


class Placed(Protocol):
    """Anything that lies in a place."""

    @property
    def metadata(self) -> HasName: ...


class Named(Protocol):
    """Anything with metadata."""

    @property
    def metadata(self) -> Meta: ...


T = TypeVar("T", bound=Named)
P = TypeVar("P", bound=Placed)
S_co = TypeVar("S_co", bound=Placed, covariant=True)
Key = tuple[str, str]
Index = Callable[[P], Iterable[str]]


class Readable(Protocol[S_co]):
    """The half of a store that readers use."""

    def get(self, namespace: str, name: str) -> S_co | None: ...

    def by(self, index: str, value: str) -> tuple[S_co, ...]: ...

    def items(self) -> tuple[S_co, ...]: ...


def key_of(item: Placed) -> Key:
    """Where a store keeps the object."""
    return item.metadata.namespace, item.metadata.name


class _Shelf(Generic[P]):
    """Objects by key, and their order once somebody asked for it."""

    __slots__ = ("objects", "ordered")

    def __init__(self) -> None:
        self.objects: dict[Key, P] = {}
        self.ordered: tuple[P, ...] | None = None
        """Either None or exactly the values of `objects`, sorted by key."""

    def put(self, key: Key, item: P) -> None:
        self.objects[key] = item
        self.ordered = None

    def drop(self, key: Key) -> None:
        self.objects.pop(key, None)
        self.ordered = None

    def all(self) -> tuple[P, ...]:
        if self.ordered is None:
            self.ordered = tuple(self.objects[key] for key in sorted(self.objects))
        return self.ordered


class Store(Generic[P]):
    """Objects of one resource; an index maps an object to the values it is found under."""

    def __init__(self, indexes: Mapping[str, Index[P]] = {}) -> None:
        self._indexes = dict(indexes)
        self._everything: _Shelf[P] = _Shelf()
        self._shelves: dict[str, dict[str, _Shelf[P]]] = {name: {} for name in indexes}
        """Per index and value the objects that have this value now; no shelf is empty."""

    def add_indexes(self, indexes: Mapping[str, Index[P]]) -> None:
        """From now on objects are found by them as well, those that are held already included.

        A name stands for one index, however often it is added: readers that share a store share the names.
        """
        for name, index in indexes.items():
            if name not in self._indexes:
                self._add_index(name, index)
            elif self._indexes[name] is not index:
                raise ValueError(f"the index {name!r} is another one already: give yours a name of its own")

    def _add_index(self, name: str, index: Index[P]) -> None:
        self._indexes[name] = index
        self._shelves[name] = {}
        for key, item in self._everything.objects.items():
            for value in index(item):
                self._shelves[name].setdefault(value, _Shelf()).put(key, item)

    def __len__(self) -> int:
        return len(self._everything.objects)

    def get(self, namespace: str, name: str) -> P | None:
        return self._everything.objects.get((namespace, name))

    def by(self, index: str, value: str) -> tuple[P, ...]:
        """All objects with this value, ordered by namespace and name."""
        shelf = self._shelves[index].get(value)
        return shelf.all() if shelf is not None else ()

    def items(self) -> tuple[P, ...]:
        """All objects, ordered by namespace and name."""
        return self._everything.all()

    def put(self, item: P, key: Key | None = None) -> P | None:
        """Holds the object instead of what had its name; answers with what had it.

        Who has the key of the object gives it, so that it is not held twice.
        """
        key = key or key_of(item)
        old = self._everything.objects.get(key)
        self._everything.put(key, item)
        for name, index in self._indexes.items():
            values = tuple(index(item))
            if old is not None and (before := tuple(index(old))) != values:
                self._take_from(name, (value for value in before if value not in values), key)
            shelves = self._shelves[name]
            for value in values:
                shelf = shelves.get(value)
                if shelf is None:
                    shelf = shelves[value] = _Shelf()
                shelf.put(key, item)
        return old

    def remove(self, namespace: str, name: str) -> P | None:
        """Holds no object of this name afterwards; answers with the one it held."""
        key = (namespace, name)
        old = self._everything.objects.get(key)
        if old is not None:
            self._everything.drop(key)
            for index_name, index in self._indexes.items():
                self._take_from(index_name, index(old), key)
        return old

    def _take_from(self, index: str, values: Iterable[str], key: Key) -> None:
        shelves = self._shelves[index]
        for value in values:
            shelf = shelves.get(value)
            if shelf is not None:
                shelf.drop(key)
                if not shelf.objects:
                    del shelves[value]
