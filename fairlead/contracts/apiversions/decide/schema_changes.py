"""What became stricter or different between two schemas of one version, and which objects that is a matter for.

A change is told by a code, its place and a sentence (section 3.11). What became wider is no change that anybody must
know of beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from fairlead.contracts.apiversions.decide import broken_rules, pointers
from fairlead.contracts.apiversions.decide.pointers import STAR, Pointer
from fairlead.contracts.apiversions.decide.trees import Tree, same
from kubeloop.schemas.structural import META_FIELDS, Node

FIELD_REMOVED = "FieldRemoved"
TYPE_CHANGED = "TypeChanged"
REQUIRED_ADDED = "RequiredAdded"
ENUM_NARROWED = "EnumNarrowed"
ENUM_ADDED = "EnumAdded"
BOUND_TIGHTENED = "BoundTightened"
PATTERN_CHANGED = "PatternChanged"
LIST_TYPE_CHANGED = "ListTypeChanged"
DEFAULT_ADDED = "DefaultAdded"
DEFAULT_CHANGED = "DefaultChanged"
DEFAULT_REMOVED = "DefaultRemoved"
SELECTABLE_FIELD_REMOVED = "SelectableFieldRemoved"
DEFAULTS = (DEFAULT_ADDED, DEFAULT_CHANGED, DEFAULT_REMOVED)

ANYTHING = Node(preserves=True)
LOWER = ("minimum", "min_length", "min_items", "min_properties")
UPPER = ("maximum", "max_length", "max_items", "max_properties")


class SchemaChange(Struct, frozen=True, eq=False):
    code: str
    place: Pointer
    message: str
    """A sentence without its subject, which is the place."""
    node: Node = ANYTHING
    """What the new schema has there."""

    def affects(self, tree: Tree) -> bool:
        """Whether this object is one that the new schema refuses, or of which it loses something."""
        match self.code:
            case "FieldRemoved" if self.place[-1] == STAR:
                return any(self._has_unknown(tree, place) for place in pointers.places(tree, self.place[:-1]))
            case "FieldRemoved":
                return any(True for _ in pointers.places(tree, self.place))
            case "RequiredAdded":
                *above, name = self.place
                parents = (pointers.at(tree, place) for place in pointers.places(tree, tuple(above)))
                return any(isinstance(each, dict) and name not in each for each in parents)
        holds = _HOLDS.get(self.code)
        if holds is None:
            return False
        return any(not holds(pointers.at(tree, place), self.node) for place in pointers.places(tree, self.place))

    def _has_unknown(self, tree: Tree, place: pointers.Place) -> bool:
        there = pointers.at(tree, place)
        return isinstance(there, dict) and any(each not in self.node.properties for each in there)


_HOLDS = {
    TYPE_CHANGED: broken_rules.has_type,
    ENUM_NARROWED: broken_rules.in_enum,
    ENUM_ADDED: broken_rules.in_enum,
    BOUND_TIGHTENED: broken_rules.in_bounds,
    PATTERN_CHANGED: broken_rules.fits_pattern,
    LIST_TYPE_CHANGED: broken_rules.fits_list_type,
}


def changes(old: Node, new: Node) -> list[SchemaChange]:
    """Between the schemas of a whole object; its type and metadata are no part of them."""
    return [*_of_fields(old, new, (), META_FIELDS), *_of_required(old, new, ())]


def selectable_changes(old: Tree, new: Tree) -> list[SchemaChange]:
    """Fields by which objects of a version could be selected."""
    before, after = ([each["jsonPath"] for each in version.get("selectableFields") or ()] for version in (old, new))
    return [
        SchemaChange(SELECTABLE_FIELD_REMOVED, tuple(path.strip(".").split(".")), "can no longer be selected by")
        for path in before
        if path not in after
    ]


def _of_place(old: Node, new: Node, path: Pointer) -> Iterator[SchemaChange]:
    yield from _of_default(old, new, path)
    if not _is_wider(old, new):
        yield SchemaChange(TYPE_CHANGED, path, f"was {_types(old)} and becomes {_types(new)}", new)
        return
    yield from _of_enum(old, new, path)
    if tightened := _tightened(old, new):
        yield SchemaChange(BOUND_TIGHTENED, path, tightened, new)
    if new.pattern and new.pattern != old.pattern:
        yield SchemaChange(PATTERN_CHANGED, path, f"must match {new.pattern}", new)
    if (old.list_type or "atomic", old.list_keys) != (new.list_type or "atomic", new.list_keys):
        yield SchemaChange(LIST_TYPE_CHANGED, path, f"was {_list_type(old)} and becomes {_list_type(new)}", new)
    yield from _of_fields(old, new, path)
    yield from _of_required(old, new, path)
    if old.items is not None and new.items is not None:
        yield from _of_place(old.items, new.items, (*path, STAR))


def _of_fields(old: Node, new: Node, path: Pointer, spared: tuple[str, ...] = ()) -> Iterator[SchemaChange]:
    for name, each in old.properties.items():
        if name in spared:
            continue
        known = new.properties.get(name) or new.rest
        if known is not None:
            yield from _of_place(each, known, (*path, name))
        elif not new.preserves and new.additional is None:
            yield SchemaChange(FIELD_REMOVED, (*path, name), "is no longer known, and is pruned", new)
    was_open = old.preserves or old.additional is not None
    if was_open and not new.preserves and new.additional is None and _holds_fields(new):
        yield SchemaChange(FIELD_REMOVED, (*path, STAR), "could be any field; others than those named are pruned", new)
    if old.rest is not None and new.rest is not None:
        yield from _of_place(old.rest, new.rest, (*path, STAR))
    if was_open:
        for name, each in new.properties.items():
            if name not in old.properties and name not in spared:
                yield from _of_place(old.rest or ANYTHING, each, (*path, name))


def _holds_fields(node: Node) -> bool:
    return not node.types or "object" in node.types


def _of_required(old: Node, new: Node, path: Pointer) -> Iterator[SchemaChange]:
    for name in new.required:
        known = new.properties.get(name)
        has_default = known is not None and known.default is not UNSET
        if name not in old.required and not has_default and not (not path and name in META_FIELDS):
            yield SchemaChange(REQUIRED_ADDED, (*path, name), "becomes required", new)


def _of_enum(old: Node, new: Node, path: Pointer) -> Iterator[SchemaChange]:
    if new.enum is None:
        return
    values = ", ".join(_shown(each) for each in new.enum)
    if old.enum is None:
        yield SchemaChange(ENUM_ADDED, path, f"must be one of {values}", new)
    elif gone := [each for each in old.enum if not any(same(each, kept) for kept in new.enum)]:
        yield SchemaChange(ENUM_NARROWED, path, f"can no longer be {', '.join(_shown(each) for each in gone)}", new)


def _of_default(old: Node, new: Node, path: Pointer) -> Iterator[SchemaChange]:
    before, after = old.default, new.default
    if before is UNSET and after is not UNSET:
        yield SchemaChange(DEFAULT_ADDED, path, f"gets the default {_shown(after)}", new)
    elif before is not UNSET and after is UNSET:
        yield SchemaChange(DEFAULT_REMOVED, path, f"loses its default {_shown(before)}", new)
    elif before is not UNSET and not same(before, after):
        yield SchemaChange(DEFAULT_CHANGED, path, f"had the default {_shown(before)} and gets {_shown(after)}", new)


def _is_wider(old: Node, new: Node) -> bool:
    """Whether what the old schema took here is still of a type that the new one takes."""
    if old.nullable and not new.nullable and new.types:
        return False
    if not new.types:
        return True
    known = {*new.types, "integer"} if "number" in new.types else {*new.types}
    return bool(old.types) and known >= {*old.types}


def _tightened(old: Node, new: Node) -> str:
    found = []
    for names, is_lower in ((LOWER, True), (UPPER, False)):
        for name in names:
            before, after = getattr(old, name), getattr(new, name)
            if after is not None and (before is None or (after > before if is_lower else after < before)):
                was = "" if before is None else f" was {_shown(before)} and"
                found.append(f"{_camel(name)}{was} becomes {_shown(after)}")
    for name, bound in (("exclusive_minimum", "minimum"), ("exclusive_maximum", "maximum")):
        if getattr(new, name) and not getattr(old, name) and getattr(new, bound) == getattr(old, bound):
            found.append(f"{_camel(name)} becomes true")
    return ", ".join(found)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


def _types(node: Node) -> str:
    text = " or ".join(node.types) or "anything"
    return f"{text} or null" if node.nullable else text


def _list_type(node: Node) -> str:
    keys = f" by {', '.join(node.list_keys)}" if node.list_keys else ""
    return f"{node.list_type or 'atomic'}{keys}"


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."
