"""Values that conversion leaves where the other version wants another type (section 2.6).

The API server would serve such an object and take it from nobody. What stands at a place of the source that has no type
may be anything, so no rule is to blame for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.apiversions.decide.broken_rules import has_type
from fairlead.contracts.apiversions.decide.pointers import RESERVED, Place
from fairlead.contracts.apiversions.decide.trees import Absent, Tree
from kubeloop.schemas.structural import Node


def mistyped(tree: Tree, schema: Node) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Places of an object, items of lists as `*`, and the types that they want."""
    body = {key: value for key, value in tree.items() if key not in RESERVED}
    for place, types in _mistyped(body, schema, ()):
        yield "/" + "/".join("*" if isinstance(each, int) else each for each in place), types


def typed_part(tree: Tree, schema: Node) -> Tree:
    """The object without what stands at places that have no type."""
    head = {key: value for key, value in tree.items() if key in RESERVED}
    body = _typed({key: value for key, value in tree.items() if key not in RESERVED}, schema)
    return head if body is Absent else {**head, **body}


def _mistyped(value: Any, node: Node, place: Place) -> Iterator[tuple[Place, tuple[str, ...]]]:
    if value is None:
        return
    if not has_type(value, node):
        yield place, node.types
    elif isinstance(value, dict):
        for name, each in value.items():
            known = node.properties.get(name) or node.rest
            if known is not None:
                yield from _mistyped(each, known, (*place, name))
    elif isinstance(value, list) and node.items is not None:
        for index, each in enumerate(value):
            yield from _mistyped(each, node.items, (*place, index))


def _typed(value: Any, node: Node | None) -> Any:
    if node is None or not node.types:
        return Absent
    if isinstance(value, dict):
        parts = {name: _typed(each, node.properties.get(name) or node.rest) for name, each in value.items()}
        return {name: each for name, each in parts.items() if each is not Absent}
    if isinstance(value, list):
        items = [_typed(each, node.items) for each in value]
        return [each for each in items if each is not Absent]
    return value
