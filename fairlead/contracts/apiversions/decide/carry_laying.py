"""Carried leaves laid over a body again, where nobody has changed what they were derived from."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from fairlead.contracts.apiversions.decide.carry_entries import CarryEntry, Path, in_order
from fairlead.contracts.apiversions.decide.pointers import STAR, Pointer
from fairlead.contracts.apiversions.decide.shapes import Key, Shape
from fairlead.contracts.apiversions.decide.trees import Absent, Tree, copied, same


def laid(body: Tree, entries: Iterable[CarryEntry], shape: Shape, sticky: Iterable[Pointer] = ()) -> int:
    """Changes the body, which is of this shape, in place, and copies what is inside of it and changes; answers how many
    entries were stale and count for nothing."""
    ordered, fixed = sorted(entries, key=in_order), tuple(sticky)
    if not ordered:
        return 0
    for each in ordered:
        _own(body, each.path)
    before = {each.path: _order(body, each) for each in ordered if each.is_order}
    return sum(not _lay(body, each, shape, before, fixed) for each in ordered)


def _own(tree: Any, path: Path) -> None:
    """What stands along the path is nobody else's."""
    for segment in path:
        if isinstance(segment, str):
            key: Any = segment if isinstance(tree, dict) and segment in tree else None
        else:
            key = _index(tree, segment)
        if key is None or not isinstance(tree[key], dict | list):
            return
        tree[key] = tree[key].copy()
        tree = tree[key]


def _lay(body: Tree, entry: CarryEntry, shape: Shape, before: dict[Path, Any], sticky: tuple[Pointer, ...]) -> bool:
    if at(body, entry.path[: entry.ancestor]) is Absent:
        return False
    if entry.is_order:
        return same(before[entry.path], entry.guard) and _reorder(body, entry)
    value = at(body, entry.path)
    if value is not Absent and entry.wanted is not Absent and same(value, entry.wanted):
        return True  # as a key of an item that another entry brought back
    is_free = any(_covers(each, entry.path) for each in sticky)
    if not is_free and not _is_guarded(value, entry.guard):
        return False
    if entry.wanted is Absent:
        return _removed(body, entry.path)
    return _set(body, entry.path, copied(entry.wanted), shape)


def _is_guarded(value: Any, guard: Any) -> bool:
    return value is guard if Absent in (value, guard) else same(value, guard)


def _covers(sticky: Pointer, path: Path) -> bool:
    return len(sticky) <= len(path) and all(
        one in (STAR, other) if isinstance(other, str) else one == STAR
        for one, other in zip(sticky, path, strict=False)
    )


def at(tree: Any, path: Path) -> Any:
    for segment in path:
        if isinstance(segment, str):
            tree = tree.get(segment, Absent) if isinstance(tree, dict) else Absent
        else:
            tree = _item(tree, segment)
        if tree is Absent:
            return Absent
    return tree


def _item(tree: Any, key: Key) -> Any:
    index = _index(tree, key)
    return Absent if index is None else tree[index]


def _index(tree: Any, key: Key) -> int | None:
    if not isinstance(tree, list):
        return None
    for index, each in enumerate(tree):
        if isinstance(each, dict) and all(name in each and same(each[name], value) for name, value in key):
            return index
    return None


def _set(tree: Any, path: Path, value: Any, shape: Shape) -> bool:
    """False where something else stands in the way.

    Null where the schema takes none is nothing: server-side apply leaves it of an object whose fields it takes out.
    """
    for segment, after in pairwise(path):
        below = at(tree, (segment,))
        shape = shape.child(segment) if isinstance(segment, str) else shape.item
        if below is Absent or (below is None and not shape.is_nullable):
            below = {} if isinstance(after, str) else []
            if not _set_here(tree, segment, below):
                return False
            below = at(tree, (segment,))
        tree = below
    return _set_here(tree, path[-1], value)


def _set_here(tree: Any, segment: str | Key, value: Any) -> bool:
    if isinstance(segment, str):
        if not isinstance(tree, dict):
            return False
        tree[segment] = value
        return True
    if not isinstance(tree, list):
        return False
    index = _index(tree, segment)
    if index is not None:
        tree[index] = value
    else:
        tree.append({**dict(segment), **value} if isinstance(value, dict) else value)
    return True


def _removed(tree: Any, path: Path) -> bool:
    parent, last = at(tree, path[:-1]), path[-1]
    if isinstance(last, str):
        return isinstance(parent, dict) and parent.pop(last, Absent) is not Absent
    index = _index(parent, last)
    if index is None:
        return False
    del parent[index]
    return True


def _order(body: Tree, entry: CarryEntry) -> list[Any]:
    """The keys of the items as they stand, of the fields that the entry names."""
    found = at(body, entry.path)
    named = (
        [*entry.wanted, *(entry.guard if isinstance(entry.guard, list) else [])]
        if isinstance(entry.wanted, list)
        else []
    )
    fields = sorted({name for each in named if isinstance(each, dict) for name in each})
    if not isinstance(found, list):
        return []
    return [{name: each[name] for name in fields if name in each} for each in found if isinstance(each, dict)]


def _reorder(body: Tree, entry: CarryEntry) -> bool:
    found = at(body, entry.path)
    if not isinstance(found, list) or not isinstance(entry.wanted, list):
        return False
    places = [tuple(sorted(each.items())) for each in entry.wanted if isinstance(each, dict)]

    def place(item: Any) -> int:
        return next((index for index, key in enumerate(places) if _index([item], key) is not None), len(places))

    found.sort(key=place)
    return True
