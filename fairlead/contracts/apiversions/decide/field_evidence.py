"""Which versions know a field of an object: what only one of them knows tells whose payload it is (section 3.4).

A version knows a field where its schema has the place and the value is of a type, and one of the values, that it may
have there. Lists without keys count as one field. Nulls and what no version knows tell nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from fairlead.contracts.apiversions.decide.carry_entries import Path
from fairlead.contracts.apiversions.decide.shapes import Shape, keyed
from fairlead.contracts.apiversions.decide.trees import Absent, Tree, same
from kubeloop.schemas.structural import Node

TOLD_BY = ("apiVersion", "kind", "metadata", "status")
"""No part of a payload: the first three are of every version, and the status is what controllers write."""
_ANYTHING = Node(preserves=True)
_TYPES = {bool: ("boolean",), int: ("integer", "number"), float: ("number",), str: ("string",)}


class Field(Struct, frozen=True):
    path: Path
    value: Any
    versions: frozenset[str]
    """Those that know it."""


def payload_of(tree: Tree) -> Tree:
    """What people and programs ask for: the body without the status."""
    return {name: value for name, value in tree.items() if name not in TOLD_BY}


def fields(payload: Tree, schemas: Mapping[str, Node], shape: Shape) -> tuple[Field, ...]:
    """The leaves of a payload, and whole objects that a single version knows, or none; `shape` says which lists have
    keys."""
    return tuple(_fields(payload, schemas, shape, ()))


def _fields(value: Any, nodes: Mapping[str, Node], shape: Shape, path: Path) -> Iterator[Field]:
    knowing = {name: node for name, node in nodes.items() if _fits(value, node)}
    items = keyed(value, shape.keys)
    if len(knowing) > 1 and items:
        inside = {name: node.items or _ANYTHING for name, node in knowing.items()}
        for key, item in items.items():
            yield from _fields(item, inside, shape.item, (*path, key))
    elif len(knowing) > 1 and isinstance(value, dict) and value:
        for name, each in value.items():
            below = {version: child for version, node in knowing.items() if (child := child_of(node, name)) is not None}
            yield from _fields(each, below, shape.child(name), (*path, name))
    elif path and value is not None:
        alone = len(knowing) == 1
        known = frozenset(name for name, node in knowing.items() if alone or _is_known(value, node))
        yield Field(path, value, known)


def child_of(node: Node, name: str) -> Node | None:
    """The schema of a property; None where the version has no such place."""
    found = node.properties.get(name) or node.rest
    if found is not None:
        return found
    return _ANYTHING if node.additional is True or node.preserves else None


def _fits(value: Any, node: Node) -> bool:
    """Whether the value itself may be there, whatever is in it."""
    if value is None:
        return True
    if node.enum is not None and not any(same(value, each) for each in node.enum):
        return False
    if not node.types:
        return True
    kinds = ("object",) if isinstance(value, dict) else ("array",) if isinstance(value, list) else _TYPES[type(value)]
    return any(each in node.types for each in kinds)


def _is_known(value: Any, node: Node) -> bool:
    """Whether the value and all that is in it may be there."""
    if not _fits(value, node):
        return False
    if isinstance(value, dict):
        return all(
            (child := child_of(node, name)) is not None and _is_known(each, child) for name, each in value.items()
        )
    if isinstance(value, list):
        return all(_is_known(each, node.items or _ANYTHING) for each in value)
    return True


def known_part(value: Any, node: Node) -> Any:
    """What the version knows of it; Absent where it knows nothing."""
    if not _fits(value, node):
        return Absent
    if isinstance(value, dict):
        kept = {}
        for name, each in value.items():
            child = child_of(node, name)
            part = Absent if child is None else known_part(each, child)
            if part is not Absent:
                kept[name] = part
        return kept if kept or not value else Absent
    if isinstance(value, list):
        parts = [known_part(each, node.items or _ANYTHING) for each in value]
        return Absent if any(each is Absent for each in parts) else parts
    return value
