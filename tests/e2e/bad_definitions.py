"""What schemas refuse, and the schemas and definitions that are refused, with what the API server says about each."""

from __future__ import annotations

from typing import Any

from tests.e2e.definitions import GROUP, STATUS, Tree, a_definition, a_version

INVALID, MISTYPED, REQUIRED = "FieldValueInvalid", "FieldValueTypeInvalid", "FieldValueRequired"
NO_VALUE = 'Invalid value: ""'
BAD_WIDGETS: dict[str, tuple[Tree, list[tuple[str, str, str]]]] = {
    "a required field left out": (
        {"size": None},
        [("spec.size", REQUIRED, "Required value")],
    ),
    "a word for a number": (
        {"size": "big"},
        [("spec.size", MISTYPED, 'Invalid value: "string": spec.size in body must be of type integer: "string"')],
    ),
    "a number with a fraction for an integer": (
        {"size": 1.5},
        [
            ("<nil>", INVALID, f"{NO_VALUE}: Checked value must be of type integer with format int32 in spec.size"),
            ("spec.size", MISTYPED, 'Invalid value: "float64": spec.size in body must be of type int32: "float64"'),
        ],
    ),
    "too small": (
        {"size": -1},
        [("spec.size", INVALID, "Invalid value: -1: spec.size in body should be greater than or equal to 0")],
    ),
    "too large": (
        {"size": 11},
        [("spec.size", INVALID, "Invalid value: 11: spec.size in body should be less than or equal to 10")],
    ),
    "not more than an exclusive bound": (
        {"ratio": 0},
        [("spec.ratio", INVALID, "Invalid value: 0: spec.ratio in body should be greater than 0")],
    ),
    "not less than an exclusive bound": (
        {"ratio": 1.0},
        [("spec.ratio", INVALID, "Invalid value: 1: spec.ratio in body should be less than 1")],
    ),
    "no multiple": (
        {"half": 0.75},
        [("spec.half", INVALID, "Invalid value: 0.75: spec.half in body should be a multiple of 0.5")],
    ),
    "not in the list": (
        {"color": "blue"},
        [("spec.color", "FieldValueNotSupported", 'Unsupported value: "blue": supported values: "red", "green"')],
    ),
    "too short": (
        {"code": "a"},
        [("spec.code", INVALID, 'Invalid value: "a": spec.code in body should be at least 2 chars long')],
    ),
    "too long": (
        {"code": "abcde"},
        [("spec.code", "FieldValueTooLong", "Too long: may not be more than 4 bytes")],
    ),
    "against the pattern": (
        {"code": "AB"},
        [("spec.code", INVALID, "Invalid value: \"AB\": spec.code in body should match '^[a-z]+$'")],
    ),
    "no time": (
        {"since": "noon"},
        [("spec.since", MISTYPED, 'Invalid value: "noon": spec.since in body must be of type date-time: "noon"')],
    ),
    "a number for a time": (
        {"since": 5},
        [("spec.since", MISTYPED, 'Invalid value: "int64": spec.since in body must be of type date-time: "int64"')],
    ),
    "neither number nor word": (
        {"limit": True},
        [
            (
                "spec.limit",
                MISTYPED,
                'Invalid value: "boolean": spec.limit in body must be of type integer,string: "boolean"',
            )
        ],
    ),
    "a list that is too short": (
        {"tags": []},
        [("spec.tags", INVALID, "Invalid value: 0: spec.tags in body should have at least 1 items")],
    ),
    "a list that is too long": (
        {"tags": ["a", "b", "c", "d"]},
        [("spec.tags", "FieldValueTooMany", "Too many: 4: must have at most 3 items")],
    ),
    "a wrong item": (
        {"tags": ["a", 2]},
        [
            (
                "spec.tags[1]",
                MISTYPED,
                'Invalid value: "integer": spec.tags[1] in body must be of type string: "integer"',
            )
        ],
    ),
    "an object for a list": (
        {"tags": {}},
        [("spec.tags", MISTYPED, 'Invalid value: "object": spec.tags in body must be of type array: "object"')],
    ),
    "twice in a set": (
        {"kinds": ["a", "b", "a", "a"]},
        [("spec.kinds[2]", "FieldValueDuplicate", 'Duplicate value: "a"')],
    ),
    "twice in a map": (
        {"parts": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
        [("spec.parts[2]", "FieldValueDuplicate", 'Duplicate value: {"name":"a"}')],
    ),
    "an item without its key": (
        {"parts": [{"count": 1}]},
        [("spec.parts[0].name", REQUIRED, "Required value")],
    ),
    "too few entries": (
        {"labels": {}},
        [("spec.labels", INVALID, "Invalid value: 0: spec.labels in body should have at least 1 properties")],
    ),
    "too many entries": (
        {"labels": {"a": "1", "b": "2", "c": "3"}},
        [("spec.labels", "FieldValueTooMany", "Too many: 3: must have at most 2 items")],
    ),
    "a wrong entry": (
        {"labels": {"a": "long"}},
        [("spec.labels.a", "FieldValueTooLong", "Too long: may not be more than 1 byte")],
    ),
    "a wrong field beside unknown ones": (
        {"free": {"n": "x", "other": 1}},
        [("spec.free.n", MISTYPED, 'Invalid value: "string": spec.free.n in body must be of type integer: "string"')],
    ),
    "an object that does not say what it is": (
        {"template": {"metadata": {"name": "x"}}},
        [
            ("spec.template.apiVersion", REQUIRED, "Required value"),
            ("spec.template.kind", REQUIRED, "Required value"),
        ],
    ),
    "two alternatives at once": (
        {"either": {"left": 1, "right": 2}},
        [
            (
                "<nil>",
                INVALID,
                f'{NO_VALUE}: "spec.either" must validate one and only one schema (oneOf). Found 2 valid alternatives',
            )
        ],
    ),
    "more than 32 bits": (
        {"size": 2**40},
        [
            ("<nil>", INVALID, f"{NO_VALUE}: Checked value must be of type integer with format int32 in spec.size"),
            ("spec.size", INVALID, f"Invalid value: {2**40}: spec.size in body should be less than or equal to 10"),
        ],
    ),
    "two faults": (
        {"size": 20, "color": "blue"},
        [
            ("spec.color", "FieldValueNotSupported", 'Unsupported value: "blue": supported values: "red", "green"'),
            ("spec.size", INVALID, "Invalid value: 20: spec.size in body should be less than or equal to 10"),
        ],
    ),
}


def without_type() -> Tree:
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"properties": {}}}}}


