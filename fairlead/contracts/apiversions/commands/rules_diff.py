"""`fairlead api rules diff`: what two rule sets carry and derive differently (section 6.1, B16)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from msgspec import Struct

from fairlead.contracts.apiversions.carry_survey import Surveyed, survey
from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.commands.options import add_output
from fairlead.contracts.apiversions.commands.rule_sources import add_definition, definitions, kind_with, rule_sets
from fairlead.contracts.apiversions.commands.said import show
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet, SpokeRules
from fairlead.engine.command import Invocation, Subcommand, Usage

ALWAYS, SOMETIMES, NEVER = "carried", "carried for some values", "not carried"


class RuleDifference(Struct, frozen=True):
    crd: str
    where: str
    """A way between versions, or the spoke."""
    place: str
    before: str
    after: str


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="FILE", help="a rule set")
    parser.add_argument("after", metavar="FILE", help="another one")
    add_definition(parser)
    add_output(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments
    before, after = rule_sets(given.before), rule_sets(given.after)
    found = await definitions(called, {*before, *after}.__contains__)
    differences: list[RuleDifference] = []
    for name in dict.fromkeys([*before, *after]):
        if name not in found:
            raise Usage(f"{given.crd or 'the cluster'} does not define {name}")
        if name not in before or name not in after:
            has = "has no rules" if name not in before else "has rules"
            now = "has rules" if name not in before else "has no rules"
            differences.append(RuleDifference(name, "", "", has, now))
            continue
        one, other = before[name], after[name]
        differences += _settings(one, other)
        ways = [survey(kind_with(found[name], *each)) for each in ((one, given.before), (other, given.after))]
        differences += _carried(name, *ways, is_hub_same=one.hub == other.hub)
    show(differences, given.output, "\n".join(_text(differences)))
    return codes.DONE


def _carried(crd: str, before: list[Surveyed], after: list[Surveyed], *, is_hub_same: bool) -> Iterator[RuleDifference]:
    """Ways to another hub are others, and nothing to compare."""
    ways = {(each.source, each.target): _words(each) for each in before}
    others = {(each.source, each.target): _words(each) for each in after}
    for way in dict.fromkeys([*ways, *others]):
        one, other = ways.get(way), others.get(way)
        where = f"{way[0]} -> {way[1]}"
        if one is None or other is None:
            if is_hub_same:
                words = ("converted", "not converted")
                yield RuleDifference(crd, where, "", *(words if other is None else reversed(words)))
            continue
        for place in sorted({*one, *other}):
            if (was := one.get(place, NEVER)) != (now := other.get(place, NEVER)):
                yield RuleDifference(crd, where, place, was, now)


def _words(way: Surveyed) -> dict[str, str]:
    return {each.place: ALWAYS if each.always else SOMETIMES for each in way.carried}


def _settings(before: RuleSet, after: RuleSet) -> Iterator[RuleDifference]:
    if before.hub != after.hub:
        yield RuleDifference(before.crd, "hub", "", before.hub, after.hub)
    spokes = {each.version: each for each in before.spokes}
    for each in after.spokes:
        was = spokes.get(each.version, SpokeRules(each.version))
        if was.carry != each.carry:
            yield RuleDifference(before.crd, each.version, "carry", was.carry, each.carry)
        for name in ("derived", "sticky"):
            one, other = {*getattr(was, name)}, {*getattr(each, name)}
            for place in sorted(one ^ other):
                words = (name, f"not {name}")
                yield RuleDifference(before.crd, each.version, place, *(words if place in one else reversed(words)))
        if was.keys != each.keys:
            yield RuleDifference(before.crd, each.version, "keys", _listed(was), _listed(each))


def _listed(spoke: SpokeRules) -> str:
    return ", ".join(f"{place} by {' and '.join(names)}" for place, names in sorted(spoke.keys.items())) or "none"


def _text(differences: list[RuleDifference]) -> Iterator[str]:
    if not differences:
        yield "both carry and derive the same"
    for each in differences:
        place = " ".join(part for part in (each.where, each.place) if part)
        yield f"{each.crd}: {place}{': ' if place else ''}{each.before}, now {each.after}"


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run, needs_cluster=lambda given: not given.crd)
