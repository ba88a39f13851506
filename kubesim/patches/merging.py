"""Two objects merged into one, and one without some of its fields, by the rules of structured merging."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kubesim.patches import field_sets
from kubesim.patches.comparing import ABSENT, is_filled, items_of, word
from kubesim.patches.field_sets import Fields, Path
from kubesim.patches.places import MAP, SCALAR, MergePlace
from kubesim.store.versions import Tree

_KNOWN = 1024
_END = ""
_Branch = dict[str, Any]


# Two merged into one


def merge(place: MergePlace, live: Tree, config: Tree) -> Tree:
    """The live object with what the configuration says; nothing is taken away."""
    merged = _merge(place, live, config)
    return merged if isinstance(merged, dict) else {}


def _merge(place: MergePlace, live: Any, config: Any) -> Any:
    """ABSENT where nothing comes of it."""
    # Where the two have different shapes, the configuration's is the one that lasts.
    shape = place.shape(live if config is ABSENT else config)
    kind, atomic = (dict, place.atomic_map) if shape == MAP else (list, place.atomic_list)
    if shape == SCALAR or atomic or not is_filled(live, kind, config):
        return live if config is ABSENT else config
    if shape == MAP:
        return _merge_maps(place, live, config)
    return _merge_lists(place, live if isinstance(live, list) else [], config if isinstance(config, list) else [])


def _merge_maps(place: MergePlace, live: Any, config: Any) -> Any:
    before: Tree = live if isinstance(live, dict) else {}
    said: Tree = config if isinstance(config, dict) else {}
    merged: Tree = {}
    for key in {**before, **said}:
        child = place.child(key)
        old, new = before.get(key, ABSENT), said.get(key, ABSENT)
        value = (old if new is ABSENT else new) if child is None else _merge(child, old, new)
        if value is not ABSENT:
            merged[key] = value
    return merged or ABSENT


def _merge_lists(place: MergePlace, live: list[Any], config: list[Any]) -> Any:
    """Items that both have come in the order of the configuration, the others where they stood."""
    weave = _Weave(place, live, config)
    merged = [each for each in weave.items() if each is not ABSENT]
    return merged or ABSENT


class _Weave:
    """The order of a merged list."""

    def __init__(self, place: MergePlace, live: list[Any], config: list[Any]) -> None:
        self._place = place
        self._live = live
        self._left = [word(place, each) for each in live]
        self._right = [word(place, each) for each in config]
        # An item that occurs twice is not merged with the one that replaces it.
        self._before = {
            name: None if self._left.count(name) > 1 else each for name, each in zip(self._left, live, strict=True)
        }
        self._said = dict(zip(self._right, config, strict=True))
        self._shared = [name for name in self._right if name in self._before]
        self._merged: list[Any] = []
        self._taken: set[str] = set()

    def items(self) -> list[Any]:
        at_left = at_right = 0
        left, right = self._left, self._right
        while at_left < len(left) or at_right < len(right):
            if at_left < len(left) and at_right < len(right):
                if left[at_left] == right[at_right]:
                    self._take(right[at_right])
                    self._shared = self._shared[1:]
                    at_left += 1
                    at_right += 1
                    continue
                if left[at_left] in self._said and self._shared and self._shared[0] != left[at_left]:
                    at_left += 1  # both have it, and others that both have come before it
                    continue
            if at_left < len(left):
                if left[at_left] not in self._said:
                    self._merged.append(_merge(items_of(self._place), self._live[at_left], ABSENT))
                    at_left += 1
                    continue
                if left[at_left] in self._taken:
                    at_left += 1
            if at_right < len(right):
                self._take(right[at_right])
                if self._shared and self._shared[0] == right[at_right]:
                    self._shared = self._shared[1:]
                at_right += 1
        return self._merged

    def _take(self, name: str) -> None:
        self._taken.add(name)
        self._merged.append(_merge(items_of(self._place), self._before.get(name, ABSENT), self._said[name]))


# One without some of its fields


def remove(place: MergePlace, tree: Tree, fields: Fields) -> Tree:
    """The object without these fields."""
    if not fields:
        return tree
    left = _remove(place, tree, _branches(fields))
    return left if isinstance(left, dict) else {}


def _branches(fields: Fields) -> _Branch:
    root: _Branch = {}
    for path in fields:
        node = root
        for name in path:
            node = node.setdefault(name, {})
        node[_END] = True
    return root


def _remove(place: MergePlace, value: Any, gone: _Branch) -> Any:
    shape = place.shape(value)
    if shape == SCALAR:
        return value
    if shape == MAP:
        return _remove_keys(place, value, gone) if isinstance(value, dict) and not place.atomic_map else None
    return _remove_items(place, value, gone) if isinstance(value, list) and not place.atomic_list else None


def _remove_keys(place: MergePlace, value: Tree, gone: _Branch) -> Tree | None:
    left: Tree = {}
    for key, each in value.items():
        branch = gone.get(field_sets.field(key))
        if branch is None:
            left[key] = each
        elif _END not in branch:
            child = place.child(key)
            left[key] = each if child is None else _remove(child, each, branch)
    return left or None


def _remove_items(place: MergePlace, value: list[Any], gone: _Branch) -> list[Any] | None:
    left: list[Any] = []
    for each in value:
        branch = gone.get(word(place, each))
        if branch is None:
            left.append(each)
        elif _END not in branch:
            left.append(_remove(items_of(place), each, branch))
    return left or None


# Sets and schemas


def with_parents(place: MergePlace, fields: Fields) -> Fields:
    """The set with the fields of structs that lie on the way to its members, which sets usually leave out."""
    found = set(fields)
    for path in fields:
        at: MergePlace | None = place
        for length, name in enumerate(path[:-1], start=1):
            if at is None:
                break
            if name.startswith("f:") and at.has_map:
                if name[2:] in at.fields:
                    found.add(path[:length])
                at = at.child(name[2:])
            else:
                at = at.items if name.startswith("k:") and at.has_list else None
    return frozenset(found)


@lru_cache(_KNOWN)
def reconciled(place: MergePlace, fields: Fields) -> Fields:
    """The set as the schema has it by now: who owned parts of what is owned as a whole owns the whole."""
    return frozenset(_whole(place, path) for path in fields)


def _whole(place: MergePlace, path: Path) -> Path:
    at: MergePlace | None = place
    for length, name in enumerate(path):
        if at is None:
            break
        first = at.first()
        if first == SCALAR or (first == MAP and at.is_deduced):
            break
        if at.atomic_map if first == MAP else at.atomic_list:
            return path[:length]
        at = (at.child(name[2:]) if name.startswith("f:") else at.rest) if first == MAP else at.items
    return path
