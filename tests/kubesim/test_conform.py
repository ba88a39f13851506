"""What conforms to a schema, what does not, and what an update is not blamed for."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from kubeloop.schemas.structural import compile_schema
from kubesim.schema.conformance import Checker, list_causes

Tree = dict[str, Any]
NUMBER = {"type": "integer"}


def an_object(**properties: Tree) -> Tree:
    return {"type": "object", "properties": properties}


def complaints(value: Any, schema: Tree, old: Any = UNSET) -> list[str]:
    checker = Checker()
    checker.check(value, compile_schema(schema), "spec", old)
    return [f"{cause.field}: {cause.message}" for cause in checker.causes]


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        pytest.param(1.0, NUMBER, id="a whole number written with a fraction"),
        pytest.param(1, {"type": "number"}, id="an integer where any number will do"),
        pytest.param("5", {"x-kubernetes-int-or-string": True}, id="a word where number or word will do"),
        pytest.param(None, {"type": "string", "nullable": True}, id="an allowed null"),
        pytest.param(2, {"type": "number", "enum": [1.0, 2.0]}, id="a number of the list in another form"),
        pytest.param("anything", {"type": "string", "format": "no-such-format"}, id="a format nobody knows"),
        pytest.param("2030-01-01T00:00:00.5+01:00", {"type": "string", "format": "date-time"}, id="a time with a zone"),
        pytest.param("1h30m", {"type": "string", "format": "duration"}, id="a duration"),
        pytest.param("dGV4dA==", {"type": "string", "format": "byte"}, id="base64"),
        pytest.param("10.0.0.0/8", {"type": "string", "format": "cidr"}, id="a network"),
        pytest.param({"x": {"y": 1}}, {"x-kubernetes-preserve-unknown-fields": True}, id="anything at all"),
        pytest.param(
            {"left": 1}, {**an_object(left=NUMBER), "not": {"required": ["right"]}}, id="not what is not allowed"
        ),
    ],
)
def test_conforms(value: Any, schema: Tree) -> None:
    assert complaints(value, schema) == []


@pytest.mark.parametrize(
    ("value", "schema", "told"),
    [
        pytest.param(
            None,
            {"type": "string"},
            ['spec: Invalid value: "null": spec in body must be of type string: "null"'],
            id="a null",
        ),
        pytest.param(
            True,
            NUMBER,
            ['spec: Invalid value: "boolean": spec in body must be of type integer: "boolean"'],
            id="a truth for a number",
        ),
        pytest.param(
            "2030-13-01T00:00Z",
            {"type": "string", "format": "date-time"},
            ['spec: Invalid value: "2030-13-01T00:00Z": spec in body must be of type date-time: "2030-13-01T00:00Z"'],
            id="a month there is not",
        ),
        pytest.param(
            {},
            {**an_object(a=NUMBER, b=NUMBER), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            [
                '<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)',
                "spec.a: Required value",
            ],
            id="no alternative",
        ),
        pytest.param(
            {},
            {**an_object(a=NUMBER), "oneOf": [{"required": ["a"]}]},
            [
                '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid',
                "spec.a: Required value",
            ],
            id="not the one that must be",
        ),
        pytest.param(
            {},
            {**an_object(a=NUMBER), "allOf": [{"required": ["a"]}]},
            [
                "spec.a: Required value",
                '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf). None validated',
            ],
            id="not all that must be",
        ),
        pytest.param(
            {"a": 1},
            {**an_object(a=NUMBER), "not": {"required": ["a"]}},
            ['<nil>: Invalid value: "": "spec" must not validate the schema (not)'],
            id="what must not be",
        ),
        pytest.param(
            7,
            {"type": "integer", "multipleOf": 2},
            ["spec: Invalid value: 7: spec in body should be a multiple of 2"],
            id="no multiple",
        ),
        pytest.param(
            "b",
            {"type": "string", "enum": ["a", "c"], "minLength": 2},
            [
                'spec: Invalid value: "b": spec in body should be at least 2 chars long',
                'spec: Unsupported value: "b": supported values: "a", "c"',
            ],
            id="two rules at once",
        ),
    ],
)
def test_does_not_conform(value: Any, schema: Tree, told: list[str]) -> None:
    assert complaints(value, schema) == told


def test_an_update_is_not_blamed_for_what_it_leaves_as_it_was() -> None:
    schema = {**an_object(size={"type": "integer", "maximum": 1}, name={"type": "string"}), "required": ["owner"]}
    old = {"size": 5, "name": "a"}

    unchanged = complaints(old, schema, {"size": 5, "name": "a"})
    beside = complaints({"size": 5, "name": "b"}, schema, old)
    itself = complaints({"size": 6, "name": "a"}, schema, old)

    # What a whole lacks is the fault of whoever changes it.
    assert unchanged == []
    assert beside == ["spec.owner: Required value"]
    assert itself == [
        "spec.size: Invalid value: 6: spec.size in body should be less than or equal to 1",
        "spec.owner: Required value",
    ]


def test_items_are_followed_by_key_in_a_map_and_by_nothing_in_a_list() -> None:
    items = an_object(name={"type": "string"}, size={"type": "integer", "maximum": 1})
    plain = {"type": "array", "items": items}
    keyed = plain | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    old = [{"name": "a", "size": 5}]
    new = [{"name": "b", "size": 1}, {"name": "a", "size": 5}]

    assert complaints(new, keyed, old) == []
    assert complaints(new, plain, old) == [
        "spec[1].size: Invalid value: 5: spec[1].size in body should be less than or equal to 1"
    ]


def test_truth_is_not_one() -> None:
    """A change from 1 to true is a change, and a set may hold both."""
    schema = {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}, "x-kubernetes-list-type": "set"}

    assert complaints(True, NUMBER, 1) != []
    assert list_causes([1, True, 1.5], compile_schema(schema)) == []


def test_keys_of_several_parts_are_compared_whole() -> None:
    items = an_object(name={"type": "string"}, port=NUMBER)
    schema = {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "name"],
    }
    value = [{"name": "a", "port": 1}, {"name": "a", "port": 2}, {"port": 1, "name": "a"}]

    causes = list_causes(value, compile_schema(schema), "spec")

    assert [(cause.field, cause.message) for cause in causes] == [("spec[2]", 'Duplicate value: {"name":"a","port":1}')]


@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        (0, {"type": "number", "minimum": 0.5}, []),
        (-1, {"type": "number", "minimum": 0.5}, ["Invalid value: -1: a in body should be greater than or equal to 0"]),
        (
            0.25,
            {"type": "number", "minimum": 0.5},
            ["Invalid value: 0.25: a in body should be greater than or equal to 0.5"],
        ),
        (1e20, {"type": "number", "maximum": 5}, ["Invalid value: 1e+20: a in body should be less than or equal to 5"]),
        (1e20, {"type": "number", "multipleOf": 0.5}, ["Invalid value: 1e+20: a in body should be a multiple of 0.5"]),
        (1.5, {"type": "number", "enum": [1, 2]}, []),
    ],
)
def test_numbers_are_compared_as_the_server_compares_them(value: Any, schema: Tree, said: list[str]) -> None:
    checker = Checker()
    checker.check(value, compile_schema(schema), "a")

    assert [cause.message for cause in checker.causes] == said
