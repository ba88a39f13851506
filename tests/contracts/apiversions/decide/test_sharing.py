"""What operations change is copied, and nothing that was given is changed, however operations meet one another."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

import pytest

from fairlead.contracts.apiversions.decide.convert import convert
from fairlead.contracts.apiversions.decide.operations.base import Here, steps
from fairlead.contracts.apiversions.decide.rule_sets import read_rules
from fairlead.contracts.apiversions.decide.sharing import opened, plan_of
from fairlead.contracts.apiversions.decide.trees import Tree, copied
from fairlead.contracts.apiversions.samples import sample
from kubeloop.schemas.structural import compile_schema
from tests.contracts.apiversions.decide.widgets import KIND, widget

ANY: Tree = {"type": "object", "additionalProperties": True}
BODY: Tree = {
    "spec": {
        "a": {"x": {"y": 1, "z": "b,c"}, "w": "90s"},
        "list": [{"name": "one", "n": 1, "in": {"deep": 1}}, {"name": "two", "n": 2}],
        "map": {"k": {"n": 1}, "l": {"n": 2}},
        "other": {"large": [1, {"k": 2}]},
    }
}
WAYS: dict[str, list[Tree]] = {
    "a move": [{"op": "move", "from": "/spec/a/w", "to": "/spec/b/w"}],
    "a change after a move": [
        {"op": "move", "from": "/spec/a", "to": "/spec/b"},
        {"op": "set", "path": "/spec/b/x/new", "value": 1},
    ],
    "a change after two moves": [
        {"op": "move", "from": "/spec/a", "to": "/spec/b"},
        {"op": "move", "from": "/spec/b", "to": "/spec/c"},
        {"op": "drop", "path": "/spec/c/x/y"},
    ],
    "inside of a copy": [
        {"op": "copy", "from": "/spec/a", "to": "/spec/b"},
        {"op": "drop", "path": "/spec/b/x/y"},
        {"op": "drop", "path": "/spec/a/w"},
    ],
    "items of a list": [{"op": "move", "from": "/spec/list/*/n", "to": "/spec/list/*/m"}],
    "one item of a list": [{"op": "drop", "path": "/spec/list/0/in/deep"}],
    "inside of each": [
        {"op": "each", "path": "/spec/list/*", "rules": [{"op": "move", "from": "/in/deep", "to": "/flat"}]}
    ],
    "a list that becomes a map, and its items": [
        {"op": "listToMap", "path": "/spec/list", "key": "name"},
        {"op": "each", "path": "/spec/list/*", "rules": [{"op": "drop", "path": "/in/deep"}]},
    ],
    "keys of a map, and its values": [
        {"op": "renameKeys", "path": "/spec/map", "table": {"k": "m"}},
        {"op": "drop", "path": "/spec/map/*/n"},
    ],
    "into a map": [{"op": "mergeInto", "from": "/spec/a/w", "to": "/spec/map", "key": "w"}],
    "out of a map": [{"op": "takeOut", "from": "/spec/a", "key": "w", "to": "/spec/v"}],
    "where it is so": [{"op": "when", "exists": "/spec/a", "rules": [{"op": "drop", "path": "/spec/a/x/y"}]}],
    "texts": [
        {"op": "split", "from": "/spec/a/x/z", "to": ["/spec/p", "/spec/q"], "by": ","},
        {"op": "wrap", "path": "/spec/a/w"},
    ],
}


@pytest.mark.parametrize("name", WAYS)
def test_an_operation_changes_copies_and_comes_to_the_same(name: str) -> None:
    operations = read_rules({"kind": "ConversionRules", "crd": "x.y", "hub": "v2", "spokes": [a_spoke(WAYS[name])]})
    way = operations.spokes[0].to_hub
    ready = steps(way, Here(compile_schema(ANY)))
    given, expected = copied(BODY), copied(BODY)

    made = opened(given, plan_of(way))
    for step in ready:
        step(made)
        step(expected)

    assert made == expected
    assert made != BODY
    assert given == BODY


def a_spoke(operations: list[Tree]) -> Any:
    return {"version": "v1", "toHub": operations, "fromHub": []}


def test_what_no_operation_touches_is_shared() -> None:
    way = read_rules(
        {"kind": "ConversionRules", "crd": "x.y", "hub": "v2", "spokes": [a_spoke(WAYS["a move"])]}
    ).spokes[0]

    made = opened(BODY, plan_of(way.to_hub))

    assert made["spec"]["other"] is BODY["spec"]["other"]
    assert made["spec"]["a"] is not BODY["spec"]["a"]
    assert made["spec"]["a"]["x"] is BODY["spec"]["a"]["x"]


def test_objects_of_every_shape_stay_as_they_are_given_with_what_they_carry() -> None:
    chance = Random("shared")
    versions = (KIND.hub, *(spoke.version for spoke in KIND.spokes.values()))
    for one, other in permutations(versions, 2):
        for _ in range(100):
            first = widget(one.name, **sample(one.schema, chance))
            second = convert(copied(first), other.name, KIND).tree
            for tree, wanted in ((first, other.name), (second, one.name)):
                before = copied(tree)

                convert(tree, wanted, KIND)

                assert tree == before
