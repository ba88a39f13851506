"""`fairlead api rules rehub`: a rule set rewritten for another hub (section 6.1, B16)."""

from __future__ import annotations

import argparse
import sys

import yaml

from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.commands.rule_sources import add_definition, definitions, rule_sets
from fairlead.contracts.apiversions.decide.rehub import rehubbed, written_rules
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet, RulesRejected, kind_of, schemas_of
from fairlead.engine.command import Invocation, Subcommand, Usage


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rules", metavar="FILE", help="the rule set")
    parser.add_argument("--hub", metavar="VERSION", required=True, help="the spoke that becomes the hub")
    add_definition(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments
    sets = rule_sets(given.rules)
    found = await definitions(called, sets.__contains__)
    made: list[RuleSet] = []
    problems: list[str] = []
    for name, rules in sets.items():
        if name not in found:
            raise Usage(f"{given.crd or 'the cluster'} does not define {name}")
        try:
            kind_of(rules, found[name])
            made.append(rehubbed(rules, given.hub, schemas_of(found[name])))
            problems += self_test.problems(kind_of(made[-1], found[name]))
        except RulesRejected as error:
            raise Usage(f"{given.rules}: {error}") from None
    print(yaml.safe_dump_all([written_rules(each) for each in made], sort_keys=False, allow_unicode=True), end="")
    for each in problems:
        print(f"the result cannot be used as it is: {each}", file=sys.stderr)
    return codes.FINDINGS if problems else codes.DONE


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run, needs_cluster=lambda given: not given.crd)
