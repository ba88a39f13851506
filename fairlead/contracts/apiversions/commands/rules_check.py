"""`fairlead api rules check`: whether a rule set may be used, and what it carries (section 6.1, B16)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from msgspec import Struct

from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.carry_survey import Surveyed, survey
from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.commands.options import add_output
from fairlead.contracts.apiversions.commands.rule_sources import add_definition, definitions
from fairlead.contracts.apiversions.commands.said import show
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet, RulesRejected, kind_of
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.junit import Case, junit
from fairlead.contracts.apiversions.rule_files import code_of, rules_in
from fairlead.engine.command import Invocation, Subcommand, Usage
from fairlead.engine.object_files import UnreadableFile


class Checked(Struct, frozen=True, kw_only=True):
    """One rule set."""

    crd: str
    hub: str
    problems: tuple[str, ...] = ()
    """With any of these it is not used."""
    notes: tuple[str, ...] = ()
    ways: tuple[Surveyed, ...] = ()


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rules", metavar="FILE", help="the rule set; - is standard input")
    add_definition(parser)
    add_output(parser, "junit")


async def _run(called: Invocation) -> int:
    given = called.arguments
    try:
        sets = rules_in(given.rules)
    except UnreadableFile as error:
        raise Usage(str(error)) from None
    except RulesRejected as error:
        checked = [Checked(crd="", hub="", problems=error.problems)]
    else:
        found = await definitions(called, [each.crd for each in sets].__contains__)
        checked = [_checked(each, found, given.crd or "the cluster") for each in sets]
    if given.output == "junit":
        print(junit(f"rules check {given.rules}", [Case(each.crd, each.problems) for each in checked]), end="")
    else:
        show(checked, given.output, "\n".join(line for each in checked for line in _told(each, given.rules)))
    return codes.FINDINGS if any(each.problems for each in checked) else codes.DONE


def _checked(rules: RuleSet, found: dict[str, Tree], where: str) -> Checked:
    if rules.crd not in found:
        there = f": it defines {', '.join(found)}" if found else ""
        return Checked(crd=rules.crd, hub=rules.hub, problems=(f"{where} does not define {rules.crd}{there}",))
    definition = found[rules.crd]
    try:
        kind = kind_of(rules, definition, code_of(rules))
    except RulesRejected as error:
        return Checked(crd=rules.crd, hub=rules.hub, problems=error.problems)
    return Checked(
        crd=rules.crd,
        hub=rules.hub,
        problems=(*self_test.problems_of(rules, kind), *self_test.mistaken(kind)),
        notes=tuple(_notes(rules, definition)),
        ways=tuple(survey(kind)),
    )


def _notes(rules: RuleSet, definition: Tree) -> Iterator[str]:
    known = {rules.hub, *(each.version for each in rules.spokes)}
    for each in definition["spec"]["versions"]:
        if each["name"] not in known:
            yield f"{each['name']} is no spoke: its objects are not converted, and the CRD cannot be attached"
    for spoke in rules.spokes:
        if spoke.carry == "off":
            yield f"{spoke.version} carries nothing: what the other version cannot hold must be derived"


def _told(checked: Checked, name: str) -> Iterator[str]:
    about = f"{name}: {checked.crd}" if checked.crd else name
    yield from (f"{about}: {each}" for each in checked.problems)
    if not checked.problems:
        yield f"{about}: may be used"
    yield from (f"note: {each}" for each in checked.notes)
    for way in checked.ways:
        count = len(way.carried)
        size = f", {way.mean_bytes} bytes on average and {way.largest_bytes} at most" if count else ""
        yield f"{way.source} -> {way.target}: of {way.fields} fields {count or 'none'} carried{size}"
        for each in way.carried:
            yield f"  {'always' if each.always else 'some values':<12}{each.place}"


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run, needs_cluster=lambda given: not given.crd)
