"""What becomes stricter between two schemas of one version, and which objects that hits."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.apiversions.decide.broken_rules import broken
from fairlead.contracts.apiversions.decide.pruned_leaves import text_of
from fairlead.contracts.apiversions.decide.schema_changes import changes, selectable_changes
from fairlead.contracts.apiversions.samples import sample
from kubeloop.schemas.structural import compile_schema, prune
from kubesim.schema.conformance import Checker, list_causes
from tests.contracts.apiversions.decide.definitions import Tree
from tests.contracts.apiversions.decide.test_union import ROOTS
from tests.contracts.apiversions.decide.widgets import INTEGER, TEXT, listed, made_of
from tests.examples import examples

NUMBER = {"type": "number"}
MAP = {"type": "object", "additionalProperties": TEXT}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def found(old: Tree, new: Tree, *bodies: Any) -> list[tuple[str, str, list[bool]]]:
    """Code, place, and which of the values of `spec.x` are affected."""
    before, after = (compile_schema(made_of(spec=made_of(x=each))) for each in (old, new))
    trees = [{"apiVersion": "g/v1", "kind": "K", "metadata": {}, "spec": {"x": body}} for body in bodies]
    return [
        (each.code, text_of(each.place).removeprefix("/spec/x"), [each.affects(tree) for tree in trees])
        for each in changes(before, after)
    ]


CASES: dict[str, tuple[Tree, Tree, list[Any], list[tuple[str, str, list[bool]]]]] = {
    "a field is gone": (
        made_of(a=TEXT, b=TEXT),
        made_of(a=TEXT),
        [{"a": ""}, {"b": ""}],
        [("FieldRemoved", "/b", [False, True])],
    ),
    "a map gets fields": (MAP, made_of(a=TEXT), [{"a": ""}, {"b": ""}], [("FieldRemoved", "/*", [False, True])]),
    "an open place is closed": (
        OPEN,
        made_of(a=TEXT),
        [{"a": ""}, {"a": 1}, {"b": 1}],
        [("FieldRemoved", "/*", [False, False, True]), ("TypeChanged", "/a", [False, True, False])],
    ),
    "a field of items is gone": (
        listed(made_of(a=TEXT, b=TEXT)),
        listed(made_of(a=TEXT)),
        [[{"a": ""}], [{"a": ""}, {"b": ""}], []],
        [("FieldRemoved", "/*/b", [False, True, False])],
    ),
    "another type": (TEXT, INTEGER, ["a", 1], [("TypeChanged", "", [True, False])]),
    "an integer may be any number": (INTEGER, NUMBER, [1], []),
    "a number must be whole": (NUMBER, INTEGER, [1.0, 1.5], [("TypeChanged", "", [False, True])]),
    "a null is no longer allowed": (
        TEXT | {"nullable": True},
        TEXT,
        [None, "a"],
        [("TypeChanged", "", [True, False])],
    ),
    "a type is opened": (INTEGER, {"x-kubernetes-int-or-string": True}, [1], []),
    "a field becomes required": (
        made_of(a=TEXT),
        made_of(("a",), a=TEXT),
        [{}, {"a": ""}],
        [("RequiredAdded", "/a", [True, False])],
    ),
    "one with a default may be required": (
        made_of(a=TEXT | {"default": "x"}),
        made_of(("a",), a=TEXT | {"default": "x"}),
        [{}],
        [],
    ),
    "values are fewer": (
        TEXT | {"enum": ["a", "b"]},
        TEXT | {"enum": ["b", "c"]},
        ["a", "b"],
        [("EnumNarrowed", "", [True, False])],
    ),
    "values are listed": (TEXT, TEXT | {"enum": ["a"]}, ["a", "b"], [("EnumAdded", "", [False, True])]),
    "a smaller maximum": (
        INTEGER | {"maximum": 9},
        INTEGER | {"maximum": 5},
        [5, 6],
        [("BoundTightened", "", [False, True])],
    ),
    "a bound of its own excluded": (
        INTEGER | {"minimum": 1},
        INTEGER | {"minimum": 1, "exclusiveMinimum": True},
        [1, 2],
        [("BoundTightened", "", [True, False])],
    ),
    "a larger maximum is no matter": (INTEGER | {"maximum": 5}, INTEGER | {"maximum": 9}, [5], []),
    "shorter texts": (TEXT, TEXT | {"maxLength": 1}, ["a", "ab"], [("BoundTightened", "", [False, True])]),
    "fewer items": (
        listed(TEXT),
        listed(TEXT) | {"maxItems": 1},
        [["a"], ["a", "b"]],
        [("BoundTightened", "", [False, True])],
    ),
    "fewer keys": (MAP, MAP | {"minProperties": 1}, [{}, {"a": ""}], [("BoundTightened", "", [True, False])]),
    "a pattern": (TEXT, TEXT | {"pattern": "^a+$"}, ["aa", "b"], [("PatternChanged", "", [False, True])]),
    "a pattern that is gone": (TEXT | {"pattern": "^a+$"}, TEXT, ["b"], []),
    "a list that becomes a map": (
        listed(made_of(("name",), name=TEXT)),
        listed(made_of(("name",), name=TEXT), "name"),
        [[{"name": "a"}, {"name": "b"}], [{"name": "a"}, {"name": "a"}]],
        [("ListTypeChanged", "", [False, True])],
    ),
    "a default": (TEXT, TEXT | {"default": "a"}, ["b"], [("DefaultAdded", "", [False])]),
    "another default": (TEXT | {"default": "a"}, TEXT | {"default": "b"}, ["a"], [("DefaultChanged", "", [False])]),
    "no default any more": (TEXT | {"default": "a"}, TEXT, ["a"], [("DefaultRemoved", "", [False])]),
}


@pytest.mark.parametrize("case", CASES)
def test_each_stricter_rule_has_its_code_and_hits_whom_it_hits(case: str) -> None:
    old, new, bodies, wanted = CASES[case]

    assert found(old, new, *bodies) == wanted
    assert found(old, old, *bodies) == []


def test_bounds_say_what_they_were() -> None:
    before, after = (
        compile_schema(made_of(x=INTEGER | each)) for each in ({"maximum": 9}, {"maximum": 5, "minimum": 1})
    )

    (change,) = changes(before, after)

    assert change.message == "minimum becomes 1, maximum was 9 and becomes 5"


def test_fields_that_objects_can_no_longer_be_selected_by_are_named() -> None:
    old = {"selectableFields": [{"jsonPath": ".spec.a"}, {"jsonPath": ".spec.b"}]}

    (change,) = selectable_changes(old, {"selectableFields": [{"jsonPath": ".spec.b"}]})

    assert (change.code, change.place) == ("SelectableFieldRemoved", ("spec", "a"))


@examples(80)
@given(ROOTS, ROOTS, st.integers(0, 99))
def test_whoever_the_new_schema_refuses_or_prunes_is_affected(old: Tree, new: Tree, seed: int) -> None:
    """Nothing that the server would refuse or lose goes unnoticed, whichever way the schema changed."""
    before, after = compile_schema(old), compile_schema(new)
    body = sample(before, Random(seed))
    prune(body, before)
    if broken_by_server(body, before):
        return

    affected = [each for each in changes(before, after) if each.affects(body)]

    refused = broken_by_server(body, after)
    lost = prune(body, after)
    assert not (refused or lost) or affected


@examples(80)
@given(ROOTS, ROOTS, st.integers(0, 99))
def test_rules_are_found_broken_where_the_server_finds_them(made_from: Tree, schema: Tree, seed: int) -> None:
    body = sample(compile_schema(made_from), Random(seed))
    node = compile_schema(schema)

    assert bool([*broken(body, node)]) == broken_by_server(body, node)


def broken_by_server(body: Tree, node: Any) -> bool:
    return not Checker().check(body, node) or bool(list_causes(body, node))
