"""Whether an object is whole: the API server sends parts of objects as well, when managers of fields are compared."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.trees import Tree
from kubeloop.schemas.structural import Node


def is_complete(body: Tree, schema: Node) -> bool:
    """Whether everything is there that the schema requires of the body of an object."""
    return _has(body, tuple(name for name in schema.required if name not in RESERVED)) and _is_whole(body, schema)


def _is_whole(tree: Tree, schema: Node) -> bool:
    return all(_is_complete(each, schema.properties.get(name) or schema.rest) for name, each in tree.items())


def _is_complete(value: Any, schema: Node | None) -> bool:
    if schema is None:
        return True
    if isinstance(value, dict):
        return _has(value, schema.required) and _is_whole(value, schema)
    if isinstance(value, list):
        return all(_is_complete(each, schema.items) for each in value)
    return True


def _has(tree: Tree, names: tuple[str, ...]) -> bool:
    return all(name in tree for name in names)
