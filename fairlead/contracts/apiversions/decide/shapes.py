"""Which lists of a version are addressed by fields of their items, for carry and for ownership of fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from fairlead.contracts.apiversions.decide.pointers import STAR, Pointer
from kubeloop.schemas.structural import Node

Key: TypeAlias = tuple[tuple[str, Any], ...]
"""The fields by which an item is known, sorted by their names."""


class Shape(Struct, frozen=True):
    properties: Mapping[str, Shape] = {}
    rest: Shape | None = None
    items: Shape | None = None
    keys: tuple[str, ...] = ()
    """Of a list: the fields that tell its items apart."""
    is_nullable: bool = False

    def child(self, name: str) -> Shape:
        return self.properties.get(name) or self.rest or PLAIN

    @property
    def item(self) -> Shape:
        return self.items or PLAIN


PLAIN = Shape()


def shape_of(node: Node, keys: Mapping[Pointer, Sequence[str]], path: Pointer = ()) -> Shape:
    """Lists that the schema makes maps, and those that the rules name."""
    own = tuple(keys.get(path, ())) or (node.list_keys if node.list_type == "map" else ())
    rest = node.rest
    return Shape(
        {name: shape_of(each, keys, (*path, name)) for name, each in node.properties.items()},
        None if rest is None else shape_of(rest, keys, (*path, STAR)),
        None if node.items is None else shape_of(node.items, keys, (*path, STAR)),
        tuple(sorted(own)),
        node.nullable,
    )


def keyed(value: Any, fields: Sequence[str]) -> dict[Key, Any] | None:
    """The items by their keys; None where this list is one value: an item lacks a field, or two have the same ones."""
    if not fields or not isinstance(value, list):
        return None
    found: dict[Key, Any] = {}
    for item in value:
        if not isinstance(item, dict) or not all(isinstance(item.get(each), str | int | float) for each in fields):
            return None
        key = tuple((each, item[each]) for each in fields)
        if key in found:
            return None
        found[key] = item
    return found
