"""Definitions and rule sets that a command works with: from files, or from the cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from fairlead.contracts.apiversions.commands.live_definition import NoDefinition, definition_of
from fairlead.contracts.apiversions.converters import rules_for
from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.plain_rules import plain_rules
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet, RulesRejected, kind_of
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.rule_files import code_of, definitions_in, rules_in
from fairlead.engine.command import Invocation, Usage
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.object_files import UnreadableFile


def add_definition(parser: argparse.ArgumentParser) -> None:
    """`--crd`."""
    about = "the definition, from a file; no cluster is needed then"
    parser.add_argument("--crd", metavar="FILE", default="", help=about)


def add_sources(parser: argparse.ArgumentParser) -> None:
    """`--crd` and `--rules`."""
    add_definition(parser)
    about = "the rule set; default that of the cluster, else none: what versions share stays, the rest is carried"
    parser.add_argument("--rules", metavar="FILE", default="", help=about)


async def definitions(called: Invocation, wanted: Callable[[str], bool]) -> dict[str, Tree]:
    """By name: all of the file, or those of the cluster that are wanted; raises Usage and errors of the cluster."""
    if called.arguments.crd:
        try:
            found: list[Any] = definitions_in(called.arguments.crd)
        except UnreadableFile as error:
            raise Usage(str(error)) from None
    else:
        listed = await called.client.list(DEFINITIONS, dict[str, Any], metadata_only=True)
        names = [each["metadata"]["name"] for each in listed.items]
        found = [await definition_of(called.client, each) for each in names if wanted(each)]
    return {each["metadata"]["name"]: each for each in found}


async def one_definition(called: Invocation) -> Tree:
    """The one that the command is about, `crd_name`; raises Usage, NoDefinition and errors of the cluster."""
    given = called.arguments
    if not given.crd:
        if not given.crd_name:
            raise Usage("say which CRD, such as widgets.example.com, or give its definition with --crd FILE")
        return await definition_of(called.client, given.crd_name)
    found = await definitions(called, lambda _: True)
    if not given.crd_name and len(found) > 1:
        raise Usage(f"{given.crd} has several definitions: say which, one of {', '.join(found)}")
    name = given.crd_name or next(iter(found))
    if name not in found:
        raise NoDefinition(f"{given.crd} does not define {name}: it defines {', '.join(found)}")
    return found[name]


async def rules_of(called: Invocation, definition: Tree) -> RuleSet | None:
    """The set of `--rules`, else the one in force in the cluster; None where there is none. Raises Usage."""
    try:
        return await rules_for(called.connected, definition, called.arguments.rules)
    except (UnreadableFile, RulesRejected) as error:
        raise Usage(str(error)) from None


def rule_sets(name: str) -> dict[str, RuleSet]:
    """Those of a file by their definitions; none without a file. Raises Usage."""
    if not name:
        return {}
    try:
        found = rules_in(name)
    except UnreadableFile as error:
        raise Usage(str(error)) from None
    except RulesRejected as error:
        raise Usage(f"{name}: {error}") from None
    if repeated := next((each.crd for each in found if [one.crd for one in found].count(each.crd) > 1), ""):
        raise Usage(f"{name} has two rule sets for {repeated}: keep one")
    return {each.crd: each for each in found}


def kind_with(definition: Tree, rules: RuleSet | None, name: str) -> KindConversion:
    """How the objects are converted by the rules, or by none; raises Usage. `name` is the rules' file."""
    chosen = plain_rules(definition) if rules is None else rules
    try:
        return kind_of(chosen, definition, code_of(chosen))
    except RulesRejected as error:
        raise Usage(f"{name}: {error}") from None
