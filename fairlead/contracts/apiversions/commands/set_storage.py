"""`fairlead api set-storage`: objects are stored in another version from their next write on (section 3.6)."""

from __future__ import annotations

import argparse

from fairlead.contracts.apiversions.commands import version_step
from fairlead.contracts.apiversions.converters import converters_of, rules_for
from fairlead.contracts.apiversions.decide.crd_versions import name_of
from fairlead.contracts.apiversions.decide.lifecycle import LifecycleRefused, LifecycleStep, stored
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.engine.command import Invocation, Subcommand
from fairlead.engine.releases import release_without


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    version_step.add_arguments(parser)
    version_step.add_rules(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments

    async def decide(live: Tree) -> LifecycleStep | LifecycleRefused:
        rules = await rules_for(called.client, live, given.rules)
        converters = await converters_of(called.client, live, rules)
        return stored(live, given.version, converters, release_without(name_of(live), given.version), yes=given.yes)

    return await version_step.run(called, decide)


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
