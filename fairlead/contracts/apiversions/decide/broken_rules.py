"""Which rules of a schema a value breaks, and where; what CEL, formats and combinations say is left to the server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairlead.contracts.apiversions.decide.pointers import RESERVED, Place
from fairlead.contracts.apiversions.decide.trees import Tree, same
from kubeloop.schemas.structural import Node


def has_type(value: Any, node: Node) -> bool:
    if value is None:
        return node.nullable or not node.types
    return not node.types or any(_is(value, each) for each in node.types)


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return _is_number(value) and float(value).is_integer()
        case "number":
            return _is_number(value)
    return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def in_enum(value: Any, node: Node) -> bool:
    return node.enum is None or any(same(value, each) or (_is_number(value) and value == each) for each in node.enum)


def in_bounds(value: Any, node: Node) -> bool:
    if isinstance(value, str):
        return _between(len(value), node.min_length, node.max_length)
    if isinstance(value, list):
        return _between(len(value), node.min_items, node.max_items)
    if isinstance(value, dict):
        return _between(len(value), node.min_properties, node.max_properties)
    return not _is_number(value) or _is_in_range(value, node)


def _is_in_range(value: float, node: Node) -> bool:
    if node.minimum is not None and (value < node.minimum or (node.exclusive_minimum and value == node.minimum)):
        return False
    return node.maximum is None or not (value > node.maximum or (node.exclusive_maximum and value == node.maximum))


def _between(size: int, least: int | None, most: int | None) -> bool:
    return (least is None or size >= least) and (most is None or size <= most)


def fits_pattern(value: Any, node: Node) -> bool:
    return not isinstance(value, str) or node.expression is None or bool(node.expression.is_in(value))


def fits_list_type(value: Any, node: Node) -> bool:
    """Whether the items are different from one another, as a map or a set wants it."""
    if not isinstance(value, list) or node.list_type not in ("map", "set"):
        return True
    known: list[Any] = []
    for item in value:
        key = _key(item, node.list_keys) if node.list_type == "map" else item
        if any(same(key, each) for each in known):
            return False
        known.append(key)
    return True


def _key(item: Any, fields: Sequence[str]) -> Tree:
    return {each: item[each] for each in fields if each in item} if isinstance(item, dict) else {}


def broken(tree: Tree, schema: Node) -> Iterator[tuple[Place, str]]:
    """Where the body of an object breaks rules, and what it breaks there."""
    yield from _broken({key: value for key, value in tree.items() if key not in RESERVED}, schema, ())


def _broken(value: Any, node: Node, place: Place) -> Iterator[tuple[Place, str]]:
    if not has_type(value, node):
        yield place, f"is not of type {' or '.join(node.types)}"
        return
    if value is None:
        return
    for holds, text in _CHECKS:
        if not holds(value, node):
            yield place, text
    if isinstance(value, dict):
        for name in node.required:
            if name not in value and not (not place and name in RESERVED):
                yield (*place, name), "is required"
        for name, each in value.items():
            known = node.properties.get(name) or node.rest
            if known is not None:
                yield from _broken(each, known, (*place, name))
    elif isinstance(value, list) and node.items is not None:
        for index, each in enumerate(value):
            yield from _broken(each, node.items, (*place, index))


_CHECKS = (
    (in_enum, "is none of the allowed values"),
    (in_bounds, "is out of bounds"),
    (fits_pattern, "does not match the pattern"),
    (fits_list_type, "has an item twice"),
)
