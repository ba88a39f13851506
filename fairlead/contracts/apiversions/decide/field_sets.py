"""Fields as managedFields name them, and parts of objects: one can be made of the other (section 3.6).

`{"f:spec": {"f:parts": {"k:{\\"name\\":\\"web\\"}": {"f:weight": {}}}}}` names the weight of one part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fairlead.contracts.apiversions.decide.trees import Absent
from kubeloop.schemas.structural import Node
from kubeloop.unreadable import UNREADABLE

FIELD, KEY, VALUE = "f:", "k:", "v:"
SELF = "."


def part_of(value: Any, fields: Mapping[str, Any], node: Node | None) -> Any:
    """What of the value, which is of this schema, the fields name; Absent where none of it is there."""
    inside = {key: below for key, below in fields.items() if key != SELF}
    if not inside:
        return _itself(value, node)
    if isinstance(value, dict):
        found = {}
        for key, below in inside.items():
            name = key.removeprefix(FIELD)
            if not key.startswith(FIELD) or name not in value:
                continue
            if (part := part_of(value[name], below or {}, _child(node, name))) is not Absent:
                found[name] = part
        return found or Absent
    if isinstance(value, list):
        inner = None if node is None else node.items
        items = [part for each in value if (part := _part_of_item(each, inside, inner)) is not Absent]
        return items or Absent
    return Absent


def _itself(value: Any, node: Node | None) -> Any:
    """What is owned where nothing below is named: all of a leaf, and of what others may own parts of only that it is
    there, as is left to a creator when somebody else applies what is inside with force."""
    if isinstance(value, dict) and not _is_atomic_map(node):
        return {}
    if isinstance(value, list) and node is not None and node.list_type in ("map", "set"):
        return []
    return value


def _is_atomic_map(node: Node | None) -> bool:
    return node is not None and node.source.get("x-kubernetes-map-type") == "atomic"


def _part_of_item(item: Any, fields: Mapping[str, Any], node: Node | None) -> Any:
    for key, below in fields.items():
        wanted = _decoded(key[2:])
        if key.startswith(VALUE) and wanted == item:
            return item
        if key.startswith(KEY) and isinstance(wanted, dict) and isinstance(item, dict) and _has(item, wanted):
            inside = {name: each for name, each in (below or {}).items() if name != SELF}
            part = part_of(item, inside, node) if inside else {}
            return {**wanted, **(part if isinstance(part, dict) else {})}
    return Absent


def _has(item: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(name in item and item[name] == value for name, value in wanted.items())


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return Absent


def fields_of(value: Any, node: Node | None) -> dict[str, Any]:
    """The names of all that is in the value, as the schema tells lists and maps apart; empty for a leaf."""
    if isinstance(value, dict):
        if _is_atomic_map(node):
            return {}
        return {f"{FIELD}{name}": fields_of(each, _child(node, name)) for name, each in value.items()}
    if isinstance(value, list) and node is not None and node.list_type == "map":
        return {_key(each, node): {SELF: {}, **fields_of(each, node.items)} for each in value if isinstance(each, dict)}
    if isinstance(value, list) and node is not None and node.list_type == "set":
        return {f"{VALUE}{msgspec.json.encode(each).decode()}": {} for each in value}
    return {}


def _child(node: Node | None, name: str) -> Node | None:
    if node is None:
        return None
    return node.properties.get(name) or node.rest


def _key(item: Mapping[str, Any], node: Node) -> str:
    named = {name: item[name] for name in sorted(node.list_keys) if name in item}
    return f"{KEY}{msgspec.json.encode(named).decode()}"
