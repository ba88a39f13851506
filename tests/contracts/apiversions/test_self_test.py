"""A rule set is tried before it is used: what would lose something is told by its place."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.decide.rule_sets import RulesRejected, kind_of, read_rules
from fairlead.contracts.apiversions.samples import sample
from tests.contracts.apiversions.decide.widgets import KIND, NAME, RULES, definition, widgets

UNCLOSED = {"pattern": "(", "template": "{t}"}


def spoke(**fields: Any) -> dict[str, Any]:
    return {"kind": "ConversionRules", "crd": NAME, "hub": "v2", "spokes": [{"version": "v1", **fields}]}


def test_rules_that_lose_nothing_have_no_problems() -> None:
    assert [*self_test.problems(KIND)] == []


def test_without_carry_what_is_lost_is_told() -> None:
    told = [*self_test.problems(widgets(spoke(carry="off", toHub=RULES["spokes"][0]["toHub"])))]

    assert [each.partition(":")[0] for each in told] == ["from v1 to v2 and back", "from v2 to v1 and back"]
    assert all("does not come back as it was" in each for each in told)


def test_a_map_where_the_other_version_has_a_list_is_told_in_both_directions() -> None:
    without = [each for each in RULES["spokes"][0]["toHub"] if each.get("op") != "listToMap"]
    kind = widgets(spoke(toHub=without))

    assert [*self_test.problems(kind)] == [], "everything comes back"
    assert [each for each in self_test.mistaken(kind) if "volumes" in each] == [
        "from v1 to v2: /spec/volumes is not of the type it has there, object",
        "from v2 to v1: /spec/volumes is not of the type it has there, array",
    ]
    assert [*self_test.mistaken(KIND)] == []


def test_what_stands_where_a_version_has_no_type_is_no_fault_of_the_rules() -> None:
    tree = definition()
    properties = tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["note"] = {"x-kubernetes-preserve-unknown-fields": True}

    assert [*self_test.mistaken(kind_of(read_rules(RULES), tree))] == []


class Broken:
    def to_hub(self, body: dict[str, Any], _: Any) -> dict[str, Any]:
        return {**body, "spec": {"replicas": body["spec"]["size"]}}

    def from_hub(self, body: dict[str, Any], _: Any) -> dict[str, Any]:
        return body


def test_code_that_raises_is_told_by_its_line_and_never_by_a_value() -> None:
    rules = {**spoke(), "python": "module:attribute"}
    told = [*self_test.problems(kind_of(read_rules(rules), definition(), lambda _: Broken()))]

    assert told
    assert "KeyError at line" in told[0]


def test_the_same_objects_every_time() -> None:
    once, again = ([sample(KIND.hub.schema, Random(seed)) for seed in range(20)] for _ in range(2))

    assert msgspec.json.encode(once) == msgspec.json.encode(again)
    assert len({msgspec.json.encode(each) for each in once}) > 10


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (
            spoke(toHub=[{"op": "move", "from": "/metadata/name", "to": "/spec/x"}]),
            "is in metadata, which no rule may touch",
        ),
        (spoke(toHub=[{"op": "move", "from": "spec", "to": "/spec/x"}]), '"spec" is not a JSON pointer'),
        (spoke(toHub=[{"op": "copy", "from": "/spec/a", "to": "/spec/*/b"}]), "has more stars than /spec/a"),
        (spoke(toHub=[{"op": "move", "from": "/spec/a", "to": "/spec/a/b"}]), "is inside of /spec/a"),
        (spoke(toHub=[{"op": "scale", "path": "/spec/size", "by": 0}]), "is by 0, from which nothing comes back"),
        (spoke(toHub=[{"op": "quantity", "path": "/spec/size", "unit": "Xi"}]), "has the unit"),
        (
            spoke(toHub=[{"op": "mapValues", "path": "/spec/mode", "table": {"a": 1, "b": 1}}]),
            "one value for two: write fromHub",
        ),
        (
            spoke(toHub=[{"op": "renameKeys", "path": "/spec/labels", "table": {"a": "c", "b": "c"}}]),
            "one name to two keys",
        ),
        (
            spoke(toHub=[{"op": "mergeInto", "from": "/spec/zones/*", "to": "/spec/labels", "key": "k"}]),
            "puts all values of /spec/zones/* under one key of /spec/labels: write fromHub",
        ),
        (
            spoke(toHub=[], fromHub=[{"op": "takeOut", "from": "/spec/labels", "key": "k", "to": "/spec/zones/*"}]),
            "has more stars than /spec/labels",
        ),
        (spoke(toHub=[{"op": "cast", "path": "/spec/unknown", "to": "string"}]), "so it cannot be cast back"),
        (spoke(toHub=[{"op": "when", "rules": []}]), "when needs either exists, or path and equals"),
        (spoke(toHub=[{"op": "textToList", "path": "/spec/zones", "by": ""}]), "needs a separator"),
        (
            spoke(toHub=[{"op": "format", "from": "/spec/image", "to": {"/spec/tag": "t"}, **UNCLOSED}]),
            "missing closing )",
        ),
        (spoke(toHub=[{"op": "jump", "path": "/spec/x"}]), "jump"),
        ({**spoke(), "hub": "v9"}, "hub is v9: versions of widgets.example.com are v1, v2, v3"),
        ({**spoke(), "crd": "gadgets.example.com"}, "crd is gadgets.example.com"),
        ({**spoke(), "spokes": [{"version": "v2"}]}, "spoke v2 is the hub"),
        ({**spoke(), "spokes": [{"version": "v1"}, {"version": "v1"}]}, "spoke v1 is there twice"),
        ({**spoke(), "spokes": [{"version": "v7"}]}, "spoke v7 is no version"),
        ({**spoke(), "python": "module:attribute"}, "never from a ConfigMap"),
        ({**spoke(), "colour": "blue"}, "colour"),
        ("a text", "Expected `object`"),
    ],
)
def test_what_is_wrong_with_a_set_is_told(rules: Any, sentence: str) -> None:
    with pytest.raises(RulesRejected, match=r"\w") as caught:
        kind_of(read_rules(rules), definition())

    assert sentence in str(caught.value)
