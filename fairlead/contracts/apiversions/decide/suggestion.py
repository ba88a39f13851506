"""A draft of rules from two schemas: what looks like the same field under another name, place or type.

It is a draft: names that are alike can mean different things. Each operation says why it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from msgspec import Struct

from fairlead.contracts.apiversions.decide.operations.base import Op
from fairlead.contracts.apiversions.decide.operations.keys import ListToMap, MapToList
from fairlead.contracts.apiversions.decide.operations.moving import Move
from fairlead.contracts.apiversions.decide.operations.scalars import Cast, Unwrap, Wrap
from fairlead.contracts.apiversions.decide.operations.units import Duration
from fairlead.contracts.apiversions.decide.pointers import RESERVED, STAR, Pointer
from kubeloop.schemas.structural import Node

LEAST_ALIKE = 0.6
LEAST_ALIKE_BELOW = 0.8
"""For a field that has another place as well."""
LEAST_SHARED = 0.5
"""Of the fields of two objects, where one is the other under a new name."""
_UNITS = {
    "ms": ("milliseconds", "millis", "ms"),
    "s": ("seconds", "secs"),
    "m": ("minutes", "mins"),
    "h": ("hours",),
}
"""Last words of names, by the unit that they say."""
_TIMES = ("timeout", "interval", "duration", "period", "delay")
_SCALARS = ("string", "integer", "number", "boolean")


class Suggested(Struct, frozen=True):
    op: Op
    why: str


def suggested(source: Node, target: Node) -> list[Suggested]:
    """From the first version to the second; what both have at the same place needs nothing."""
    return [*_between(source, target, ())]


def _between(source: Node, target: Node, path: Pointer) -> Iterator[Suggested]:
    names = [name for name in source.properties if path or name not in RESERVED]
    for name in names:
        if name in target.properties:
            yield from _same_place(source.properties[name], target.properties[name], (*path, name))
    ours = {name: source.properties[name] for name in names if name not in target.properties}
    theirs = {
        name: each
        for name, each in target.properties.items()
        if name not in source.properties and (path or name not in RESERVED)
    }
    yield from _renamed(ours, theirs, path)
    yield from _nested(ours, target, path)
    yield from _lifted(source, theirs, target, path)


def _same_place(source: Node, target: Node, path: Pointer) -> Iterator[Suggested]:
    yield from _retyped(source, target, path)
    if source.types == target.types == ("object",):
        yield from _between(source, target, path)
        if source.rest is not None and target.rest is not None:
            yield from _same_place(source.rest, target.rest, (*path, STAR))
    elif source.types == target.types == ("array",) and source.items is not None and target.items is not None:
        yield from _same_place(source.items, target.items, (*path, STAR))


def _retyped(source: Node, target: Node, path: Pointer) -> Iterator[Suggested]:
    """Another type at the same place."""
    where = _text(path)
    match source.types, target.types:
        case ((one,), (other,)) if one == other:
            return
        case (("integer",), ("number",)):
            return
        case ((one,), (other,)) if one in _SCALARS and other in _SCALARS:
            if one == "string" and other == "integer" and _is_time(path[-1]):
                yield Suggested(Duration(where, _unit(path[-1]) or "s"), "a text becomes a number of a time")  # type: ignore[arg-type]
            else:
                yield Suggested(Cast(where, other), f"{one} becomes {other}")  # type: ignore[arg-type]
        case ((one,), ("array",)) if one in _SCALARS and _item_type(target) == one:
            yield Suggested(Wrap(where), "one value becomes a list")
        case (("array",), (other,)) if other in _SCALARS and _item_type(source) == other:
            yield Suggested(Unwrap(where), "a list becomes one value")
        case (("array",), ("object",)) if target.rest is not None and (key := _list_key(source, target.rest)):
            yield Suggested(ListToMap(where, key), "a list becomes a map")
        case (("object",), ("array",)) if source.rest is not None and (key := _list_key(target, source.rest)):
            yield Suggested(MapToList(where, key), "a map becomes a list")


def _renamed(ours: dict[str, Node], theirs: dict[str, Node], path: Pointer) -> Iterator[Suggested]:
    """In the same object, of the same type, with a name that is alike; the most alike first."""
    alike = sorted(
        (
            (-_alikeness(one, other, ours[one], theirs[other]), one, other)
            for one in ours
            for other in theirs
            if _alikeness(one, other, ours[one], theirs[other]) >= LEAST_ALIKE
        ),
    )
    for score, one, other in alike:
        if one not in ours or other not in theirs:
            continue
        source, target = ours.pop(one), theirs.pop(other)
        here, there = (*path, one), (*path, other)
        unit = _unit(other) if source.types == ("string",) and target.types == ("integer",) else ""
        if unit:
            yield Suggested(Duration(_text(here), unit), f"{other} is a number of a time")  # type: ignore[arg-type]
        yield Suggested(Move(_text(here), _text(there)), f"the names are alike ({-score:.2f})")
        if not unit:
            yield from _same_place(source, target, there)


def _nested(ours: dict[str, Node], target: Node, path: Pointer) -> Iterator[Suggested]:
    """One level deeper, in an object that is new or was there, with a name that is alike."""
    for one in [*ours]:
        found = sorted(
            (
                (-_alikeness(one, inner, ours[one], node), name, inner)
                for name, each in target.properties.items()
                for inner, node in each.properties.items()
                if (path or name not in RESERVED)
            ),
        )
        if not found or -found[0][0] < LEAST_ALIKE_BELOW or (len(found) > 1 and found[1][0] == found[0][0]):
            continue
        _, name, inner = found[0]
        source, node = ours.pop(one), target.properties[name].properties[inner]
        here, there = (*path, one), (*path, name, inner)
        unit = _unit(inner) if source.types == ("string",) and node.types == ("integer",) else ""
        if unit:
            yield Suggested(Duration(_text(here), unit), f"{inner} is a number of a time")  # type: ignore[arg-type]
        why = "the same name" if inner == one else "a name that is alike"
        yield Suggested(Move(_text(here), _text(there)), f"{why}, one level deeper")
        if not unit:
            yield from _same_place(source, node, there)


def _lifted(source: Node, theirs: dict[str, Node], target: Node, path: Pointer) -> Iterator[Suggested]:
    """The same name and type one level higher."""
    for other in [*theirs]:
        inside = [
            (*path, name, other)
            for name, each in source.properties.items()
            if other in each.properties
            and each.properties[other].types == theirs[other].types
            and (path or name not in RESERVED)
            and not (name in target.properties and other in target.properties[name].properties)
        ]
        if len(inside) == 1:
            yield Suggested(Move(_text(inside[0]), _text((*path, other))), "the same name, one level higher")
            yield from _same_place(
                source.properties[inside[0][-2]].properties[other], theirs.pop(other), (*path, other)
            )


def _alikeness(one: str, other: str, source: Node, target: Node) -> float:
    """Of names whose types could be the same field, from 0 to 1."""
    is_time = source.types == ("string",) and target.types == ("integer",) and bool(_unit(other))
    if source.types != target.types and not is_time:
        return 0.0
    plain, bare = _plain(one), _plain(other)
    if is_time:
        bare = _plain(_without_unit(other))
    score = 1.0 if plain == bare else SequenceMatcher(None, plain, bare, autojunk=False).ratio()
    if source.types == ("object",) and source.properties and target.properties:
        shared = len({*source.properties} & {*target.properties})
        score = max(score, shared / max(len(source.properties), len(target.properties)))
        if shared < LEAST_SHARED * min(len(source.properties), len(target.properties)):
            return 0.0
    return score


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").removesuffix("s")


def _words(name: str) -> list[str]:
    return [each.lower() for each in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)]


def _unit(name: str) -> str:
    last = _words(name)[-1:] or [""]
    return next((unit for unit, words in _UNITS.items() if last[0] in words), "")


def _without_unit(name: str) -> str:
    return "".join(_words(name)[:-1])


def _is_time(name: str) -> bool:
    return bool(_unit(name)) or any(each in _TIMES for each in _words(name))


def _item_type(node: Node) -> str:
    return node.items.types[0] if node.items is not None and len(node.items.types) == 1 else ""


def _list_key(listed: Node, value: Node) -> str:
    """The field of an item that is the key of the map."""
    item = listed.items
    if item is None or item.types != ("object",) or value.types != ("object",):
        return ""
    named = listed.list_keys if len(listed.list_keys) == 1 else ("name",)
    return named[0] if named[0] in item.properties and named[0] not in value.properties else ""


def _text(path: Pointer) -> str:
    return "".join(f"/{each if each == STAR else each.replace('~', '~0').replace('/', '~1')}" for each in path)
