"""Structural schemas of custom resources: compiled once, then applied to every object that comes in.

Coming in means: fields that the schema does not know are pruned, nulls that it does not allow are dropped, defaults are
filled in. What remains is checked by `conform`. The order is that of the API server, and so is what each step leaves
alone: type and metadata of objects, and everything below `x-kubernetes-preserve-unknown-fields`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from kubeloop.schemas import patterns

META_FIELDS = ("apiVersion", "kind", "metadata")
OBJECT_META = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
Number = int | float
Tree: TypeAlias = dict[str, Any]


class Node(Struct, frozen=True, eq=False, weakref=True):
    """One place of a schema. Absent constraints are None, absent lists empty."""

    types: tuple[str, ...] = ()
    nullable: bool = False
    format: str = ""
    default: Any | UnsetType = UNSET
    properties: Mapping[str, Node] = {}
    additional: Node | bool | None = None
    items: Node | None = None
    required: tuple[str, ...] = ()
    enum: tuple[Any, ...] | None = None
    minimum: Number | None = None
    maximum: Number | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: Number | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    expression: patterns.Pattern | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    all_of: tuple[Node, ...] = ()
    any_of: tuple[Node, ...] = ()
    one_of: tuple[Node, ...] = ()
    negated: Node | None = None
    preserves: bool = False
    """Fields that are not known stay."""
    embedded: bool = False
    """Holds a whole object, with type and metadata."""
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()
    """Properties that have a default themselves."""
    fills: bool = False
    """There is a default somewhere below."""
    formatted: bool = False
    """There is a text with a format here or below."""
    source: Mapping[str, Any] = {}
    """As the definition has it."""

    @property
    def rest(self) -> Node | None:
        """The schema of properties that are not named."""
        return self.additional if isinstance(self.additional, Node) else None


def compile_schema(schema: Tree) -> Node:
    """The schema as nodes; it has been found sound before (`structural`)."""
    properties = {name: compile_schema(each) for name, each in sorted((schema.get("properties") or {}).items())}
    items = schema.get("items")
    inside = None if items is None else compile_schema(items)
    rest = schema.get("additionalProperties")
    additional = compile_schema(rest) if isinstance(rest, dict) else rest
    pattern = schema.get("pattern") or ""
    defaulted = tuple(name for name, each in properties.items() if each.default is not UNSET)
    below = [*properties.values(), inside, additional]
    return Node(
        types=_types(schema),
        nullable=bool(schema.get("nullable")),
        format=schema.get("format") or "",
        default=UNSET if schema.get("default") is None else schema["default"],
        properties=properties,
        additional=additional,
        items=inside,
        required=tuple(schema.get("required") or ()),
        enum=None if schema.get("enum") is None else tuple(schema["enum"]),
        minimum=schema.get("minimum"),
        maximum=schema.get("maximum"),
        exclusive_minimum=bool(schema.get("exclusiveMinimum")),
        exclusive_maximum=bool(schema.get("exclusiveMaximum")),
        multiple_of=schema.get("multipleOf"),
        min_length=schema.get("minLength"),
        max_length=schema.get("maxLength"),
        pattern=pattern,
        expression=patterns.compiled(pattern) if pattern else None,
        min_items=schema.get("minItems"),
        max_items=schema.get("maxItems"),
        min_properties=schema.get("minProperties"),
        max_properties=schema.get("maxProperties"),
        all_of=_all(schema.get("allOf")),
        any_of=_all(schema.get("anyOf")),
        one_of=_all(schema.get("oneOf")),
        negated=None if schema.get("not") is None else compile_schema(schema["not"]),
        preserves=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        embedded=bool(schema.get("x-kubernetes-embedded-resource")),
        list_type=schema.get("x-kubernetes-list-type") or "",
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        defaulted=defaulted,
        fills=any(isinstance(each, Node) and (each.fills or each.default is not UNSET) for each in below),
        formatted=bool(schema.get("format") and schema.get("type") == "string")
        or any(isinstance(each, Node) and each.formatted for each in below),
        source=schema,
    )


def _types(schema: Tree) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _all(schemas: Iterable[Tree] | None) -> tuple[Node, ...]:
    return tuple(compile_schema(each) for each in schemas or ())


def prune(tree: Tree, root: Node) -> list[str]:
    """Removes what the schema of a whole object does not know, in place; answers with the paths of that, sorted."""
    unknown: list[str] = []
    metadata = tree.get("metadata")
    if isinstance(metadata, dict):
        _prune_metadata(metadata, "metadata", unknown)
    if root.preserves:
        _spare(tree, root, "", unknown, embedded=True)
    else:
        _prune_object(tree, root, "", unknown, embedded=True)
    return sorted(unknown)


def prune_value(value: Any, node: Node) -> list[str]:
    """The same for a value anywhere below the root."""
    unknown: list[str] = []
    _prune(value, node, "", unknown)
    return sorted(unknown)


def _prune_metadata(metadata: Tree, path: str, unknown: list[str]) -> None:
    gone = [key for key, value in metadata.items() if key not in OBJECT_META or value is None]
    for key in gone:
        del metadata[key]
    unknown += [f"{path}.{key}" for key in gone if key not in OBJECT_META]


def _prune(value: Any, node: Node | None, path: str, unknown: list[str]) -> None:
    if node is not None and node.preserves:
        _spare(value, node, path, unknown, embedded=node.embedded)
    elif isinstance(value, dict):
        _prune_object(value, node or Node(), path, unknown, embedded=node is not None and node.embedded)
    elif isinstance(value, list):
        items = None if node is None else node.items
        for index, item in enumerate(value):
            _prune(item, items, f"{path}[{index}]", unknown)


def _prune_object(value: Tree, node: Node, path: str, unknown: list[str], *, embedded: bool) -> None:
    for key in list(value):
        if embedded and key in META_FIELDS:
            if path and key == "metadata" and isinstance(value[key], dict):
                _prune_metadata(value[key], f"{path}.metadata", unknown)
            continue
        known = node.properties.get(key)
        if known is not None:
            _prune(value[key], known, _below(path, key), unknown)
        elif node.additional is not None:
            # Without a schema of their own, values stay and lose what is inside them.
            _prune(value[key], node.rest, _below(path, key), unknown)
        else:
            del value[key]
            unknown.append(_below(path, key))


def _spare(value: Any, node: Node, path: str, unknown: list[str], *, embedded: bool) -> None:
    """Leaves unknown fields here, and looks into the known ones."""
    if isinstance(value, dict):
        for key, item in value.items():
            if embedded and key in META_FIELDS:
                if path and key == "metadata" and isinstance(item, dict):
                    _prune_metadata(item, f"{path}.metadata", unknown)
                continue
            known = node.properties.get(key) or node.rest
            if known is not None:
                _prune(item, known, _below(path, key), unknown)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            _spare(item, node.items, f"{path}[{index}]", unknown, embedded=node.items.embedded)


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def drop_nulls(value: Any, node: Node | None) -> None:
    """Removes nulls of fields that may not be null and have no default, in place."""
    if node is None:
        return
    if isinstance(value, dict):
        for key in list(value):
            known = node.properties.get(key) or node.rest
            if known is None:
                continue
            if value[key] is None:
                if not known.nullable and known.default is UNSET:
                    del value[key]
            else:
                drop_nulls(value[key], known)
    elif isinstance(value, list):
        for item in value:
            drop_nulls(item, node.items)


def fill(value: Any, node: Node | None) -> None:
    """Fills in defaults, in place; a null that is not allowed counts as absent."""
    if node is None or not node.fills:
        return
    if isinstance(value, dict):
        for key in node.defaulted:
            known = node.properties[key]
            if key not in value or (value[key] is None and not known.nullable):
                value[key] = copy.deepcopy(known.default)
        for key, item in value.items():
            known_or_rest = node.properties.get(key) or node.rest
            if known_or_rest is not None:
                value[key] = _filled(item, known_or_rest)
    elif isinstance(value, list) and node.items is not None:
        value[:] = [_filled(item, node.items) for item in value]


def _filled(value: Any, node: Node) -> Any:
    if value is None and not node.nullable and node.default is not UNSET:
        value = copy.deepcopy(node.default)
    fill(value, node)
    return value


def take_in(tree: Tree, root: Node) -> list[str]:
    """Prunes, drops nulls and fills in defaults, in place; answers with the paths of unknown fields."""
    unknown = prune(tree, root)
    drop_nulls(tree, root)
    fill(tree, root)
    return unknown
