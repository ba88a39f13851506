"""Objects from schemas are valid, and try what rules must bear (section 6.1, B12)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.contracts.apiversions.strategies import bodies, comes_back, objects, parts, values
from kubeloop.schemas.structural import compile_schema
from kubesim.schema.conformance import Checker
from tests.contracts.apiversions.decide.widgets import KIND, V1, V2, definition, listed, made_of, two_versions

ODD = made_of(
    spec=made_of(
        ("name", "count"),
        name={"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        count={"type": "integer", "minimum": 3, "maximum": 9, "exclusiveMaximum": True},
        even={"type": "integer", "multipleOf": 2},
        ratio={"type": "number", "minimum": 0, "maximum": 1},
        colour={"type": "string", "enum": ["red", "blue"]},
        when={"type": "string", "format": "date-time"},
        port={"x-kubernetes-int-or-string": True},
        maybe={"type": "string", "nullable": True},
        tags={"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "minItems": 1},
        items=listed(made_of(("id",), id={"type": "integer"}, note={"type": "string"}), "id"),
        labels={"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 2, "minProperties": 1},
        free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        small={"type": "integer", "format": "int32"},
    )
)
NODE = compile_schema(ODD)
relaxed = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


@relaxed
@given(bodies(NODE))
def test_objects_are_valid(body: dict[str, Any]) -> None:
    checker = Checker()
    checker.check(body, NODE)

    assert checker.causes == []


@given(objects(definition(), "v1", {"a": "b"}), objects(definition(), "v2"))
def test_rules_are_tried_with_whole_objects(old: dict[str, Any], new: dict[str, Any]) -> None:
    comes_back(old, KIND)
    comes_back(new, KIND)
    assert (old["metadata"]["labels"], old["apiVersion"]) == ({"a": "b"}, "example.com/v1")


@given(parts(objects(definition(), "v1")))
def test_parts_of_objects_are_tried_as_well(tree: dict[str, Any]) -> None:
    comes_back(tree, KIND)


def test_what_is_lost_is_told() -> None:
    lossy = two_versions(V1, V2, carry="off")
    tree = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {}, "spec": {"size": 1}}

    with pytest.raises(AssertionError, match=r"from v1 to v2 and back: /spec/size: 1 came back as -"):
        comes_back(tree, lossy)


def test_values_of_a_place_come_from_a_plain_schema_too() -> None:
    @given(values({"type": "integer", "minimum": 5, "maximum": 6}))
    def tried(number: int) -> None:
        assert number in (5, 6)

    tried()
    assert isinstance(values({}), st.SearchStrategy)


def test_without_hypothesis_a_sentence_says_what_to_install() -> None:
    code = "import sys; sys.modules['hypothesis'] = None; import fairlead.contracts.apiversions.strategies"
    done = subprocess.run([sys.executable, "-c", code], check=False, text=True, capture_output=True)

    assert "install it, `pip install hypothesis`" in done.stderr
