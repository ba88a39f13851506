"""What objects have and how they differ, field by field, by the rules of structured merging.

An empty map or list is a leaf, null stands for either, and items that occur twice are owned together: who owns what
depends on such corners, so they are the server's.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from kubesim.bodies.equality import alike
from kubesim.patches import field_sets
from kubesim.patches.field_sets import Fields, Path
from kubesim.patches.places import LIST, MAP, SCALAR, MergePlace
from kubesim.store.versions import Tree


class _Absent:
    """There is no value, not even null."""


ABSENT = _Absent()


class Comparison(Struct):
    """What a change removes, modifies and adds."""

    removed: Fields
    modified: Fields
    added: Fields

    def without(self, roots: Fields) -> Comparison:
        """Leaves out what happens at these paths and below."""
        cut = field_sets.without
        return Comparison(cut(self.removed, roots), cut(self.modified, roots), cut(self.added, roots))


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON; their text tells it fast where they also have the same order."""
    return bool(left == right) and (msgspec.json.encode(left) == msgspec.json.encode(right) or alike(left, right))


def word(place: MergePlace, item: Any) -> str:
    """What tells an item of a list apart."""
    if not place.keys:
        return field_sets.item(item)
    found: Tree = item if isinstance(item, dict) else {}
    return field_sets.key(
        {
            key: found[key] if key in found else place.defaults[key]
            for key in place.keys
            if key in found or key in place.defaults
        }
    )


def items_of(place: MergePlace) -> MergePlace:
    """The place of a list's items."""
    assert place.items is not None  # noqa: S101  every list has a place for its items
    return place.items


# The fields of an object


def fields_of(place: MergePlace, value: Any) -> Fields:
    """Every leaf, and every part that somebody can own."""
    found: set[Path] = set()
    _gather(place, value, (), found)
    return frozenset(found)


def _gather(place: MergePlace, value: Any, path: Path, found: set[Path]) -> None:
    shape = place.shape(value)
    if shape == SCALAR or (place.atomic_map if shape == MAP else place.atomic_list):
        found.add(path)
    elif shape == MAP and isinstance(value, dict):
        for key, each in value.items():
            child = place.child(key)
            if child is None:
                continue
            below = (*path, field_sets.field(key))
            _gather(child, each, below, found)
            if each is None or each == {} or key not in place.fields:
                found.add(below)
    elif shape == LIST and isinstance(value, list):
        words = [word(place, each) for each in value]
        for each, name in zip(value, words, strict=True):
            below = (*path, name)
            if words.count(name) == 1:
                _gather(items_of(place), each, below, found)
            found.add(below)


# What differs


class _Changes:
    """Collects a comparison."""

    def __init__(self) -> None:
        self.removed: set[Path] = set()
        self.modified: set[Path] = set()
        self.added: set[Path] = set()

    def done(self) -> Comparison:
        return Comparison(frozenset(self.removed), frozenset(self.modified), frozenset(self.added))


def compare(place: MergePlace, old: Tree, new: Tree) -> Comparison:
    """What turns one object into the other."""
    changes = _Changes()
    _compare(place, old, new, (), changes)
    return changes.done()


def _compare(place: MergePlace, old: Any, new: Any, path: Path, changes: _Changes) -> None:
    if new is ABSENT:
        shapes = [place.shape(old)]
    elif old is ABSENT:
        shapes = [place.shape(new)]
    else:
        shapes = list(dict.fromkeys((place.shape(old), place.shape(new))))
    is_leaf = False
    for shape in shapes:
        is_leaf = _compare_as(shape, place, old, new, path, changes)
    if not is_leaf:
        if old is ABSENT:
            changes.added.add(path)
        elif new is ABSENT:
            changes.removed.add(path)


def _compare_as(shape: str, place: MergePlace, old: Any, new: Any, path: Path, changes: _Changes) -> bool:
    """Compares by one shape; True when the place was a leaf."""
    kind, atomic = (dict, place.atomic_map) if shape == MAP else (list, place.atomic_list)
    if shape == SCALAR or atomic or not is_filled(old, kind, new):
        if old is ABSENT:
            changes.added.add(path)
        elif new is ABSENT:
            changes.removed.add(path)
        elif not equal(old, new):
            changes.modified.add(path)
        return True
    if shape == MAP:
        _compare_maps(place, old, new, path, changes)
    else:
        _compare_lists(place, old, new, path, changes)
    return False


def is_filled(old: Any, kind: type, new: Any) -> bool:
    """Whether there is something of this kind in either."""
    return bool((isinstance(old, kind) and old) or (isinstance(new, kind) and new))


def _compare_maps(place: MergePlace, old: Any, new: Any, path: Path, changes: _Changes) -> None:
    before: Tree = old if isinstance(old, dict) else {}
    after: Tree = new if isinstance(new, dict) else {}
    for key, left in before.items():
        right = after.get(key, ABSENT)
        if equal(left, right):
            continue
        child = place.child(key)
        if child is not None:
            _compare(child, left, right, (*path, field_sets.field(key)), changes)
    for key, right in after.items():
        if key not in before:
            child = place.child(key)
            if child is not None:
                _compare(child, ABSENT, right, (*path, field_sets.field(key)), changes)


def _compare_lists(place: MergePlace, old: Any, new: Any, path: Path, changes: _Changes) -> None:
    before, after = _grouped(place, old), _grouped(place, new)
    inner = items_of(place)
    for name in {**before, **after}:
        left, right, below = before.get(name, []), after.get(name, []), (*path, name)
        if len(left) <= 1 and len(right) <= 1:
            _compare(inner, left[0] if left else ABSENT, right[0] if right else ABSENT, below, changes)
        elif len(left) > 1 and len(right) > 1:
            if not equal(left, right):
                changes.modified.add(below)
        elif len(left) > 1:
            if right:
                _compare(inner, ABSENT, right[0], below, changes)
            changes.removed.add(below)
        else:
            if left:
                _compare(inner, left[0], ABSENT, below, changes)
            changes.added.add(below)


def _grouped(place: MergePlace, value: Any) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for each in value if isinstance(value, list) else ():
        groups.setdefault(word(place, each), []).append(each)
    return groups
