"""Union schemas: every version takes the shape of every other one, so that nothing is pruned without conversion.

Where versions agree a schema stays as it is. Where they differ, properties of the others are added without rules of
their own, a place with several types is opened, and rules are weakened to what holds in all of them. What a rule cannot
say any more is left out rather than kept half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from fairlead.contracts.apiversions.decide.pruned_leaves import counted_versions
from fairlead.contracts.apiversions.decide.trees import Tree, copied, same

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"
SCALARS = ("string", "integer", "number", "boolean")
SELECTABLE = ("string", "integer", "boolean")
WORDS = ("title", "description", "externalDocs", "example", "default", "x-kubernetes-map-type")
"""Kept from the version itself; none of them refuses a value."""
LOWEST = ("minimum", "minLength", "minItems", "minProperties")
HIGHEST = ("maximum", "maxLength", "maxItems", "maxProperties")
EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
EQUAL_ONLY = ("pattern", "format", "multipleOf", "uniqueItems")
STRUCTURE = ("type", "nullable", PRESERVE, EMBEDDED, INT_OR_STRING, LIST_TYPE, LIST_KEYS, "x-kubernetes-map-type")
COMBINED = ("allOf", "anyOf", "oneOf", "not")
DEEP = ("properties", "items", "additionalProperties")


class Union(Struct, frozen=True):
    """A definition with union schemas, and what they could not keep."""

    definition: Tree
    notes: tuple[str, ...] = ()


def with_unions(definition: Tree) -> Union:
    """The same definition in which each version that counts takes the shapes of all of those; the rest is as it was."""
    counted = counted_versions(definition)
    schemas = {each["name"]: _schema(each) for each in definition["spec"]["versions"] if each["name"] in counted}
    made: Tree = copied(definition)
    notes: list[str] = []
    for version in made["spec"]["versions"]:
        name = version["name"]
        if name in schemas:
            others = [each for other, each in schemas.items() if other != name]
            version["schema"] = {"openAPIV3Schema": union_of(schemas[name], others, is_root=True)}
            notes += _unselect(version)
    return Union(made, tuple(notes))


def union_of(own: Tree, others: Sequence[Tree], *, is_root: bool = False) -> Tree:
    """The schema, and whatever the others allow at the same place."""
    if all(same(own, each) for each in others):
        return copied(own)  # type: ignore[no-any-return]
    every = [own, *others]
    types = {_type(each) for each in every}
    if len(types) > 1 or types == {""}:
        return _opened(own, every)
    made = _kept(own, others)
    match types.pop():
        case "object":
            _unite_objects(made, every, is_root=is_root)
        case "array":
            _unite_lists(made, every)
    return made


def foreign(schemas: Sequence[Tree]) -> Tree:
    """What other versions have where this one has nothing: their fields, without any rule about values.

    Fields are kept, and not only the place opened, so that all versions know and prune the same.
    """
    return _bare(union_of(schemas[0], schemas[1:]))


def _bare(schema: Tree) -> Tree:
    made = {key: copied(schema[key]) for key in STRUCTURE if key in schema}
    if properties := schema.get("properties"):
        made["properties"] = {name: _bare(each) for name, each in properties.items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            made[key] = _bare(schema[key]) if isinstance(schema[key], dict) else schema[key]
    if made.get(LIST_TYPE) == "map" and not _keep_keys(made["items"], made[LIST_KEYS]):
        del made[LIST_TYPE], made[LIST_KEYS]
    return made


def _schema(version: Tree) -> Tree:
    found: Tree | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return {"type": "object", PRESERVE: True} if found is None else found


def _type(schema: Tree) -> str:
    return INT_OR_STRING if schema.get(INT_OR_STRING) else str(schema.get("type") or "")


def _is_nullable(schema: Tree) -> bool:
    return bool(schema.get("nullable"))


def _opened(own: Tree, every: Sequence[Tree]) -> Tree:
    made = {key: copied(value) for key, value in own.items() if key in WORDS and key != "x-kubernetes-map-type"}
    made[PRESERVE] = True
    if any(map(_is_nullable, every)):
        made["nullable"] = True
    return made


def _kept(own: Tree, others: Sequence[Tree]) -> Tree:
    """What all versions say of the value itself, weakened to what holds in each of them."""
    every = [own, *others]
    made = {key: copied(own[key]) for key in ("type", INT_OR_STRING, *WORDS) if key in own}
    if any(map(_is_nullable, every)):
        made["nullable"] = True
    for keys, weakest in ((LOWEST, min), (HIGHEST, max)):
        for key in keys:
            _keep_bound(made, key, every, weakest)
    for key in EQUAL_ONLY:
        if key in own and all(key in each and same(each[key], own[key]) for each in others):
            made[key] = copied(own[key])
    for key in COMBINED:
        if key in own and _is_shallow(own[key]) and all(same(each.get(key), own[key]) for each in others):
            made[key] = copied(own[key])
    if all(each.get("enum") is not None for each in every):
        made["enum"] = _joined([each["enum"] for each in every])
    return made


def _keep_bound(made: Tree, key: str, every: Sequence[Tree], weakest: Any) -> None:
    if any(each.get(key) is None for each in every):
        return
    made[key] = weakest(each[key] for each in every)
    exclusive = EXCLUSIVE.get(key)
    if exclusive and all(each.get(exclusive) for each in every if each[key] == made[key]):
        made[exclusive] = True


def _joined(lists: Sequence[Sequence[Any]]) -> list[Any]:
    found: list[Any] = []
    for each in lists:
        found += [copied(value) for value in each if not any(same(value, known) for known in found)]
    return found


def _is_shallow(rule: Any) -> bool:
    """Whether a rule speaks of no place below, which may have been opened."""
    if isinstance(rule, list):
        return all(map(_is_shallow, rule))
    if not isinstance(rule, dict):
        return True
    return not any(key in rule for key in DEEP) and all(_is_shallow(rule[key]) for key in COMBINED if key in rule)


def _unite_objects(made: Tree, every: Sequence[Tree], *, is_root: bool) -> None:
    embedded = [bool(each.get(EMBEDDED)) for each in every]
    if all(embedded):
        made[EMBEDDED] = True
    maps = ["additionalProperties" in each for each in every]
    if any(each.get(PRESERVE) for each in every) or any(embedded) != all(embedded):
        made[PRESERVE] = True
    required = [
        name for name in every[0].get("required") or () if all(name in (o.get("required") or ()) for o in every)
    ]
    if required:
        made["required"] = required
    if all(maps):
        _unite_maps(made, every)
    elif any(maps):
        made[PRESERVE] = True  # one has fields and another any key: what is known of a field need not hold for a key
    else:
        _unite_fields(made, every, is_root=is_root)


def _unite_maps(made: Tree, every: Sequence[Tree]) -> None:
    values = [each["additionalProperties"] for each in every]
    if all(isinstance(each, dict) for each in values):
        made["additionalProperties"] = union_of(values[0], values[1:])
    elif all(same(each, values[0]) for each in values):
        made["additionalProperties"] = copied(values[0])
    else:
        made[PRESERVE] = True


def _unite_fields(made: Tree, every: Sequence[Tree], *, is_root: bool) -> None:
    properties: Tree = {}
    own, *others = ({**(each.get("properties") or {})} for each in every)
    reserved = ("apiVersion", "kind", "metadata") if is_root or made.get(EMBEDDED) else ()
    for name, each in own.items():
        counterparts = [other[name] for other in others if name in other]
        properties[name] = copied(each) if name in reserved else union_of(each, counterparts)
    for name in dict.fromkeys(name for other in others for name in other):
        if name not in own and name not in reserved:
            properties[name] = foreign([other[name] for other in others if name in other])
    if properties:
        made["properties"] = properties


def _unite_lists(made: Tree, every: Sequence[Tree]) -> None:
    """A list that is a map or a set in one version only is neither, because the others allow duplicates."""
    items = [each.get("items") or {PRESERVE: True} for each in every]
    made["items"] = union_of(items[0], items[1:])
    kinds = {(each.get(LIST_TYPE) or "atomic", tuple(each.get(LIST_KEYS) or ())) for each in every}
    if any(each.get(PRESERVE) for each in every):
        made[PRESERVE] = True
    if len(kinds) > 1:
        return
    kind, keys = kinds.pop()
    if kind == "map":
        if _keep_keys(made["items"], keys):
            made[LIST_TYPE], made[LIST_KEYS] = kind, [*keys]
    elif _type(made["items"]) in (*SCALARS, INT_OR_STRING) if kind == "set" else LIST_TYPE in every[0]:
        made[LIST_TYPE] = kind


def _keep_keys(items: Tree, keys: Sequence[str]) -> bool:
    """Whether the items can still be known by these fields; each of them is required or has a default then."""
    fields = items.get("properties") or {}
    if _is_nullable(items) or any(_type(fields.get(each) or {}) not in SCALARS for each in keys):
        return False
    lacking = [each for each in keys if "default" not in fields[each] and each not in (items.get("required") or ())]
    if lacking:
        items["required"] = [*(items.get("required") or ()), *lacking]
    return not any(_is_nullable(fields[each]) for each in keys)


def _unselect(version: Tree) -> list[str]:
    """Takes out fields that cannot be selected by any more, because their place was opened."""
    schema = version["schema"]["openAPIV3Schema"]
    fields = version.get("selectableFields") or []
    lost = [each for each in fields if _type(_field(schema, each["jsonPath"])) not in SELECTABLE]
    if lost:
        version["selectableFields"] = [each for each in fields if each not in lost]
    return [f"{version['name']} cannot be selected by {each['jsonPath']} any more: its type is open" for each in lost]


def _field(schema: Tree, path: str) -> Tree:
    for name in path.strip(".").split("."):
        schema = (schema.get("properties") or {}).get(name) or {}
    return schema
