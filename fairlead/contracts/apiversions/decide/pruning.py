"""What a schema does not know taken out of a body, as the API server does, without a change of what is given: where
there is nothing to take out the answer is the very same value.

A schema is made into functions, each when a value comes to its place for the first time: of a large schema objects use
little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import structs

from fairlead.contracts.apiversions.decide.trees import Tree, copied, same
from kubeloop.schemas.structural import Node, prune

Pruner: TypeAlias = Callable[[Any], Any]
"""Of a list or an object; of the body of an object, without its kind and metadata, where it is of a whole schema."""
_ANYTHING = Node()


def pruner(schema: Node) -> Pruner:
    """For bodies of objects."""
    return _pruner(structs.replace(schema, embedded=False))


def second_pruner(schema: Node, first: Node) -> Callable[[Tree, Tree], Tree]:
    """For bodies that were made from others: these have been pruned by the first schema.

    What is the very same in both, at a place where both schemas know the same, needs no look.
    """
    whole = pruner(schema)
    alike: dict[tuple[str, ...], bool] = {}
    sections: dict[str, Pruner] = {
        name: _pruner(each) for name, each in schema.properties.items() if not each.preserves and not each.embedded
    }

    def is_alike(*place: str) -> bool:
        found = alike.get(place)
        if found is None:
            one, other = _at(schema, place), _at(first, place)
            found = alike[place] = one is not None and other is not None and _knows_the_same(one, other)
        return found

    def section_of(section: str, value: Tree, before: Tree) -> Tree:
        left = {
            name: item for name, item in value.items() if item is not before.get(name) or not is_alike(section, name)
        }
        inside: Tree = sections[section](left)
        return value if inside is left else _joined(value, left, inside)

    def pruned(body: Tree, before: Tree) -> Tree:
        made: Tree = {}
        for section, value in body.items():
            other = before.get(section)
            if value is other and is_alike(section):
                made[section] = value
            elif type(value) is dict and type(other) is dict and section in sections:
                made[section] = section_of(section, value, other)
            else:
                made |= whole({section: value})
        return made

    return pruned


def _at(node: Node, place: tuple[str, ...]) -> Node | None:
    for name in place:
        inside = node.properties.get(name)
        if inside is None:
            return None
        node = inside
    return node


def _joined(value: Tree, looked_at: Tree, pruned: Tree) -> Tree:
    """The whole section, of which a part was looked at."""
    if pruned is looked_at:
        return value
    return {name: pruned.get(name, item) for name, item in value.items() if name in pruned or name not in looked_at}


def _knows_the_same(one: Node, other: Node) -> bool:
    """Whether both take out the same of any value."""
    if (one.preserves, one.embedded) != (other.preserves, other.embedded):
        return False
    if one.properties.keys() != other.properties.keys():
        return False
    pairs = [(each, other.properties[name]) for name, each in one.properties.items()]
    for left, right in ((one.items, other.items), (one.rest, other.rest)):
        if (left is None) != (right is None):
            return False
        if left is not None and right is not None:
            pairs.append((left, right))
    is_open = (one.additional is None) == (other.additional is None)
    return is_open and all(_knows_the_same(left, right) for left, right in pairs)


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
        return value if same(made["inside"], value) else made["inside"]

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
