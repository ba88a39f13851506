"""Which schemas a CustomResourceDefinition may carry: structural ones, with sound defaults.

A structural schema says the type of everything it names, once, outside of `allOf`, `anyOf`, `oneOf` and `not`; only so
can fields be pruned and defaults be filled in. Rules in CEL must compile, and name what the schema knows.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

import msgspec

from kubeloop.schemas.patterns import BadPattern, compiled
from kubeloop.schemas.structural import compile_schema, drop_nulls, prune_value
from kubesim.cel import rules as cel_rules
from kubesim.cel.rules import SchemaPlace
from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.schema.conformance import Checker
from kubesim.store.versions import Tree

ROOT, ITEM, FIELD = "root", "item", "field"
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_EMPTY_TYPE = {
    ROOT: "must not be empty at the root",
    ITEM: "must not be empty for specified array items",
    FIELD: "must not be empty for specified object fields",
}
_FORBIDDEN_BELOW = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}
_FORBIDDEN = {
    "$ref": "$ref is not supported",
    "definitions": "definitions is not supported",
    "dependencies": "dependencies is not supported",
    "patternProperties": "patternProperties is not supported",
    "id": "id is not supported",
    "additionalItems": "additionalItems is not supported",
}


_ITEMS = "items must be a schema object and not an array"
_UNREADABLE = (*_FORBIDDEN.values(), _ITEMS)
"""With any of these the server cannot tell the shape of a schema."""


def causes_of(schema: Tree, path: str, *, has_status: bool) -> list[Cause]:
    """Why the schema at the path cannot be used; empty when it can. Equal schemas are looked at once."""
    return list(_causes(msgspec.json.encode(schema), path, has_status))


@lru_cache(maxsize=256)
def _causes(text: bytes, path: str, has_status: bool) -> tuple[Cause, ...]:
    schema: Tree = msgspec.json.decode(text)
    causes = _root(schema, path, has_status)
    rules = _rules(schema, path)
    if not any(cause.message.removeprefix("Forbidden: ") in _UNREADABLE for cause in rules):
        causes += sorted(_shape(schema, ROOT, path), key=lambda cause: f"{cause.field}: {cause.message}")
    causes += rules
    return tuple(causes or _defaults(schema, path) + _expressions(schema, SchemaPlace(path, is_root=True)))


def _root(schema: Tree, path: str, has_status: bool) -> list[Cause]:
    if schema.get("nullable"):
        return [not_allowed(f"{path}.nullable", "nullable cannot be true at the root")]
    if has_status and schema.get("type") not in (None, "object"):
        text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [wrong(f"{path}.type", schema["type"], text)]
    return []


def _children(schema: Tree, path: str) -> list[tuple[Tree, str, str]]:
    """Schemas of fields and items, their level and their path."""
    found: list[tuple[Tree, str, str]] = []
    if isinstance(schema.get("items"), dict):
        found.append((schema["items"], ITEM, f"{path}.items"))
    for name, each in sorted((schema.get("properties") or {}).items()):
        found.append((each, FIELD, f"{path}.properties[{name}]"))
    if isinstance(schema.get("additionalProperties"), dict):
        found.append((schema["additionalProperties"], FIELD, f"{path}.additionalProperties"))
    return found


def _junctions(schema: Tree, path: str) -> list[tuple[Tree, str]]:
    found = [
        (each, f"{path}.{word}[{index}]")
        for word in ("anyOf", "allOf", "oneOf")
        for index, each in enumerate(schema.get(word) or [])
    ]
    if isinstance(schema.get("not"), dict):
        found.append((schema["not"], f"{path}.not"))
    return found


# What makes a schema structural


def _shape(schema: Tree, level: str, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if schema.get("type") == "array" and schema.get("items") is None:
        causes.append(required(f"{path}.items", "must be specified"))
    for child, child_level, at in _children(schema, path):
        causes += _shape(child, child_level, at)
    if level == ROOT and schema.get("additionalProperties") is not None:
        causes.append(not_allowed(f"{path}.additionalProperties", "must not be used at the root"))
    causes += _typing(schema, level, path) + _metadata(schema, level, path)
    if schema.get("pattern"):
        causes += _pattern(schema["pattern"], path)
    plain = schema.get("anyOf") == _INT_OR_STRING
    for nested, at in _junctions(schema, path):
        if not (plain and ".anyOf[" in at.removeprefix(path)):
            causes += _nested(nested, schema, path, at)
    return causes


def _typing(schema: Tree, level: str, path: str) -> list[Cause]:
    kind = schema.get("type") or ""
    if schema.get("x-kubernetes-embedded-resource"):
        causes: list[Cause] = []
        if kind != "object":
            text = "must be object if x-kubernetes-embedded-resource is true"
            causes.append(wrong(f"{path}.type", kind, text) if kind else required(f"{path}.type", text))
        if not schema.get("x-kubernetes-preserve-unknown-fields") and not schema.get("properties"):
            text = (
                "must not be empty if x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields"
            )
            causes.append(required(f"{path}.properties", text))
        return causes
    if level == ROOT and kind not in ("", "object"):
        return [wrong(f"{path}.type", kind, "must be object at the root")]
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    return [] if kind or free else [required(f"{path}.type", _EMPTY_TYPE[level])]


def _metadata(schema: Tree, level: str, path: str) -> list[Cause]:
    """Type and metadata of objects are known already: little may be said about them."""
    if level != ROOT and not schema.get("x-kubernetes-embedded-resource"):
        return []
    properties = schema.get("properties") or {}
    causes = [
        wrong(f"{path}.properties[{name}].type", properties[name].get("type") or "", "must be string")
        for name in ("kind", "apiVersion")
        if name in properties and properties[name].get("type") != "string"
    ]
    metadata = properties.get("metadata")
    if metadata is None:
        return causes
    at = f"{path}.properties[metadata]"
    if metadata.get("type") != "object":
        causes.append(wrong(f"{at}.type", metadata.get("type") or "", "must be object"))
    said = [key for key in metadata if key not in ("type", "description", "properties")]
    names = set(metadata.get("properties") or {})
    if level == ROOT and (said or not names <= {"name", "generateName"}):
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        causes.append(not_allowed(at, text))
    return causes


def _pattern(pattern: str, path: str) -> list[Cause]:
    try:
        compiled(pattern)
    except BadPattern as error:
        return [wrong(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {error}")]
    return []


def _nested(nested: Tree, outside: Tree | None, outside_path: str, path: str) -> list[Cause]:
    """A schema under a logical word adds checks; what it names must be named outside as well."""
    if outside is None:
        return [required(outside_path, f"because it is defined in {path}")]
    causes = [not_allowed(f"{path}.{key}", text) for key, text in _FORBIDDEN_BELOW.items() if nested.get(key)]
    if nested.get("pattern"):
        causes += _pattern(nested["pattern"], path)
    known = outside.get("properties") or {}
    for name, each in sorted((nested.get("properties") or {}).items()):
        at = f"{path}.properties[{name}]"
        if name == "metadata":
            causes.append(not_allowed(at, "must not be specified in a nested context"))
        causes += _nested(each, known.get(name), f"{outside_path}.properties[{name}]", at)
    if isinstance(nested.get("items"), dict):
        causes += _nested(nested["items"], outside.get("items"), f"{outside_path}.items", f"{path}.items")
    plain = nested.get("anyOf") == _INT_OR_STRING
    for each, at in _junctions(nested, path):
        if not (plain and ".anyOf[" in at.removeprefix(path)):
            causes += _nested(each, outside, outside_path, at)
    return causes


# What a schema may say at all


def _rules(schema: Tree, path: str) -> list[Cause]:
    causes: list[Cause] = []
    kind = schema.get("type")
    if kind and kind not in _TYPES:
        causes.append(unsupported(f"{path}.type", kind, _TYPES))
    causes += [not_allowed(f"{path}.{key}", text) for key, text in _FORBIDDEN.items() if schema.get(key)]
    if isinstance(schema.get("items"), list):
        causes.append(not_allowed(f"{path}.items", _ITEMS))
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        causes.append(not_allowed(f"{path}.uniqueItems", text))
    if schema.get("additionalProperties") not in (None, True) and schema.get("properties"):
        text = "additionalProperties and properties are mutual exclusive"
        causes.append(not_allowed(f"{path}.additionalProperties", text))
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        causes.append(wrong(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"))
    causes += _list_rules(schema, path) + _map_rules(schema, path)
    for child, _, at in _children(schema, path):
        causes += _rules(child, at)
    for nested, at in _junctions(schema, path):
        causes += _rules(nested, at)
    return causes


def _map_rules(schema: Tree, path: str) -> list[Cause]:
    style = schema.get("x-kubernetes-map-type")
    if style is None:
        return []
    causes: list[Cause] = []
    if schema.get("type") != "object":
        causes.append(
            wrong(f"{path}.type", schema.get("type") or "", "must be object if x-kubernetes-map-type is specified")
        )
    if style not in ("atomic", "granular"):
        causes.append(unsupported(f"{path}.x-kubernetes-map-type", style, ("atomic", "granular")))
    return causes


def _list_rules(schema: Tree, path: str) -> list[Cause]:
    style = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    causes: list[Cause] = []
    if style is not None and schema.get("type") != "array":
        text = "must be array if x-kubernetes-list-type is specified"
        kind = schema.get("type")
        causes.append(wrong(f"{path}.type", kind, text) if kind else required(f"{path}.type", text))
    if style is not None and style not in ("atomic", "set", "map"):
        causes.append(unsupported(f"{path}.x-kubernetes-list-type", style, ("atomic", "set", "map")))
    if keys and style != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        at = f"{path}.x-kubernetes-list-type"
        causes.append(required(at, text) if style is None else wrong(at, style, text))
    items = schema["items"] if isinstance(schema.get("items"), dict) else {}
    if style == "set" and items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        text = "must be atomic as item of a list with x-kubernetes-list-type=set"
        causes.append(wrong(f"{path}.items.x-kubernetes-map-type", items.get("x-kubernetes-map-type"), text))
    if style in ("set", "map") and items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {style}"
        causes.append(not_allowed(f"{path}.items.nullable", text))
    return causes + (_keys(items, keys, path) if style == "map" else [])


def _keys(items: Tree, keys: list[str], path: str) -> list[Cause]:
    """The keys of a list that is a map: scalars that are always there."""
    at = f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        return [required(at, "must not be empty if x-kubernetes-list-type is map")]
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        return [wrong(f"{path}.items.type", items.get("type") or "", text)]
    causes: list[Cause] = []
    properties = items.get("properties") or {}
    for key in keys:
        known = properties.get(key)
        place = f"{path}.items.properties[{key}]"
        if known is None:
            causes.append(wrong(at, keys, "entries must all be names of item properties"))
            continue
        if known.get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            causes.append(wrong(f"{place}.type", items["type"], text))
        if key not in (items.get("required") or []) and known.get("default") is None:
            text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            causes.append(required(f"{place}.default", text))
        if known.get("nullable"):
            text = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            causes.append(not_allowed(f"{place}.nullable", text))
    if len(set(keys)) != len(keys):
        causes.append(wrong(at, keys, "must not contain duplicate entries"))
    return causes


# Defaults


def has_defaults(schema: Tree | bool | None) -> bool:
    """Whether a schema has a default anywhere."""
    if not isinstance(schema, dict):
        return False
    inner = [schema.get(key) for key in ("items", "additionalProperties", "not")]
    inner += [each for key in ("allOf", "anyOf", "oneOf") for each in schema.get(key) or []]
    inner += (schema.get("properties") or {}).values()
    return schema.get("default") is not None or any(has_defaults(each) for each in inner)


def _defaults(schema: Tree, path: str) -> list[Cause]:
    """Defaults conform to the schema they stand in, and say nothing that it does not know."""
    causes: list[Cause] = []
    default = schema.get("default")
    if default is not None:
        node = compile_schema(schema)
        kept: Any = copy.deepcopy(default)
        if prune_value(kept, node):
            causes.append(wrong(f"{path}.default", default, "must not have unknown fields"))
        drop_nulls(kept, node)
        checker = Checker(f"{path}.default")
        checker.check(kept, node)
        causes += checker.causes
    for child, _, at in _children(schema, path):
        causes += _defaults(child, at)
    return causes


# Rules in CEL


def _expressions(schema: Tree, place: SchemaPlace) -> list[Cause]:
    """Rules of a place and below that do not compile.

    Items of a list that is no map cannot be compared with what was there before.
    """
    causes: list[Cause] = []
    for child, level, at in _children(schema, place.path):
        loose = level == ITEM and schema.get("x-kubernetes-list-type") != "map"
        uncorrelated = place.uncorrelated or (place.path if loose else "")
        is_root = bool(child.get("x-kubernetes-embedded-resource"))
        causes += _expressions(child, SchemaPlace(at, is_root, uncorrelated))
    if schema.get(cel_rules.KEY):
        causes += cel_rules.broken(schema, compile_schema(schema), place)
    return causes