def with_spec(**fields: Any) -> Tree:
    spec = {"type": "object", "properties": fields}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": STATUS}}}


BAD_DEFINITIONS: dict[str, tuple[Tree, list[str]]] = {
    "another name": (
        a_definition() | {"metadata": {"name": f"gizmos.{GROUP}"}},
        ["metadata.name"],
    ),
    "no storage version": (a_definition(a_version(storage=False)), ["spec.versions", "status.storedVersions"]),
    "two storage versions": (a_definition(a_version(), a_version("v2")), ["spec.versions", "status.storedVersions"]),
    "no schema": (
        a_definition(a_version(schema={"openAPIV3Schema": None})),
        ["spec.versions[0].schema.openAPIV3Schema"],
    ),
    "an odd scope": (a_definition(scope="Global"), ["spec.scope"]),
    "a field without a type": (
        a_definition(a_version(schema=without_type())),
        ["spec.validation.openAPIV3Schema.properties[spec].type"],
    ),
    "a list of anything": (
        a_definition(a_version(schema=with_spec(tags={"type": "array"}))),
        ["spec.validation.openAPIV3Schema.properties[spec].properties[tags].items"],
    ),
    "items that must be unique": (
        a_definition(
            a_version(schema=with_spec(tags={"type": "array", "items": {"type": "string"}, "uniqueItems": True}))
        ),
        ["spec.validation.openAPIV3Schema.properties[spec].properties[tags].uniqueItems"],
    ),
    "a default against its own rule": (
        a_definition(a_version(schema=with_spec(size={"type": "integer", "maximum": 1, "default": 2}))),
        ["spec.validation.openAPIV3Schema.properties[spec].properties[size].default"],
    ),
    "a map without keys": (
        a_definition(
            a_version(
                schema=with_spec(
                    parts={
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                    }
                )
            )
        ),
        ["spec.validation.openAPIV3Schema.properties[spec].properties[parts].x-kubernetes-list-map-keys"],
    ),
    "a type inside a logical word": (
        a_definition(a_version(schema=with_spec(size={"type": "integer", "anyOf": [{"type": "integer"}]}))),
        ["spec.validation.openAPIV3Schema.properties[spec].properties[size].anyOf[0].type"],
    ),
    "a scale elsewhere": (
        a_definition(
            a_version(subresources={"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": ".status.n"}})
        ),
        ["spec.subresources.scale.specReplicasPath"],
    ),
}
