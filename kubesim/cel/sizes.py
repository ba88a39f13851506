"""How large values can be at most: sizes as ranges, and what a schema says about those of its values.

Numbers are those of 64 bits without a sign, and stay at the largest instead of going past it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import UNSET, Struct

from kubesim.cel.schema import ROOT_FIELDS
from kubesim.definitions.schema import Node

LARGEST = 2**64 - 1
LARGEST_REQUEST = 3 * 1024 * 1024
_WIDEST = 4
"""Bytes of a character."""
_QUOTES = 2
_FORMATS = {"byte": (2, 0), "duration": (3, 32), "date": (12, 12), "date-time": (21, 32)}
"""The shortest JSON of such text, and the longest where it is known."""
_SHORTEST = {"boolean": 4, "integer": 1, "number": 1}
_EMPTY = 2
"""Bytes of an empty list, map or text."""


def capped(number: int) -> int:
    return min(number, LARGEST)


def scaled(number: int, factor: float) -> int:
    """So many times the number, rounded up."""
    return capped(math.ceil(float(number) * factor))


class Size(Struct, frozen=True):
    """Characters, items or entries: at least and at most."""

    low: int
    high: int

    def __add__(self, other: Size) -> Size:
        return Size(capped(self.low + other.low), capped(self.high + other.high))

    def __mul__(self, other: Size) -> Size:
        return Size(capped(self.low * other.low), capped(self.high * other.high))

    def __or__(self, other: Size) -> Size:
        """Whatever is of one size or of the other."""
        return Size(min(self.low, other.low), max(self.high, other.high))


UNKNOWN = Size(0, LARGEST)
ONE = Size(1, 1)


class Sizes(Struct, frozen=True):
    """The largest size of a value that fits a schema, its shortest JSON, and the same of what is in it."""

    most: int = 0
    shortest: int = _EMPTY
    fields: Mapping[str, Sizes] = {}
    inside: Sizes | None = None
    keys: Sizes | None = None

    def at(self, path: tuple[str, ...]) -> Size | None:
        """The size of what a path leads to, whose first step is the variable; None where nothing is known of it."""
        if not path:
            return None
        found: Sizes | None = self
        for step in path[1:]:
            if found is None:
                return None
            match step:
                case "@items" | "@values":
                    found = found.inside
                case "@keys":
                    found = found.keys
                case _:
                    found = found.fields.get(step)
        return None if found is None else Size(0, found.most)


def sizes_of(node: Node, *, is_root: bool = False) -> Sizes | None:
    """None where rules see nothing of such values."""
    if len(node.types) > 1:
        most = LARGEST_REQUEST - _QUOTES if node.max_length is None else _bounded(node.max_length) * _WIDEST
        return Sizes(most, shortest=1)
    match node.types[0] if node.types else "":
        case "array":
            inside = sizes_of(node.items) if node.items is not None else None
            return None if inside is None else Sizes(_most_items(node, inside), inside=inside)
        case "object" if node.rest is not None:
            inside = sizes_of(node.rest)
            return None if inside is None else Sizes(_most_entries(node, inside), inside=inside, keys=Sizes())
        case "object":
            return _of_fields(node, is_root=is_root or node.embedded)
        case "string":
            return _of_text(node)
        case kind:
            return Sizes(shortest=_SHORTEST[kind]) if kind in _SHORTEST else None


def _bounded(number: int) -> int:
    return max(number, 0)


def _most_items(node: Node, inside: Sizes) -> int:
    if node.max_items is not None:
        return _bounded(node.max_items)
    return (LARGEST_REQUEST - _EMPTY) // (inside.shortest + 1)  # a comma


def _most_entries(node: Node, inside: Sizes) -> int:
    if node.max_properties is not None:
        return _bounded(node.max_properties)
    return (LARGEST_REQUEST - _EMPTY) // (inside.shortest + 6)  # a key of two signs in quotes, a colon, a comma


def _of_fields(node: Node, *, is_root: bool) -> Sizes:
    known = {**node.properties, **(ROOT_FIELDS if is_root else {})}
    found = {name: each for name, child in known.items() if (each := sizes_of(child)) is not None}
    needed = [name for name in dict.fromkeys(node.required) if name in found and known[name].default is UNSET]
    shortest = _EMPTY + sum(len(name.encode()) + found[name].shortest + 4 for name in needed)  # quotes, colon, comma
    return Sizes(shortest=shortest, fields=found)


def _of_text(node: Node) -> Sizes:
    shortest, longest = _FORMATS.get(node.format, (_EMPTY, 0))
    if longest:
        return Sizes(longest, shortest)
    if node.max_length is not None:
        return Sizes(_bounded(node.max_length) * (1 if node.format == "byte" else _WIDEST), shortest)
    if node.enum and node.format != "byte":
        return Sizes(max(len(each.encode()) if isinstance(each, str) else 0 for each in node.enum), shortest)
    return Sizes(LARGEST_REQUEST - _QUOTES, shortest)
