"""managedFields that name versions which go: the same owners, under a version that stays.

An apply to an object whose managedFields name a version that is gone fails, and any other write to it wipes all of them
on servers up to 1.36; so they are rewritten while that is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from kubeloop.schemas.structural import Node

Fields: TypeAlias = dict[str, Any]
Entry: TypeAlias = dict[str, Any]

SEED = "fairlead-seed"
"""Owns the name of an object that nobody else owns anything of: the next apply would invent an owner of everything."""
_ITEMS = ("k:", "v:", "i:")


def names_version(entries: Sequence[Entry], versions: Callable[[str], bool]) -> bool:
    """Whether some entry names such an apiVersion."""
    return any(versions(str(each.get("apiVersion", ""))) for each in entries)


def moved(
    entries: Sequence[Entry],
    goes: Callable[[str], bool],
    api_version: str,
    translated: Callable[[Entry], Fields],
    now: datetime,
) -> list[Entry]:
    """The entries with those that name a version which goes under the one that stays; never empty.

    Manager, operation, time and subresource stay; what becomes the same is merged, and what owns nothing any more is
    left out.
    """
    found: dict[tuple[str, str, str, str], Entry] = {}
    for entry in entries:
        made = entry
        if goes(str(entry.get("apiVersion", ""))):
            made = {**entry, "apiVersion": api_version, "fieldsV1": translated(entry)}
        if not made.get("fieldsV1"):
            continue
        key = tuple(str(made.get(name, "")) for name in ("manager", "operation", "subresource", "apiVersion"))
        found[key] = _merged(found[key], made) if key in found else made  # type: ignore[index]
    return list(found.values()) or [_seed(api_version, now)]


def known_fields(fields: Mapping[str, Any], node: Node | None) -> Fields:
    """Those that the schema has at that place; metadata is everybody's."""
    if node is None or node.preserves:
        return dict(fields)
    kept: Fields = {}
    for key, below in fields.items():
        inner = below if isinstance(below, dict) else {}
        if key == "." or key in ("f:metadata", "f:apiVersion", "f:kind"):
            kept[key] = below
        elif key.startswith("f:"):
            known, child = _property(node, key[2:])
            if known and (not inner or (found := known_fields(inner, child))):
                kept[key] = found if inner else below
        elif not key.startswith(_ITEMS) or node.items is None:
            continue
        elif not inner or (found := known_fields(inner, node.items)):
            kept[key] = found if inner else below
    return kept


def _property(node: Node, name: str) -> tuple[bool, Node | None]:
    """Whether the schema has it, and its own schema; None: it says nothing of what is inside."""
    if name in node.properties:
        return True, node.properties[name]
    if isinstance(node.additional, Node):
        return True, node.additional
    return bool(node.additional), None


def _merged(one: Entry, other: Entry) -> Entry:
    later = max(str(one.get("time", "")), str(other.get("time", "")))
    return {**one, **({"time": later} if later else {}), "fieldsV1": _union(one["fieldsV1"], other["fieldsV1"])}


def _union(one: Mapping[str, Any], other: Mapping[str, Any]) -> Fields:
    both = {**one, **other}
    for key in one.keys() & other.keys():
        both[key] = _union(one[key] or {}, other[key] or {})
    return both


def _seed(api_version: str, now: datetime) -> Entry:
    return {
        "manager": SEED,
        "operation": "Update",
        "apiVersion": api_version,
        "time": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:name": {}}},
    }


def patch_of(entries: Sequence[Entry]) -> bytes:
    """A JSON patch that puts them in the place of those there are."""
    return msgspec.json.encode([{"op": "replace", "path": "/metadata/managedFields", "value": list(entries)}])
