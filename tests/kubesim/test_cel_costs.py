"""Rules cost what they cost on the API server, which refuses those that may take too long."""

from __future__ import annotations

import copy

import pytest

from kubesim.definitions import rules as crd_rules
from tests.kubesim import costs
from tests.kubesim.trees import Tree

_RECORDED = costs.recorded()


def said(tree: Tree) -> str:
    crd_rules.fill(tree)
    tree["status"] = crd_rules.born_status(tree)
    return costs.said(cause.message for cause in crd_rules.on_create(tree))


@pytest.mark.parametrize("rule", _RECORDED)
def test_rules_cost_what_they_cost_on_the_server(rule: str) -> None:
    items, told = _RECORDED[rule]

    assert said(costs.definition(rule, items)) == told


def test_a_rule_within_its_budget_is_taken() -> None:
    assert said(costs.definition("self.l.all(x, x.size() > 1)", 1000)) == ""


def test_a_schema_that_stays_is_not_looked_at_again() -> None:
    costly = costs.definition("self.lu.all(x, self.lu.exists(y, x == y))", 1000)
    crd_rules.fill(costly)
    costly["status"] = crd_rules.born_status(costly)
    told, changed = copy.deepcopy(costly), copy.deepcopy(costly)
    told["spec"]["names"]["shortNames"] = ["co"]
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "Another."

    assert crd_rules.on_update(costly, told) == []
    assert costs.said(cause.message for cause in crd_rules.on_update(costly, changed)) == "more than 100x"
