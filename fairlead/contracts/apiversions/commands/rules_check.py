"""`fairlead api rules check`: whether a rule set may be used with a definition (section 6.1, B16)."""

from __future__ import annotations

import argparse

from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.decide.rule_sets import RulesRejected, kind_of
from fairlead.contracts.apiversions.rule_files import code_of, definitions_in, rules_in
from fairlead.engine.command import Invocation, Subcommand, Usage
from fairlead.engine.object_files import Unreadable


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rules", metavar="FILE", help="the rule set")
    parser.add_argument("--crd", metavar="FILE", required=True, help="the definition, from a file")


async def _run(called: Invocation) -> int:
    given = called.arguments
    try:
        definitions = {each["metadata"]["name"]: each for each in definitions_in(given.crd)}
        sets = rules_in(given.rules)
    except (Unreadable, RulesRejected) as error:
        raise Usage(str(error)) from None
    found = []
    for rules in sets:
        try:
            if rules.crd not in definitions:
                raise RulesRejected([f"{given.crd} does not define {rules.crd}: it defines {', '.join(definitions)}"])
            found += [*self_test.problems(kind_of(rules, definitions[rules.crd], code_of(rules)))]
        except RulesRejected as error:
            found += error.problems
    for problem in found:
        print(f"{given.rules}: {problem}")
    if not found:
        print(f"{given.rules}: may be used")
    return codes.FINDINGS if found else codes.DONE


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run, needs_cluster=lambda _: False)
