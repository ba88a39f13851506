"""The rule set of a definition for which nobody has written one: what versions share stays, the rest is carried."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.apiversions.decide.rule_sets import KIND, RuleSet, SpokeRules
from fairlead.contracts.apiversions.decide.trees import Tree


def plain_rules(definition: Tree) -> RuleSet:
    """Without operations; the hub is the version that is stored."""
    versions: list[dict[str, Any]] = definition["spec"]["versions"]
    hub = next((each["name"] for each in versions if each.get("storage")), versions[0]["name"])
    spokes = [SpokeRules(each["name"]) for each in versions if each["name"] != hub]
    return RuleSet(kind=KIND, crd=definition["metadata"]["name"], hub=hub, spokes=spokes)  # type: ignore[arg-type]
