"""Defaults of structural schemas."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.schema_defaults import Defaults, defaulted, defaults_in

PORT = {"type": "object", "properties": {"protocol": {"default": "TCP"}, "port": {"type": "integer"}}}
SCHEMA = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "default": 1},
        "ports": {"type": "array", "items": PORT},
        "named": {"type": "object", "additionalProperties": PORT},
        "policy": {"type": "object", "default": {}, "properties": {"type": {"default": "Shared"}}},
        "plain": {"type": "object", "properties": {"a": {"type": "string"}}},
    },
}


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({}, {"size": 1, "policy": {"type": "Shared"}}),
        ({"size": None, "policy": {}}, {"size": 1, "policy": {"type": "Shared"}}),
        ({"size": 0, "policy": {"type": ""}}, {"size": 0, "policy": {"type": ""}}),
        (
            {"size": 2, "policy": {"type": "x"}, "ports": [{}, 7]},
            {"size": 2, "policy": {"type": "x"}, "ports": [{"protocol": "TCP"}, 7]},
        ),
        (
            {"size": 2, "policy": 5, "named": {"a": {"port": 1}}},
            {"size": 2, "policy": 5, "named": {"a": {"port": 1, "protocol": "TCP"}}},
        ),
    ],
)
def test_what_is_absent_or_null_gets_its_default(tree: dict[str, Any], expected: dict[str, Any]) -> None:
    before = repr(tree)

    assert defaulted(tree, defaults_in(SCHEMA)) == expected
    assert repr(tree) == before


def test_only_what_has_defaults_is_kept_of_a_schema() -> None:
    found = defaults_in(SCHEMA)

    assert set(found.properties) == {"ports", "named", "policy"}
    assert not defaults_in({"type": "object", "properties": {"a": {"type": "string"}}})
    assert Defaults(values={"a": 1})


def test_a_default_is_not_shared_between_trees() -> None:
    one = defaulted({}, defaults_in(SCHEMA))
    one["policy"]["type"] = "changed"

    assert defaulted({}, defaults_in(SCHEMA))["policy"] == {"type": "Shared"}
