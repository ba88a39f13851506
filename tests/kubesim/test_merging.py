"""The walks of structured merging: what objects have, change, keep and lose."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.patches import comparing, field_sets, merging, places, typecheck
from kubesim.patches.field_sets import Fields
from kubesim.patches.places import MergePlace

Tree = dict[str, Any]
NUMBER = {"type": "integer"}
TEXT = {"type": "string"}
ITEM = {
    "type": "object",
    "properties": {"name": TEXT, "n": NUMBER, "in": {"type": "object", "properties": {"q": NUMBER}}},
}
PLACE: MergePlace = places.custom(
    {
        "type": "object",
        "properties": {
            "size": NUMBER,
            "map": {"type": "object", "additionalProperties": NUMBER},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"k": NUMBER, "l": NUMBER}},
            "list": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": ITEM,
            },
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
            "plain": {"type": "array", "items": NUMBER},
            "struct": {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
)


def said(fields: Fields) -> list[str]:
    """Readable and in order."""
    return sorted(field_sets.printed(path) for path in fields)


def named(*names: str) -> list[Tree]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("tree", "fields"),
    [
        ({"size": 1}, [".size"]),
        ({"map": {"x": 1}}, [".map.x"]),
        ({"map": {}}, [".map"]),
        ({"map": None}, [".map"]),
        ({"whole": {"k": 1}}, [".whole"]),
        ({"struct": {"a": 1}}, [".struct.a"]),
        ({"list": [{"name": "a", "n": 1}]}, ['.list[name="a"]', '.list[name="a"].n', '.list[name="a"].name']),
        ({"list": []}, []),
        ({"set": ["x"]}, ['.set[="x"]']),
        ({"set": ["x", "x"]}, ['.set[="x"]']),
        ({"plain": [1]}, [".plain"]),
        ({"free": {"a": {"b": [1]}}}, [".free.a", ".free.a.b"]),
        ({"list": [{"name": "a", "n": 1}, {"name": "a"}]}, ['.list[name="a"]']),
    ],
)
def test_the_fields_of_an_object(tree: Tree, fields: list[str]) -> None:
    assert said(comparing.fields_of(PLACE, tree)) == fields


@pytest.mark.parametrize(
    ("old", "new", "removed", "modified", "added"),
    [
        ({"size": 1}, {"size": 2}, [], [".size"], []),
        ({"size": 1}, {"size": 1.0}, [], [], []),
        ({"free": {"a": 1}}, {"free": {"a": True}}, [], [".free.a"], []),
        ({}, {"map": {"x": 1}}, [], [], [".map", ".map.x"]),
        ({"map": {}}, {"map": {"x": 1}}, [], [], [".map.x"]),
        ({"map": {"x": 1}}, {}, [".map", ".map.x"], [], []),
        ({"map": {"x": 1}}, {"map": {}}, [".map.x"], [], []),
        ({"map": None}, {"map": {}}, [], [".map"], []),
        ({"whole": {"k": 1}}, {"whole": {"k": 2, "l": 1}}, [], [".whole"], []),
        ({"plain": [1]}, {"plain": [1, 2]}, [], [".plain"], []),
        ({"set": ["a", "b"]}, {"set": ["b", "c"]}, ['.set[="a"]'], [], ['.set[="c"]']),
        ({"set": ["a", "b"]}, {"set": ["b", "a"]}, [], [], []),
        (
            {"list": [{"name": "a", "n": 1}]},
            {"list": [{"name": "b"}, {"name": "a", "n": 2}]},
            [],
            ['.list[name="a"].n'],
            ['.list[name="b"]', '.list[name="b"].name'],
        ),
        ({"list": named("a", "a")}, {"list": [*named("a"), {"name": "a", "n": 1}]}, [], ['.list[name="a"]'], []),
        (
            {"list": named("a", "a")},
            {"list": named("a")},
            ['.list[name="a"]'],
            [],
            ['.list[name="a"]', '.list[name="a"].name'],
        ),
        (
            {"list": named("a")},
            {"list": named("a", "a")},
            ['.list[name="a"]', '.list[name="a"].name'],
            [],
            ['.list[name="a"]'],
        ),
        ({"free": {"a": 1}}, {"free": {"a": {"b": 1}}}, [], [".free.a"], [".free.a.b"]),
        ({"odd": 1}, {"odd": 2}, [], [], []),
    ],
)
def test_what_a_change_does(old: Tree, new: Tree, removed: list[str], modified: list[str], added: list[str]) -> None:
    change = comparing.compare(PLACE, old, new)

    assert [said(change.removed), said(change.modified), said(change.added)] == [removed, modified, added]


@pytest.mark.parametrize(
    ("live", "config", "merged"),
    [
        ({"size": 1, "map": {"x": 1}}, {"map": {"y": 2}}, {"size": 1, "map": {"x": 1, "y": 2}}),
        ({"whole": {"k": 1}}, {"whole": {"l": 1}}, {"whole": {"l": 1}}),
        ({"plain": [1, 2]}, {"plain": [3]}, {"plain": [3]}),
        ({"map": {"x": 1}}, {"map": None}, {"map": {"x": 1}}),
        ({"map": {"x": 1}}, {"map": {}}, {"map": {"x": 1}}),
        ({"size": 1}, {"size": None}, {"size": None}),
        ({"set": ["a", "b"]}, {"set": ["c", "b"]}, {"set": ["a", "c", "b"]}),
        ({"list": named(*"abcd")}, {"list": named(*"db")}, {"list": named(*"acdb")}),
        ({"list": named(*"ab")}, {"list": [{"name": "b", "n": 1}]}, {"list": [{"name": "a"}, {"name": "b", "n": 1}]}),
        ({"list": named(*"ab")}, {"list": named(*"xayb")}, {"list": named(*"xayb")}),
        ({"free": {"a": 1}}, {"free": {"a": {"b": 1}}}, {"free": {"a": {"b": 1}}}),
        ({"list": [{"name": "a", "n": 1}, {"name": "a", "n": 2}]}, {"list": named("a")}, {"list": named("a")}),
    ],
)
def test_what_merging_makes(live: Tree, config: Tree, merged: Tree) -> None:
    assert merging.merge(PLACE, live, config) == merged


@pytest.mark.parametrize(
    ("tree", "gone", "left"),
    [
        ({"size": 1, "map": {"x": 1}}, {"f:size": {}}, {"map": {"x": 1}}),
        ({"size": 1, "map": {"x": 1, "y": 2}}, {"f:map": {"f:x": {}}}, {"size": 1, "map": {"y": 2}}),
        ({"size": 1, "map": {"x": 1}}, {"f:map": {"f:x": {}}}, {"size": 1, "map": None}),
        ({"set": ["a", "b"]}, {"f:set": {'v:"a"': {}}}, {"set": ["b"]}),
        ({"list": [{"name": "a", "n": 1}]}, {"f:list": {'k:{"name":"a"}': {"f:n": {}}}}, {"list": named("a")}),
        ({"list": named("a", "b")}, {"f:list": {'k:{"name":"a"}': {}}}, {"list": named("b")}),
        ({"size": 1, "whole": {"k": 1}}, {"f:whole": {"f:k": {}}}, {"size": 1, "whole": None}),
        ({"size": 1}, {}, {"size": 1}),
    ],
)
def test_what_is_left_without_some_fields(tree: Tree, gone: Tree, left: Tree) -> None:
    assert merging.remove(PLACE, tree, field_sets.read(gone)) == left


def test_structs_on_the_way_to_a_field_come_with_it() -> None:
    fields = field_sets.read(
        {"f:struct": {"f:a": {}}, "f:map": {"f:x": {}}, "f:list": {'k:{"name":"a"}': {"f:in": {"f:q": {}}}}}
    )

    added = merging.with_parents(PLACE, fields) - fields

    assert said(added) == [".list", '.list[name="a"].in', ".map", ".struct"]


def test_who_owned_parts_of_what_is_one_by_now_owns_the_whole() -> None:
    fields = field_sets.read(
        {"f:whole": {"f:k": {}}, "f:plain": {"v:1": {}}, "f:map": {"f:x": {}}, "f:free": {"f:a": {}}}
    )

    assert said(merging.reconciled(PLACE, fields)) == [".free.a", ".map.x", ".plain", ".whole"]


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ({"size": 1, "free": {"any": [{}]}}, ""),
        ({"size": None, "list": None}, ""),
        ({"struct": {"c": 1}}, ".struct.c: field not declared in schema"),
        ({"size": "1"}, ".size: expected numeric (int or float), got string"),
        ({"size": True}, ".size: expected numeric (int or float), got bool"),
        ({"size": [1]}, ".size: expected numeric (int or float), got []interface {}"),
        ({"set": [1]}, ".set[=1]: expected string, got &value.valueUnstructured{Value:1}"),
        ({"map": [1, "a"]}, ".map: expected map, got &{[1 a]}"),
        ({"list": {"a": None}}, ".list: expected list, got &{map[a:<nil>]}"),
        ({"list": named("a", "a")}, '.list: duplicate entries for key [name="a"]'),
        ({"set": [None]}, ".set: element 0: associative list without keys has an element that's an explicit null"),
        ({"list": ["a"]}, ".list: element 0: associative list with keys may not have non-map elements"),
        (
            {"size": "a", "struct": {"c": "b"}},
            "errors:\n  .size: expected numeric (int or float), got string\n  .struct.c: field not declared in schema",
        ),
    ],
)
def test_what_is_wrong_with_a_configuration(tree: Tree, problem: str) -> None:
    assert typecheck.problem(PLACE, tree) == problem
