"""Whoever owns a field owns it where the rules put it (section 3.6)."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.field_sets import fields_of, part_of
from fairlead.contracts.apiversions.decide.field_translation import translated
from fairlead.contracts.apiversions.decide.pruned_leaves import schemas_of
from fairlead.contracts.apiversions.decide.rule_sets import kind_of, read_rules
from fairlead.contracts.apiversions.decide.trees import Absent, Tree

PARTS: Tree = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "weight": {"type": "integer"}}},
}


def a_version(name: str, spec: Tree, *, storage: bool = False) -> Tree:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}


DEFINITION: Tree = {
    "metadata": {"name": "widgets.example.test"},
    "spec": {
        "group": "example.test",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [
            a_version(
                "v1",
                {
                    "size": {"type": "integer"},
                    "colour": {"type": "string"},
                    "legacyMode": {"type": "boolean"},
                    "parts": PARTS,
                },
            ),
            a_version(
                "v2",
                {
                    "size": {"type": "integer"},
                    "paint": {
                        "type": "object",
                        "properties": {"colour": {"type": "string"}, "finish": {"type": "string"}},
                    },
                    "parts": PARTS,
                },
                storage=True,
            ),
        ],
    },
}
RULES = {"kind": "ConversionRules", "crd": "widgets.example.test", "hub": "v2"}
MOVES = [{"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"}]
SCHEMA = schemas_of(DEFINITION)["v2"]
WIDGET: Tree = {
    "apiVersion": "example.test/v2",
    "kind": "Widget",
    "metadata": {"name": "w", "namespace": "ns"},
    "spec": {"size": 3, "paint": {"colour": "red", "finish": "matt"}, "parts": [{"name": "web", "weight": 2}]},
}


def a_kind(*more: Tree) -> KindConversion:
    """The usual rules, and more of them."""
    return kind_of(read_rules({**RULES, "spokes": [{"version": "v1", "toHub": [*MOVES, *more]}]}), DEFINITION)


def owned(fields: Tree, version: str = "v1") -> Tree:
    return {"manager": "a", "operation": "Apply", "apiVersion": f"example.test/{version}", "fieldsV1": fields}


def in_storage(fields: Tree, version: str = "v1", kind: KindConversion | None = None) -> dict[str, Any]:
    return translated(owned(fields, version), WIDGET, "v2", SCHEMA, kind)


def test_a_field_that_moves_takes_its_owner_along() -> None:
    fields: Tree = {"f:spec": {"f:colour": {}, "f:size": {}}}

    assert in_storage(fields, kind=a_kind()) == {"f:spec": {"f:paint": {"f:colour": {}}, "f:size": {}}}


def test_metadata_stays_as_it_is() -> None:
    fields = {"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:colour": {}}}

    assert in_storage(fields, kind=a_kind()) == {
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {"f:paint": {"f:colour": {}}},
    }


def test_a_field_that_is_dropped_has_no_owner_any_more() -> None:
    assert in_storage({"f:spec": {"f:legacyMode": {}}}, kind=a_kind()) == {}


def test_what_a_rule_sets_in_whatever_object_is_nobodys() -> None:
    """Nobody has set it in the old version, so that the first who applies it in the new one meets no other owner."""
    kind = a_kind({"op": "set", "path": "/spec/paint/finish", "value": "matt"})

    assert in_storage({"f:spec": {"f:colour": {}}}, kind=kind) == {"f:spec": {"f:paint": {"f:colour": {}}}}
    assert in_storage({"f:spec": {"f:size": {}}}, kind=kind) == {"f:spec": {"f:size": {}}}


def test_what_a_rule_sets_in_items_is_nobodys_and_their_keys_stay_with_their_owner() -> None:
    kind = a_kind({"op": "set", "path": "/spec/parts/*/weight", "value": 2})
    fields: Tree = {"f:spec": {"f:parts": {'k:{"name":"web"}': {".": {}, "f:name": {}}}}}

    assert in_storage(fields, version="v1", kind=kind) == fields


def test_whoever_lost_all_that_is_inside_of_a_map_or_a_keyed_list_owns_no_more_than_itself_afterwards() -> None:
    """So managedFields name what is left to a creator when somebody else applies the rest with force."""
    assert in_storage({"f:spec": {}}, kind=a_kind()) == {"f:spec": {}}
    assert in_storage({"f:spec": {".": {}, "f:size": {}}}, kind=a_kind()) == {"f:spec": {"f:size": {}}}
    assert in_storage({"f:spec": {"f:parts": {}, "f:paint": {}}}, "v2", a_kind()) == {
        "f:spec": {"f:parts": {}, "f:paint": {}}
    }


def test_without_rules_fields_keep_their_names_where_there_are_such() -> None:
    fields: Tree = {"f:spec": {"f:size": {}, "f:legacyMode": {}}}

    assert in_storage(fields, version="v0", kind=a_kind()) == {"f:spec": {"f:size": {}}}
    assert in_storage(fields) == {"f:spec": {"f:size": {}}}


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"f:size": {}}, {"size": 3}),
        ({"f:parts": {'k:{"name":"web"}': {".": {}, "f:weight": {}}}}, {"parts": [{"name": "web", "weight": 2}]}),
        ({"f:parts": {'k:{"name":"web"}': {}}}, {"parts": [{"name": "web"}]}),
        ({"f:parts": {'k:{"name":"db"}': {}}}, Absent),
        ({"f:paint": {".": {}, "f:finish": {}}}, {"paint": {"finish": "matt"}}),
        ({"f:nothing": {}}, Absent),
        ({"f:size": {"f:below": {}}}, Absent),
    ],
)
def test_fields_name_parts_of_an_object(fields: Tree, part: Any) -> None:
    assert part_of(WIDGET["spec"], fields, SCHEMA.properties["spec"]) == part


def test_items_of_lists_are_named_by_their_keys() -> None:
    assert fields_of({"parts": [{"name": "web", "weight": 2}]}, SCHEMA.properties["spec"]) == {
        "f:parts": {'k:{"name":"web"}': {".": {}, "f:name": {}, "f:weight": {}}}
    }
