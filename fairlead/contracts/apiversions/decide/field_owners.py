"""Who wrote a field last, as the API server records it in managedFields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fairlead.contracts.apiversions.decide.carry_entries import Path, Segment
from fairlead.contracts.apiversions.decide.shapes import Key
from fairlead.contracts.apiversions.decide.trees import Tree
from kubeloop.unreadable import UNREADABLE


def written_at(tree: Tree, path: Path) -> str:
    """When a manager last wrote the field, as the API has times; empty where nobody is recorded."""
    return max((_time(each) for each in _entries(tree) if _owns(each.get("fieldsV1"), path)), default="")


def last_version(tree: Tree, payload: Iterable[str]) -> tuple[str, str]:
    """The API version of the newest entry that owns something of these parts of the body, and its time.

    Both empty where there is none, or where entries of several versions are equally new.
    """
    parts = {f"f:{each}" for each in payload}
    found = [
        each for each in _entries(tree) if isinstance(each.get("fieldsV1"), dict) and parts & each["fieldsV1"].keys()
    ]
    newest = max(map(_time, found), default="")
    versions = {str(each.get("apiVersion", "")) for each in found if _time(each) == newest}
    return (versions.pop(), newest) if len(versions) == 1 and newest else ("", "")


def _entries(tree: Tree) -> list[Tree]:
    metadata = tree.get("metadata")
    found = metadata.get("managedFields") if isinstance(metadata, dict) else None
    given = found if isinstance(found, list) else []
    return [each for each in given if isinstance(each, dict) and each.get("subresource") != "status"]


def _time(entry: Mapping[str, Any]) -> str:
    found = entry.get("time")
    return found if isinstance(found, str) else ""


def _owns(owned: Any, path: Path) -> bool:
    """A set of fields ends where a value is owned as a whole, and then all inside of it is."""
    for segment in path:
        if not isinstance(owned, dict):
            return False
        if not owned:
            return True
        owned = _below(owned, segment)
        if owned is None:
            return False
    return isinstance(owned, dict)


def _below(owned: Mapping[str, Any], segment: Segment) -> Any:
    if isinstance(segment, str):
        return owned.get(f"f:{segment}")
    return next((each for name, each in owned.items() if _key(name) == segment), None)


def _key(name: str) -> Key | None:
    if not name.startswith("k:"):
        return None
    try:
        return tuple(sorted(msgspec.json.decode(name[2:], type=dict[str, Any]).items()))
    except UNREADABLE:
        return None
