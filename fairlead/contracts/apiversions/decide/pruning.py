"""What a schema does not know taken out of a body, as the API server does, without a change of what is given: where
there is nothing to take out the answer is the very same value.

A schema is made into functions, each when a value comes to its place for the first time: of a large schema objects use
little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import structs

from fairlead.contracts.apiversions.decide.trees import Tree, copied
from kubeloop.schemas.structural import Node, prune

Pruner: TypeAlias = Callable[[Any], Any]
"""Of a list or an object; of the body of an object, without its kind and metadata, where it is of a whole schema."""
_ANYTHING = Node()


def pruner(schema: Node) -> Pruner:
    """For bodies of objects."""
    return _pruner(structs.replace(schema, embedded=False))


def _pruner(node: Node) -> Pruner:
    if node.embedded:  # with a kind and metadata of its own, which is rare
        return _copying(node)
    if node.preserves:
        return _sparing(node)
    objects, lists = _objects(node), _lists(node.items or _ANYTHING)
    return lambda value: objects(value) if type(value) is dict else lists(value)


def _copying(node: Node) -> Pruner:
    root = Node(properties={"inside": node})

    def pruned(value: Any) -> Any:
        made: Tree = {"inside": copied(value)}
        prune(made, root)
        return made["inside"]

    return pruned


def _objects(node: Node) -> Callable[[Tree], Tree]:
    known: dict[str, Pruner] = {}
    """As far as they have been needed."""
    properties, additional = node.properties, node.additional
    others = None if additional is None else additional if isinstance(additional, Node) else _ANYTHING

    def place(key: str) -> Pruner | None:
        """None: there is no such place."""
        inside = properties.get(key) or others
        if inside is None:
            return None
        made = known[key] = _pruner(inside)
        return made

    def pruned(value: Tree) -> Tree:
        made = value
        for key, item in value.items():
            inner = known.get(key) or place(key)
            if inner is None:
                if made is value:
                    made = value.copy()
                del made[key]
                continue
            kind = type(item)
            if kind is dict or kind is list:
                inside = inner(item)
                if inside is not item:
                    if made is value:
                        made = value.copy()
                    made[key] = inside
        return made

    return pruned if others is None else _bounded(pruned, known)


MOST_KEYS = 1000
"""Of a map that functions are kept for: users choose its keys."""


def _bounded(pruned: Callable[[Tree], Tree], known: dict[str, Pruner]) -> Callable[[Tree], Tree]:
    def checked(value: Tree) -> Tree:
        if len(known) > MOST_KEYS:
            known.clear()
        return pruned(value)

    return checked


def _lists(node: Node) -> Callable[[list[Any]], list[Any]]:
    inner: Pruner | None = None

    def pruned(value: list[Any]) -> list[Any]:
        nonlocal inner
        made = value
        for index, item in enumerate(value):
            kind = type(item)
            if kind is dict or kind is list:
                inner = inner or _pruner(node)
                inside = inner(item)
                if inside is not item:
                    if made is value:
                        made = value.copy()
                    made[index] = inside
        return made

    return pruned


def _sparing(node: Node) -> Pruner:
    """Unknown fields stay here, and the known ones are looked into."""
    known: dict[str, Pruner | None] = {}
    items: Pruner | None = None

    def item(value: Any) -> Any:
        nonlocal items
        if node.items is None or not isinstance(value, dict | list):
            return value
        items = items or _pruner(structs.replace(node.items, preserves=True))
        return items(value)

    def field(key: str, value: Any) -> Any:
        if not isinstance(value, dict | list):
            return value
        inside = node.properties.get(key)
        if inside is None and node.rest is None:
            return value
        inner = known.get(key)
        if inner is None:
            inner = _pruner(inside or node.rest or _ANYTHING)
            if inside is not None:
                known[key] = inner
        return inner(value)

    def pruned(value: Any) -> Any:
        made: Any
        if type(value) is dict:
            made = {key: field(key, each) for key, each in value.items()}
            is_same = all(made[key] is each for key, each in value.items())
        else:
            made = [item(each) for each in value]
            is_same = all(one is other for one, other in zip(made, value, strict=True))
        return value if is_same else made

    return pruned
