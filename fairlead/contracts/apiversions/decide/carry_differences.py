"""What a way back would not restore: the leaves at which a body and what comes back of it differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.apiversions.decide.carry_entries import CarryEntry, Path, in_order, key_tree
from fairlead.contracts.apiversions.decide.shapes import Key, Shape, keyed
from fairlead.contracts.apiversions.decide.trees import Absent, Tree, same


def differences(version: str, body: Tree, back: Tree, shape: Shape) -> list[CarryEntry]:
    """What to keep of the body, which is of this version, so that it comes back whole."""
    found: list[CarryEntry] = []
    _between(version, body, back, shape, (), 0, found)
    return found


def _between(version: str, body: Any, back: Any, shape: Shape, path: Path, held: int, found: list[CarryEntry]) -> None:
    """`held` segments of the path lead to the innermost item or value of a map: what users make and remove.

    A field beside it may go without anybody's wish: server-side apply has objects converted that lack what nobody owns,
    such as defaults, and takes what is missing then for removed.
    """
    if type(body) is dict and type(back) is dict:
        for name, value in body.items():
            other = back.get(name, Absent)
            if value is other:
                continue  # most of an object is shared
            if other is Absent:
                found += _lost(version, value, shape.child(name), (*path, name), held)
            else:
                inner = held if name in shape.properties else len(path) + 1
                _between(version, value, other, shape.child(name), (*path, name), inner, found)
        if len(back) != len(body) or back.keys() != body.keys():
            found += [
                CarryEntry(version, (*path, name), Absent, value, len(path) + 1)
                for name, value in back.items()
                if name not in body
            ]
        return
    items, others = keyed(body, shape.keys), keyed(back, shape.keys)
    if items is not None and others is not None:
        _between_lists(version, items, others, shape, path, held, found)
    elif not same(body, back):
        found.append(CarryEntry(version, path, body, back, len(path)))


def _between_lists(
    version: str,
    items: dict[Key, Any],
    others: dict[Key, Any],
    shape: Shape,
    path: Path,
    held: int,
    found: list[CarryEntry],
) -> None:
    for key, item in items.items():
        if key in others:
            _between(version, item, others[key], shape.item, (*path, key), len(path) + 1, found)
        else:
            found += _lost(version, item, shape.item, (*path, key), held)
    for key, other in others.items():
        if key not in items:
            found.append(CarryEntry(version, (*path, key), Absent, other, len(path) + 1))
    if [*items] != _order_without(version, items, others, path):
        wanted, guard = [key_tree(key) for key in items], [key_tree(key) for key in others]
        found.append(CarryEntry(version, path, wanted, guard, len(path), is_order=True))


def _order_without(version: str, items: dict[Key, Any], others: dict[Key, Any], path: Path) -> list[Key]:
    """In which order the items come back if nothing is said of it."""
    lost = sorted(
        (key for key in items if key not in others), key=lambda key: in_order(CarryEntry(version, (*path, key)))
    )
    return [key for key in others if key in items] + lost


def _lost(version: str, value: Any, shape: Shape, path: Path, ancestor: int) -> Iterator[CarryEntry]:
    """All leaves of what does not come back at all."""
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _lost(version, each, shape.child(name), (*path, name), ancestor)
        return
    items = keyed(value, shape.keys)
    if items:
        for key, item in items.items():
            yield from _lost(version, item, shape.item, (*path, key), ancestor)
        if [*items] != _order_without(version, items, {}, path):
            yield CarryEntry(version, path, [key_tree(key) for key in items], [], ancestor, is_order=True)
        return
    yield CarryEntry(version, path, value, Absent, ancestor)
