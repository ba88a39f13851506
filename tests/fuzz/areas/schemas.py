"""Random structural schemas with defaults and rules, and objects and changes that meet them or do not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.e2e.definitions import GROUP
from tests.exchanges.case import APPLY, MERGE, Step, get, patch, post, put, unordered
from tests.fuzz.playing import Scenario, Tree

FIELDS = 24
LENGTH = 40
PATH = f"/apis/{GROUP}/v1/namespaces/{{ns}}/FUZZs"
RULES = "x-kubernetes-validations"
_FORMATS = (
    "date-time",
    "date",
    "duration",
    "email",
    "uuid",
    "ipv4",
    "ipv6",
    "cidr",
    "hostname",
    "byte",
    "uri",
    "int32",
)
_TEXTS = (
    "",
    "a",
    "ab",
    "abc",
    "ABC",
    "a-b",
    "1",
    "5",
    "10%",
    "2030-01-01T00:00:00Z",
    "2030-01-01",
    "1h30m",
    "a@b.c",
    "1.2.3.4",
    "::1",
    "10.0.0.0/8",
    "0b6a1b1e-3c1b-4b6f-8f3c-0e6d5a8b7c9d",
    "YQ==",
    "http://h/p",
    "ä",
)
_NUMBERS = (0, 1, 2, 3, 5, 10, -1, 1.5, 0.1, 1.0, 2**31, 2**53 + 1, 2**63 - 1, 1e20)
_RULES: dict[str, tuple[Any, ...]] = {
    "integer": (
        "self > 1",
        "self % 2 == 0",
        "self >= oldSelf",
        {"rule": "self < 5", "message": "must be small"},
        {"rule": "self != 2", "reason": "FieldValueForbidden"},
        {"rule": "oldSelf.hasValue() || self > 0", "optionalOldSelf": True},
        "10 / self > 1",
    ),
    "number": ("self < 2.5", "self >= oldSelf", "double(int(self)) == self"),
    "string": (
        "self.startsWith('a')",
        "self == oldSelf",
        "self.size() < 3",
        "self.matches('^[a-z]*$')",
        {"rule": "self.lowerAscii() == self", "messageExpression": "self + ' is loud'"},
        "self.contains('b') || self.endsWith('c')",
        {"rule": "!oldSelf.hasValue() || self >= oldSelf.value()", "optionalOldSelf": True},
        "int(self) > 0",
        "!isIP(self) || ip(self).family() == 4",
        "self.split('-').size() == 1",
    ),
    "boolean": ("self", "self == oldSelf", "!oldSelf || self"),
    "array": ("self.size() > 1", "self.size() >= oldSelf.size()"),
    "object": ("has(self.a)", "!has(self.b) || has(self.a)", "self == oldSelf", "has(oldSelf.a) == has(self.a)"),
}


def a_scenario(draw: random.Random) -> Scenario:
    properties = {f"p{number}": _schema(draw, 0) for number in range(FIELDS)}
    spec: Tree = {"type": "object", "properties": properties}
    if draw.random() < 0.3:
        spec["required"] = draw.sample(sorted(properties), 2)
    if draw.random() < 0.3:
        spec[RULES] = [_rule("has(self.p0) || has(self.p1)")]
    steps = [post(PATH, _object(draw, f"o{number}", spec)) for number in range(6)]
    while len(steps) < LENGTH:
        steps.append(_write(draw, spec))
    definition = _definition({"type": "object", "properties": {"spec": spec}})
    return Scenario(tuple(map(unordered, steps)), (definition,))


def _definition(schema: Tree) -> Tree:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"FUZZs.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "FUZZs", "kind": "Fuzz"},
            "versions": [version],
        },
    }


def _write(draw: random.Random, spec: Tree) -> Step:
    name = f"o{draw.randrange(8)}"
    tree = _object(draw, name, spec)
    query = {"fieldValidation": draw.choice(("Strict", "Ignore"))} if draw.random() < 0.2 else {}
    path = f"{PATH}/{name}"
    match draw.randrange(8):
        case 0:
            return post(PATH, tree, **query)
        case 1:
            return put(path, tree | {"metadata": {"name": name, "resourceVersion": "<<version>>"}}, **query)
        case 2 | 3:
            return patch(path, tree, APPLY, fieldManager=draw.choice("mn"), force="true", **query)
        case 4:
            return get(path)
        case _:
            return patch(path, {"spec": tree["spec"]}, MERGE, **query)


def _object(draw: random.Random, name: str, spec: Tree) -> Tree:
    chosen = draw.sample(sorted(spec["properties"]), draw.randrange(1, 6))
    for each in spec.get("required", ()):
        if draw.random() < 0.9:
            chosen.append(each)
    values = {each: _value(draw, spec["properties"][each]) for each in chosen}
    if draw.random() < 0.05:
        values["odd"] = 1
    return {"apiVersion": f"{GROUP}/v1", "kind": "Fuzz", "metadata": {"name": name}, "spec": values}


# Schemas


def _some(draw: random.Random, share: float, **fields: Any) -> Tree:
    return {key: value for key, value in fields.items() if draw.random() < share}


def _rule(rule: str | Tree) -> Tree:
    return {"rule": rule} if isinstance(rule, str) else rule


def _schema(draw: random.Random, depth: int) -> Tree:
    kinds: tuple[Callable[[random.Random, int], Tree], ...] = (_integer, _number, _string, _string, _boolean, _either)
    if depth < 2:
        kinds += (_array, _object_schema, _map, _free, _array, _object_schema)
    if depth == 0:
        kinds += (_embedded,)
    made = draw.choice(kinds)(draw, depth)
    if draw.random() < 0.15:
        made["nullable"] = True
    rules = _RULES.get(made.get("type", ""))
    is_bare = made.get("type") == "object" and not {"a", "b"} <= made.get("properties", {}).keys()
    if rules and not is_bare and draw.random() < 0.25:
        sound = [each for each in rules if depth == 0 or "oldSelf" not in str(each)]
        made[RULES] = [_rule(each) for each in draw.sample(sound, min(len(sound), draw.choice((1, 1, 2))))]
    if draw.random() < 0.2:
        made |= _default(draw, made)
    return made


def _default(draw: random.Random, schema: Tree) -> Tree:
    """A default that meets a schema, where one is easily found."""
    if RULES in schema or "enum" in schema or {"pattern", "format", "minimum", "maximum", "multipleOf"} & schema.keys():
        return {}
    match schema.get("type"):
        case "integer" | "number":
            return {"default": 3}
        case "string":
            return {"default": "ab"}
        case "boolean":
            return {"default": True}
        case "object" if "additionalProperties" in schema and "minProperties" not in schema:
            return {"default": {}}
        case _:
            return {}


def _integer(draw: random.Random, depth: int) -> Tree:
    bounds = _some(draw, 0.25, minimum=1, maximum=5, multipleOf=2, format=draw.choice(("int32", "int64")))
    if "minimum" in bounds and draw.random() < 0.3:
        bounds["exclusiveMinimum"] = True
    return {"type": "integer", **bounds, **_some(draw, 0.1, enum=[1, 2, 3])}


def _number(draw: random.Random, depth: int) -> Tree:
    bounds = _some(draw, 0.25, minimum=0.5, maximum=5, multipleOf=0.5)
    if "maximum" in bounds and draw.random() < 0.3:
        bounds["exclusiveMaximum"] = True
    return {"type": "number", **bounds}


def _string(draw: random.Random, depth: int) -> Tree:
    made = _some(draw, 0.2, minLength=2, maxLength=3, pattern=draw.choice(("^[a-z]+$", "b", "^$")))
    made |= _some(draw, 0.15, enum=["a", "ab", ""], format=draw.choice(_FORMATS))
    return {"type": "string", "maxLength": 60} | made


def _boolean(draw: random.Random, depth: int) -> Tree:
    return {"type": "boolean"}


def _either(draw: random.Random, depth: int) -> Tree:
    return {"x-kubernetes-int-or-string": True, **_some(draw, 0.2, pattern="^[0-9]+%$", maximum=5)}


def _array(draw: random.Random, depth: int) -> Tree:
    made: Tree = {"type": "array", "maxItems": 5, **_some(draw, 0.2, minItems=1)}
    match draw.randrange(4):
        case 0:
            items: Tree = {"type": "string", "maxLength": 20}
            return made | {"items": items, "x-kubernetes-list-type": "set"}
        case 1:
            fields = {
                "name": {"type": "string", "maxLength": 20},
                "n": {"type": "integer", **_some(draw, 0.5, default=1)},
            }
            rules = {RULES: [{"rule": "self.n >= oldSelf.n"}]} if draw.random() < 0.3 else {}
            items = {"type": "object", "required": ["name"], "properties": fields, **rules}
            return made | {
                "items": items,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            }
        case _:
            return made | {
                "items": _schema(draw, depth + 1),
                **_some(draw, 0.2, **{"x-kubernetes-list-type": "atomic"}),
            }


def _object_schema(draw: random.Random, depth: int) -> Tree:
    made: Tree = {"type": "object", "properties": {name: _schema(draw, depth + 1) for name in "abc"}}
    made |= _some(draw, 0.15, required=["a"], maxProperties=2, minProperties=1)
    made |= _some(draw, 0.1, **{"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-map-type": "atomic"})
    made |= _some(draw, 0.07, oneOf=[{"required": ["a"]}, {"required": ["b"]}], **{"not": {"required": ["c"]}})
    return made


def _map(draw: random.Random, depth: int) -> Tree:
    return {"type": "object", "maxProperties": 3, "additionalProperties": _schema(draw, depth + 1)}


def _free(draw: random.Random, depth: int) -> Tree:
    return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _embedded(draw: random.Random, depth: int) -> Tree:
    data = {"type": "object", "additionalProperties": {"type": "string"}}
    return {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"data": data}}


# Values


_ANYTHING: list[Any] = [None, True, 0, 1, 1.5, "", "a", [], {}, ["a"], [None], {"a": None}, {"a": 1, "z": 2}, [1, "a"]]


def _value(draw: random.Random, schema: Tree, spoil: float = 0.08) -> Any:
    if draw.random() < spoil:
        return draw.choice(_ANYTHING)
    if "enum" in schema and draw.random() < 0.7:
        return draw.choice(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return draw.choice((0, 1, 7, "50%", "x", ""))
    if schema.get("x-kubernetes-embedded-resource"):
        metadata: Tree = draw.choice(
            ({}, {"name": "n"}, {"name": "N N", "labels": {"a": "b"}}, {"odd": 1, "labels": {"a": 5}})
        )
        whole: Tree = {
            "apiVersion": draw.choice(("v1", "a/b/c", "")),
            "kind": draw.choice(("Pod", "")),
            "metadata": metadata,
        }
        return {key: value for key, value in {**whole, "data": {"x": "y"}, "odd": 1}.items() if draw.random() < 0.8}
    match schema["type"]:
        case "integer":
            return draw.choice(_NUMBERS[:6] if draw.random() < 0.8 else _NUMBERS)
        case "number":
            return draw.choice(_NUMBERS)
        case "string":
            return draw.choice(_TEXTS[:4] if draw.random() < 0.4 else _TEXTS)
        case "boolean":
            return draw.choice((True, False))
        case "array":
            return [_value(draw, schema["items"], spoil) for _ in range(draw.choice((0, 1, 2, 2, 3, 6)))]
        case _:
            return _fields(draw, schema, spoil)


def _fields(draw: random.Random, schema: Tree, spoil: float) -> Any:
    if "additionalProperties" in schema:
        inner = schema["additionalProperties"]
        return {key: _value(draw, inner, spoil) for key in "xyzw"[: draw.randrange(5)]}
    if "properties" not in schema:
        return {key: draw.choice(_ANYTHING) for key in "xyz" if draw.random() < 0.5}
    made = {key: _value(draw, each, spoil) for key, each in schema["properties"].items() if draw.random() < 0.6}
    return made | ({"odd": draw.choice(_ANYTHING)} if draw.random() < 0.05 else {})
