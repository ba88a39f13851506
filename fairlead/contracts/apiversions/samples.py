"""Objects made up from a schema, the same ones every time: what a rule set is tried with before it is used.

They are valid in what rules look at: types, enumerations, required fields, keys of lists. Patterns and formats are not
followed, because a conversion must bear every text.
"""

from __future__ import annotations

from random import Random
from typing import Any

from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.trees import Tree
from kubeloop.schemas.structural import Node

TEXTS = ("", "a", "b-1", "90s", "1h30m", "512Mi", "2", "0.5", "true", "x,y", "r.example/x:1", "zü ", "1e3")
INTEGERS = (0, 1, 2, 7, 60, 1000, -1, 2**53 + 1)
NUMBERS = (0.5, 1.0, -2.25, 1e21)
KEYS = ("a", "b", "c")
MOST_ITEMS = 3
DEEPEST = 12
"""Levels below which nothing optional is made."""


def sample(schema: Node, chance: Random) -> Tree:
    """The body of an object."""
    return {name: each for name, each in _object(schema, chance, 0).items() if name not in RESERVED}


def _value(schema: Node | None, chance: Random, depth: int) -> Any:
    if schema is None or not schema.types:
        return chance.choice((*TEXTS, *INTEGERS, True, {}, [], {"any": [1, {"thing": None}]}))
    if schema.enum:
        return chance.choice(schema.enum)
    if schema.nullable and chance.random() < 0.1:
        return None
    match chance.choice(schema.types):
        case "object":
            return _object(schema, chance, depth)
        case "array":
            return _list(schema, chance, depth)
        case "string":
            return chance.choice(TEXTS)
        case "integer":
            return _bounded(chance.choice(INTEGERS), schema)
        case "number":
            return chance.choice((*NUMBERS, *INTEGERS))
        case "boolean":
            return chance.random() < 0.5
    return None


def _bounded(number: int, schema: Node) -> int:
    low, high = schema.minimum, schema.maximum
    if low is not None and number < low:
        return int(low)
    return int(high) if high is not None and number > high else number


def _object(schema: Node, chance: Random, depth: int) -> Tree:
    made: Tree = {}
    for name, each in schema.properties.items():
        if name in schema.required or (depth < DEEPEST and chance.random() < 0.6):
            made[name] = _value(each, chance, depth + 1)
    if schema.additional and depth < DEEPEST:
        for key in chance.sample(KEYS, chance.randrange(MOST_ITEMS)):
            made[key] = _value(schema.rest, chance, depth + 1)
    if schema.preserves and chance.random() < 0.5:
        made["unknown"] = chance.choice((1, "x", {"y": [1, 2]}))
    return made


def _list(schema: Node, chance: Random, depth: int) -> list[Any]:
    count = 0 if depth >= DEEPEST else chance.randrange(MOST_ITEMS + 1)
    items = [_value(schema.items, chance, depth + 1) for _ in range(count)]
    if schema.list_type != "map":
        return items
    found: dict[tuple[Any, ...], Any] = {}
    for index, item in enumerate(items):
        if isinstance(item, dict):
            keyed = {**item, **{name: _key(schema, name, index) for name in schema.list_keys}}
            found[tuple(keyed[name] for name in schema.list_keys)] = keyed
    return [*found.values()]


def _key(schema: Node, name: str, index: int) -> Any:
    node = schema.items.properties.get(name) if schema.items is not None else None
    if node is not None and node.enum:
        return node.enum[index % len(node.enum)]
    return index if node is not None and node.types == ("integer",) else f"item-{index}"
