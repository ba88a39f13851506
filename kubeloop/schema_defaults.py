"""Defaults of structural schemas, filled in as the API server fills them in when it reads what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from msgspec import Struct


class Defaults(Struct, frozen=True):
    """The part of a schema in which there are defaults; nothing else of it is kept."""

    values: dict[str, Any] = {}
    """By property: what stands in where it is absent, or null."""
    properties: dict[str, Defaults] = {}
    items: Defaults | None = None
    others: Defaults | None = None
    """Of properties that are not named."""

    def __bool__(self) -> bool:
        return bool(self.values or self.properties or self.items or self.others)


def defaults_in(schema: Mapping[str, Any]) -> Defaults:
    """The defaults of a schema and of all that it holds."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    below = {name: found for name, each in properties.items() if (found := defaults_in(each))}
    items, others = schema.get("items"), schema.get("additionalProperties")
    return Defaults(
        values={name: each["default"] for name, each in properties.items() if each.get("default") is not None},
        properties=below,
        items=(defaults_in(items) or None) if isinstance(items, Mapping) else None,
        others=(defaults_in(others) or None) if isinstance(others, Mapping) else None,
    )


def defaulted(tree: Any, defaults: Defaults) -> Any:
    """A copy of the tree with the defaults in it; what is not of the schema's kind stays as it is."""
    if isinstance(tree, list):
        return [defaulted(each, defaults.items) for each in tree] if defaults.items else tree
    if not isinstance(tree, dict):
        return tree
    filled = dict(tree)
    for name, value in defaults.values.items():
        if filled.get(name) is None:
            filled[name] = deepcopy(value)
    for name, value in filled.items():
        below = defaults.properties.get(name) or defaults.others
        if below:
            filled[name] = defaulted(value, below)
    return filled
