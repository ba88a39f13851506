"""Rule sets of this release, named by `builtIn` (section 2.6): also a ConfigMap may name one, and no other code."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml

from fairlead.contracts.apiversions.decide.rule_sets import RulesRejected, read_rules
from fairlead.contracts.apiversions.named_rules import expanded, named, shortened
from fairlead.contracts.apiversions.source_files import RuleMap, in_maps

NAME = "materialize-v1"
CRD = "materializes.materialize.cloud"


def a_map(tree: dict[str, Any]) -> RuleMap:
    metadata = {"name": "rules", "uid": "u", "resourceVersion": "1", "namespace": "fairlead-system"}
    return msgspec.convert({"metadata": metadata, "data": {"rules.yaml": yaml.safe_dump(tree)}}, RuleMap)


def test_a_config_map_may_name_a_set_of_this_release() -> None:
    (source,) = in_maps([a_map({"kind": "ConversionRules", "crd": CRD, "builtIn": NAME, "attach": True})])

    assert (source.crd, source.problem, source.is_trusted) == (CRD, "", True)
    rules = read_rules(source.tree)
    assert (rules.hub, rules.attach, rules.built_in) == ("v1alpha1", True, NAME)
    assert [(each.version, each.carry) for each in rules.spokes] == [("v1", "off")]


def test_other_code_of_a_config_map_is_not_trusted() -> None:
    (source,) = in_maps([a_map({**named(NAME), "builtIn": ""})])

    assert not source.is_trusted


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        ({"builtIn": "materialize"}, "builtIn is materialize: this release has materialize-v1"),
        ({"builtIn": NAME, "crd": "widgets.example.test"}, f"is for {CRD}: name no other definition"),
        ({"builtIn": NAME, "crd": CRD, "hub": "v1"}, "brings all rules of materialize-v1: leave hub out"),
    ],
    ids=["unknown", "of another definition", "with rules besides"],
)
def test_what_cannot_be_meant_is_told(tree: dict[str, Any], told: str) -> None:
    with pytest.raises(RulesRejected, match=told):
        expanded({"kind": "ConversionRules", **tree})

    (source,) = in_maps([a_map({"kind": "ConversionRules", **tree})])
    assert told in source.problem


def test_what_is_stored_is_the_name_alone() -> None:
    given = {"kind": "ConversionRules", "crd": CRD, "builtIn": NAME, "attach": True}

    assert shortened(expanded(given)) == given
    assert shortened({"kind": "ConversionRules", "crd": "a.b", "hub": "v1", "builtIn": ""}) == {
        "kind": "ConversionRules",
        "crd": "a.b",
        "hub": "v1",
    }
