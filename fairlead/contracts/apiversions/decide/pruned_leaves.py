"""What a version would lose of another one's objects where nobody converts them (section 3.4).

With the strategy None the API server only renames the version, and then prunes to the schema of the name. This is the
same pruning, of schemas instead of objects: what one schema can hold at a place that the other does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from fairlead.contracts.apiversions.decide.pointers import STAR, Pointer, places
from fairlead.contracts.apiversions.decide.trees import Tree, copied
from kubeloop.schemas.structural import META_FIELDS, Node, compile_schema, prune

NOTHING = Node()
NONE: frozenset[str] = frozenset()
_Lost: TypeAlias = tuple[Pointer, Node | None, frozenset[str]]
"""A topmost place that is pruned, what is known there (None: whatever it is), and keys that stay."""


class Pruned(Struct, frozen=True):
    """A place that one version knows and another one prunes."""

    known_to: str
    pruned_by: str
    place: Pointer
    leaves: tuple[Pointer, ...]
    """What can be lost there, the place itself where nothing is below it."""
    spared: frozenset[str] = frozenset()
    """Keys that stay, where the place is any key of an object."""

    def is_in(self, tree: Tree) -> bool:
        """Whether this object has something there."""
        return any(place[-1] not in self.spared for place in places(tree, self.place))


def text_of(place: Pointer) -> str:
    """As a JSON pointer."""
    return "".join(f"/{each.replace('~', '~0').replace('/', '~1')}" for each in place)


def schemas_of(definition: Tree) -> dict[str, Node]:
    """The compiled schema of each version, in the order of the definition."""
    preserves = bool(definition["spec"].get("preserveUnknownFields"))
    return {each["name"]: _schema(each, preserves) for each in definition["spec"]["versions"]}


def counted_versions(definition: Tree) -> tuple[str, ...]:
    """Versions in which objects are written, read or stored: the others prune nothing."""
    stored = (definition.get("status") or {}).get("storedVersions") or ()
    versions = definition["spec"]["versions"]
    return tuple(each["name"] for each in versions if each.get("served") or each["name"] in stored)


def pruned(definition: Tree) -> list[Pruned]:
    """All that versions lose of one another; none where the schemas are union-safe."""
    schemas = schemas_of(definition)
    return pruned_among({name: schemas[name] for name in counted_versions(definition)})


def is_union_safe(definition: Tree) -> bool:
    """Whether an object may be read and written in any version that counts without being converted."""
    return not pruned(definition)


def pruned_among(schemas: Mapping[str, Node]) -> list[Pruned]:
    found = []
    for known_to, source in schemas.items():
        for pruned_by, target in schemas.items():
            if known_to != pruned_by:
                for place, node, spared in _lost(source, target, (), is_object=True):
                    leaves = tuple(_leaves(node, place)) if node is not None else (place,)
                    found.append(Pruned(known_to, pruned_by, place, leaves, spared))
    return found


def lost_of(tree: Tree, schema: Node) -> list[str]:
    """Where this object would be pruned by the schema, as the API server writes it (`spec.parts[0].weight`)."""
    return [each for each in prune(copied(tree), schema) if each.partition(".")[0] != "metadata"]


def _schema(version: Tree, preserves: bool) -> Node:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        return compile_schema({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    return compile_schema({**schema, "x-kubernetes-preserve-unknown-fields": True} if preserves else schema)


def _lost(source: Node, target: Node, path: Pointer, *, is_object: bool) -> Iterator[_Lost]:
    spared = META_FIELDS if is_object or (source.embedded and target.embedded) else ()
    for name, each in source.properties.items():
        if name not in spared:
            yield from _lost_field(each, target, name, path)
    if source.rest is not None or source.additional is True:
        yield from _lost_values(source.rest or NOTHING, target, path)
    elif source.preserves and not target.preserves and target.additional is None:
        yield (*path, STAR), None, frozenset(target.properties) | frozenset(spared)
    if source.items is not None and not (target.preserves and target.items is None):
        inside = target.items or NOTHING
        if target.preserves and not inside.preserves:
            inside = _sparing(inside)
        yield from _lost(source.items, inside, (*path, STAR), is_object=False)


def _lost_field(node: Node, target: Node, name: str, path: Pointer) -> Iterator[_Lost]:
    below = (*path, name)
    known = target.properties.get(name)
    if known is None and target.preserves:
        known = target.rest
        if known is None:
            return
    elif known is None:
        if target.additional is None:
            yield below, node, NONE
            return
        known = target.rest or NOTHING
    yield from _lost(node, known, below, is_object=False)


def _lost_values(node: Node, target: Node, path: Pointer) -> Iterator[_Lost]:
    """Of a map, whose keys may be anything."""
    for name, known in target.properties.items():
        yield from _lost(node, known, (*path, name), is_object=False)
    if target.additional is not None:
        yield from _lost(node, target.rest or NOTHING, (*path, STAR), is_object=False)
    elif not target.preserves:
        yield (*path, STAR), node, frozenset(target.properties)


def _sparing(node: Node) -> Node:
    """Items of a list that keeps unknown fields keep theirs."""
    return compile_schema({**node.source, "x-kubernetes-preserve-unknown-fields": True})


def _leaves(node: Node, path: Pointer) -> Iterator[Pointer]:
    below: Iterable[tuple[str, Node]] = [*node.properties.items()]
    inside = node.items or node.rest
    if inside is not None:
        below = [*below, (STAR, inside)]
    if not below:
        yield path
    for name, each in below:
        yield from _leaves(each, (*path, name))
