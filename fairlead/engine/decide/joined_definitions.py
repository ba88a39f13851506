"""A definition that others bring as well: what this operator needs is added to it, and nothing of theirs is taken away.

Whichever release installed it, its versions, the stored one, its conversion and every field stay; where both say
something of a field, theirs holds. A definition with versions that this operator does not know is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.engine.decide.registration import DEFINITIONS, NOT_CONVERTED, Tree

_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_LISTS = ("shortNames", "categories")
"""Of names: both sides' together."""


def unknown_versions(definition: Tree, live: Tree) -> tuple[str, ...]:
    """Versions of the live definition that ours lacks."""
    ours = {each["name"] for each in definition["spec"]["versions"]}
    return tuple(each["name"] for each in live["spec"]["versions"] if each["name"] not in ours)


def joined(definition: Tree, live: Tree | None) -> Tree:
    """The definition to apply; live is one without unknown versions, or None."""
    metadata = dict(definition["metadata"])
    spec = {**definition["spec"], "conversion": NOT_CONVERTED}
    if live is not None:
        metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
        spec = _joined_spec(definition["spec"], live["spec"])
    return {"apiVersion": DEFINITIONS.api_version, "kind": DEFINITIONS.kind, "metadata": metadata, "spec": spec}


def lacking(definition: Tree, live: Tree, *parts: str) -> tuple[str, ...]:
    """Paths of our fields, of these parts of an object, that some version of the live definition would not keep."""
    there = {each["name"]: each for each in live["spec"]["versions"]}
    found: list[str] = []
    for ours in definition["spec"]["versions"]:
        theirs = there.get(ours["name"])
        for part in parts:
            if needed := _part(ours, part):
                found += _lacking(needed, {} if theirs is None else _part(theirs, part), part)
    return tuple(dict.fromkeys(found))


def _part(version: Tree, part: str) -> Tree:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    if schema.get(_PRESERVES):
        return {_PRESERVES: True}
    found: Tree = (schema.get("properties") or {}).get(part) or {}
    return found


def _lacking(ours: Tree, theirs: Tree, path: str) -> Iterator[str]:
    if theirs.get(_PRESERVES) and not theirs.get("properties"):
        return
    if not theirs:
        yield path
        return
    kept = theirs.get("properties") or {}
    for name, schema in (ours.get("properties") or {}).items():
        if name in kept:
            yield from _lacking(schema, kept[name], f"{path}.{name}")
        elif not theirs.get(_PRESERVES):
            yield f"{path}.{name}"
    if isinstance(ours.get("items"), dict) and isinstance(theirs.get("items"), dict):
        yield from _lacking(ours["items"], theirs["items"], f"{path}[]")


def _joined_spec(ours: Tree, theirs: Tree) -> Tree:
    """Without a conversion: that of the live one stays with whoever wrote it."""
    there = {each["name"]: each for each in theirs["versions"]}
    new = [{**each, "storage": False} for each in ours["versions"] if each["name"] not in there]
    known = {each["name"]: each for each in ours["versions"]}
    versions = [_joined_version(known[each["name"]], each) for each in theirs["versions"] if each["name"] in known]
    names = {**ours["names"], **theirs["names"]}
    for key in _LISTS:
        if both := [*dict.fromkeys((*theirs["names"].get(key, ()), *ours["names"].get(key, ())))]:
            names[key] = both
    kept: Tree = {key: theirs[key] for key in ("group", "scope", "preserveUnknownFields") if key in theirs}
    return {**kept, "names": names, "versions": [*versions, *new]}


def _joined_version(ours: Tree, theirs: Tree) -> Tree:
    columns = [*(theirs.get("additionalPrinterColumns") or ())]
    named = {each["name"].lower() for each in columns}
    columns += [each for each in ours.get("additionalPrinterColumns") or () if each["name"].lower() not in named]
    subresources = {**(ours.get("subresources") or {}), **(theirs.get("subresources") or {})}
    schemas = [(each.get("schema") or {}).get("openAPIV3Schema") or {} for each in (ours, theirs)]
    return {
        **theirs,
        "schema": {"openAPIV3Schema": _joined_schema(*schemas)},
        **({"subresources": subresources} if subresources else {}),
        **({"additionalPrinterColumns": columns} if columns else {}),
    }


def _joined_schema(ours: Tree, theirs: Tree) -> Tree:
    """Theirs with the fields that ours has besides; rules of ours are not added, so nothing stored becomes invalid."""
    found: dict[str, Any] = dict(theirs)
    mine, yours = ours.get("properties") or {}, theirs.get("properties") or {}
    if mine and not _is_map(theirs):
        found["properties"] = {
            name: _joined_schema(mine.get(name, {}), yours[name]) if name in yours else mine[name]
            for name in (*yours, *(each for each in mine if each not in yours))
        }
    for key in ("items", "additionalProperties"):
        if isinstance(ours.get(key), dict) and isinstance(theirs.get(key), dict):
            found[key] = _joined_schema(ours[key], theirs[key])
    if ours.get(_PRESERVES) and theirs.get("type") == "object":
        found[_PRESERVES] = True
    return found


def _is_map(schema: Tree) -> bool:
    """With names that the objects choose: such a schema has no fields of its own."""
    return bool(schema.get("additionalProperties"))
