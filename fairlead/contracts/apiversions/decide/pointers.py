"""Places in the body of an object: JSON pointers, in which `*` is every item of a list and every value of a map.

A pointer is found at any number of places; each is told by its keys. Stars of another pointer stand for the keys that
those of the first one met, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from fairlead.contracts.apiversions.decide.trees import Absent, Tree

STAR = "*"
RESERVED = ("apiVersion", "kind", "metadata")
"""Of every object; no rule touches them."""
Pointer: TypeAlias = tuple[str, ...]
Place: TypeAlias = tuple[str | int, ...]


def pointer(text: str, *, is_nested: bool = False) -> Pointer:
    """The segments of a JSON pointer; ValueError says what is wrong with it."""
    if not text.startswith("/") or text == "/":
        raise ValueError(f'"{text}" is not a JSON pointer: write for example /spec/size')
    segments = tuple(each.replace("~1", "/").replace("~0", "~") for each in text[1:].split("/"))
    if not all(segments):
        raise ValueError(f'"{text}" has an empty segment')
    if not is_nested and segments[0] in RESERVED:
        raise ValueError(f'"{text}" is in {segments[0]}, which no rule may touch')
    return segments


def stars(segments: Pointer) -> int:
    return segments.count(STAR)


def is_plain(segments: Pointer) -> bool:
    """Whether it leads to one place at most, whatever the body."""
    return STAR not in segments


def holder(tree: Any, segments: Pointer) -> Any:
    """The object that holds the last segment of a plain pointer; None where that is no object, or not there."""
    for segment in segments[:-1]:
        if type(tree) is not dict:
            return None
        tree = tree.get(segment)
    return tree if type(tree) is dict and segments[-1] in tree else None


def is_among_objects(tree: Any, segments: Pointer) -> bool:
    """Whether only objects stand along a plain pointer, as far as it leads."""
    for segment in segments[:-1]:
        if type(tree) is not dict:
            return False
        if segment not in tree:
            return True
        tree = tree[segment]
    return type(tree) is dict


def put_plain(tree: Tree, segments: Pointer, value: Any, *, overwrite: bool = False) -> bool:
    """As `put`, for a plain pointer, and quicker where only objects stand along it."""
    here: Any = tree
    for depth, segment in enumerate(segments[:-1]):
        if segment not in here:
            for each in reversed(segments[depth + 1 :]):
                value = {each: value}
            here[segment] = value
            return True
        here = here[segment]
        if type(here) is not dict:
            return put(tree, segments, value, overwrite=overwrite)
    if segments[-1] in here and not overwrite:
        return False
    here[segments[-1]] = value
    return True


def places(tree: Any, segments: Pointer) -> Iterator[Place]:
    """Where the pointer leads to something."""
    if not segments:
        yield ()
        return
    first, rest = segments[0], segments[1:]
    for key in _keys(tree, first):
        for place in places(tree[key], rest):
            yield (key, *place)


def _keys(tree: Any, segment: str) -> list[Any]:
    if isinstance(tree, dict):
        if segment == STAR:
            return list(tree)
        return [segment] if segment in tree else []
    if isinstance(tree, list):
        if segment == STAR:
            return [*range(len(tree))]
        return [int(segment)] if segment.isdecimal() and int(segment) < len(tree) else []
    return []


def bound(segments: Pointer, by: Pointer, place: Place) -> Place:
    """The other pointer with its stars in the place of those of `by`, which was found there."""
    met = iter([key for segment, key in zip(by, place, strict=True) if segment == STAR])
    return tuple(next(met) if segment == STAR else segment for segment in segments)


def at(tree: Any, place: Place) -> Any:
    """What is there, or Absent."""
    for key in place:
        if isinstance(tree, dict):
            tree = tree.get(key, Absent)
        elif isinstance(tree, list) and isinstance(key, int | str) and str(key).isdecimal() and int(key) < len(tree):
            tree = tree[int(key)]
        else:
            return Absent
    return tree


def put(tree: Tree, place: Place, value: Any, *, overwrite: bool = False) -> bool:
    """Whether the value is there now; where it cannot be, nothing changes."""
    here: Any = tree
    depth = 0
    while depth < len(place) - 1 and (below := at(here, place[depth : depth + 1])) is not Absent:
        here, depth = below, depth + 1
    made = value
    for key in reversed(place[depth + 1 :]):
        if isinstance(key, int) and key:
            return False  # a list begins with its first item
        made = [made] if isinstance(key, int) else {key: made}
    return _put_here(here, place[depth], made, overwrite=overwrite)


def _put_here(here: Any, key: str | int, value: Any, *, overwrite: bool) -> bool:
    if isinstance(here, dict) and isinstance(key, str):
        if key in here and not overwrite:
            return False
        here[key] = value
        return True
    if isinstance(here, list) and str(key).isdecimal():
        index = int(key)
        if index == len(here):
            here.append(value)
            return True
        if index < len(here) and overwrite:
            here[index] = value
            return True
    return False


def last_first(tree: Any, segments: Pointer) -> list[Place]:
    """The places from the last, so that an item of a list may be taken out at each of them."""
    return [*places(tree, segments)][::-1]


def take(tree: Tree, place: Place) -> Any:
    """What was there; it is there no more. Absent where nothing was."""
    parent = at(tree, place[:-1])
    key = place[-1]
    if isinstance(parent, dict):
        return parent.pop(key, Absent)
    if isinstance(parent, list) and str(key).isdecimal() and int(key) < len(parent):
        return parent.pop(int(key))
    return Absent
