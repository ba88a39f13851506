"""Rule sets are tried in a process of their own: nothing waits for it, and nothing that they do harms this one."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from fairlead.contracts.apiversions.decide.convert import Annotations
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.rule_data import SetData, essence, joined, made
from fairlead.contracts.apiversions.rule_tests import RuleTests, RuleVerdict
from tests.contracts.apiversions.decide.widgets import NAME, RULES, definition
from tests.engine.world import Log

LONG = 60.0


class Leaving:
    """Rules in code that end their process."""

    @staticmethod
    def to_hub(body: Tree, annotations: Annotations) -> Tree:
        os._exit(3)

    from_hub = to_hub


def data(rules: Tree, tree: Tree | None = None, *, is_trusted: bool = False) -> bytes:
    return msgspec.json.encode(SetData(rules, essence(tree or definition()), is_trusted))


def played(scenario: Callable[[RuleTests], Awaitable[Any]]) -> Any:
    async def play() -> Any:
        tests = RuleTests(Log().logger())
        try:
            async with asyncio.timeout(LONG):
                return await scenario(tests)
        finally:
            await tests.close()

    return asyncio.run(play())


def test_a_good_set_is_ready_to_use_and_a_bad_one_says_all_that_is_wrong() -> None:
    async def scenario(tests: RuleTests) -> tuple[RuleVerdict, RuleVerdict]:
        wrong = {**RULES, "hub": "v9", "spokes": [{"version": "v7"}]}
        return await tests.verdict(data(RULES)), await tests.verdict(data(wrong))

    good, bad = played(scenario)

    assert good.rule is not None
    assert good.rule.name == NAME
    assert (bad.rule, len(bad.problems)) == (None, 2)


def test_code_that_ends_its_process_is_rejected_and_the_next_set_is_tried() -> None:
    async def scenario(tests: RuleTests) -> tuple[RuleVerdict, RuleVerdict]:
        deadly = {**RULES, "python": f"{__name__}:Leaving", "spokes": [{"version": "v1"}]}
        return await tests.verdict(data(deadly, is_trusted=True)), await tests.verdict(data(RULES))

    deadly, good = played(scenario)

    assert "the process that tried it ended" in deadly.problems[0]
    assert good.rule is not None


def test_where_there_are_no_processes_sets_are_tried_in_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    assert played(lambda tests: tests.verdict(data(RULES))).rule is not None


def test_the_loop_is_free_while_large_schemas_are_tried() -> None:
    """Between two turns of another task lies a small part of what the trial takes."""
    field = {"type": "object", "properties": {f"f{number}": {"type": "string"} for number in range(40)}}
    large = {"type": "object", "properties": {f"g{number}": field for number in range(40)}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": large}}}}
    rules = {"kind": "ConversionRules", "crd": NAME, "hub": "v2", "spokes": [{"version": "v1"}]}
    turns: list[float] = []

    async def ticking() -> None:
        while True:
            turns.append(asyncio.get_running_loop().time())
            await asyncio.sleep(0.001)

    async def scenario(tests: RuleTests) -> RuleVerdict:
        ticker = asyncio.create_task(ticking())
        try:
            return await tests.verdict(data(rules, definition(v1=schema, v2=schema)))
        finally:
            ticker.cancel()

    assert played(scenario).rule is not None
    longest = max(after - before for before, after in itertools.pairwise(turns))
    assert longest < (turns[-1] - turns[0]) / 2
    assert len(turns) > 10


def test_only_what_conversion_reads_of_a_definition_counts() -> None:
    tree = definition()
    other = {**tree, "metadata": tree["metadata"] | {"annotations": {"a": "b"}}, "status": {"storedVersions": ["v1"]}}
    other["spec"] = {**tree["spec"], "conversion": {"strategy": "None"}}

    assert data(RULES, other) == data(RULES)


def test_an_own_definition_has_the_versions_of_this_release_and_those_that_only_the_cluster_has() -> None:
    own = definition()
    live = {**own, "spec": {**own["spec"], "versions": [*own["spec"]["versions"][:1], {"name": "v9"}]}}

    assert [each["name"] for each in joined(own, live)["spec"]["versions"]] == ["v1", "v2", "v3", "v9"]
    assert joined(own, None) is own


def test_another_process_makes_the_same_rules_from_data() -> None:
    (rule,) = made(b"[" + data(RULES) + b"]")

    assert (rule.kind, rule.name) == ("Widget", NAME)
    assert rule.versions == ("example.com/v2", "example.com/v1", "example.com/v3")
