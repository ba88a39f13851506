"""`fairlead api introduce`: a new version in a CRD, neither served nor stored yet (section 3.6)."""

from __future__ import annotations

import argparse

from fairlead.contracts.apiversions.commands import version_step
from fairlead.contracts.apiversions.converters import converters_of, kind_by, rules_for
from fairlead.contracts.apiversions.decide.crd_versions import name_of, versions_of
from fairlead.contracts.apiversions.decide.lifecycle import LifecycleRefused, LifecycleStep, introduced
from fairlead.contracts.apiversions.decide.preflight.definitions import compared
from fairlead.contracts.apiversions.decide.rule_sets import RulesRejected
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.rule_files import definitions_in
from fairlead.engine.command import Invocation, Subcommand
from fairlead.engine.object_files import UnreadableFile


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    version_step.add_arguments(parser, version=False)
    about = "the CRD with its new version; versions that the cluster has stay as they are there"
    parser.add_argument("-f", "--file", metavar="FILE", required=True, help=about)
    version_step.add_rules(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments

    async def decide(live: Tree) -> LifecycleStep | LifecycleRefused:
        new = _text_of(given.file, name_of(live))
        rules = await rules_for(called.client, live, given.rules, upcoming=True)
        would = _with_new(live, new)
        blocking = [each.message for each in compared(live, would).findings if each.severity == "block"]
        if rules is not None:
            try:
                kind_by(rules, would)
            except RulesRejected as error:
                blocking += error.problems
        converters = await converters_of(called.client, live, rules)
        published = rules is not None and not given.rules
        return introduced(live, new, converters, blocking, yes=given.yes, published=published)

    return await version_step.run(called, decide)


def _text_of(file: str, crd: str) -> Tree:
    found = {name_of(each): each for each in definitions_in(file)}
    if crd not in found:
        raise UnreadableFile(f"{file} does not define {crd}: it defines {', '.join(found)}")
    return found[crd]


def _with_new(live: Tree, new: Tree) -> Tree:
    added = [
        {**each, "served": False, "storage": False}
        for each in new["spec"]["versions"]
        if each["name"] not in versions_of(live)
    ]
    spec = {**live["spec"], "versions": [*live["spec"]["versions"], *added]}
    return {**live, "spec": spec}


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
