"""`fairlead api serve`: a version is answered for, once its round trips are known to lose nothing (section 3.6)."""

from __future__ import annotations

import argparse
from random import Random

from fairlead.contracts.apiversions.commands import version_step
from fairlead.contracts.apiversions.converters import converters_of, kind_by, rules_for
from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.crd_versions import (
    name_of,
    resource_of,
    storage_version,
    strategy_of,
    target_of,
    version_of,
)
from fairlead.contracts.apiversions.decide.lifecycle import (
    LifecycleRefused,
    LifecycleStep,
    behind,
    served,
    served_united,
    unruled,
)
from fairlead.contracts.apiversions.decide.preflight.findings import Finding
from fairlead.contracts.apiversions.decide.preflight.objects import ConversionTally
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.live_objects import objects
from fairlead.engine.command import Invocation, Subcommand
from kubeloop.client import Client

MOST_TRIED = 1000


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    version_step.add_arguments(parser)
    version_step.add_rules(parser)
    about = "without a webhook: let all versions take one another's fields, so that nothing is pruned"
    parser.add_argument("--union", action="store_true", help=about)


async def _run(called: Invocation) -> int:
    given = called.arguments

    async def decide(live: Tree) -> LifecycleStep | LifecycleRefused:
        if given.union:
            return served_united(live, given.version)
        if version_of(live, given.version).get("served") or strategy_of(live) == "None":
            return served(live, given.version, ())
        rules = await rules_for(called.client, live, given.rules)
        converters = await converters_of(called.client, live, rules)
        late = behind(live, [given.version], converters)
        if rules is None:
            unchecked = f"{name_of(live)} is converted by {target_of(live)}, whose rules are not known here"
            return served(live, given.version, late, unchecked=unchecked, yes=given.yes)
        if missing := unruled(live, [given.version], converters, yes=given.yes):
            return served(live, given.version, [*missing, *late])
        losses = await _losses(called.client, live, kind_by(rules, live), given.version)
        return served(live, given.version, [*late, *map(_sentence, losses)])

    return await version_step.run(called, decide)


async def _losses(client: Client, live: Tree, kind: KindConversion, version: str) -> list[Finding]:
    """What live objects lose on the way to the version and back; of more than MOST_TRIED a sample is tried."""
    storage = storage_version(live)
    tally = ConversionTally(name_of(live), kind, storage)
    chance = Random(name_of(live))  # noqa: S311  (the same sample when it is run again)
    sample: list[Tree] = []
    count = 0
    async for tree in objects(client, resource_of(live, storage)):
        count += 1
        if len(sample) < MOST_TRIED:
            sample.append(tree)
        elif (place := chance.randrange(count)) < MOST_TRIED:
            sample[place] = tree
    for tree in sample:
        tally.see(tree)
    return [each for each in tally.findings() if each.version == version and each.severity == "block"]


def _sentence(finding: Finding) -> str:
    some = f", {', '.join(finding.objects)} among them" if finding.objects else ""
    return f"{finding.message}{some}: correct the rules (`{finding.fix}` shows what differs)"


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
