"""`fairlead api unserve`: a version is no longer answered for, once nothing names it (section 3.6)."""

from __future__ import annotations

import argparse

from fairlead.contracts.apiversions.api_server_metrics import api_servers, metrics_text
from fairlead.contracts.apiversions.commands import options, version_step
from fairlead.contracts.apiversions.converters import rules_for
from fairlead.contracts.apiversions.decide.crd_versions import version_of
from fairlead.contracts.apiversions.decide.lifecycle import LifecycleRefused, LifecycleStep, Requests, unserved
from fairlead.contracts.apiversions.decide.request_history import requests_of
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.version_uses import Uses
from fairlead.contracts.apiversions.uses import uses_of
from fairlead.engine.command import Invocation, Subcommand
from kubeloop import clock


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    version_step.add_arguments(parser)
    version_step.add_rules(parser)
    about = "also where the API server has counted requests to it: nobody but its own controllers makes them"
    parser.add_argument("--although-asked", action="store_true", help=about)
    options.add_dependents(parser)


async def _run(called: Invocation) -> int:
    given = called.arguments

    async def decide(live: Tree) -> LifecycleStep | LifecycleRefused:
        found = version_of(live, given.version)
        if not found.get("served") or found.get("storage"):
            return unserved(live, given.version, Uses(), Requests(), yes=given.yes)
        rules = await rules_for(called.client, live, given.rules)
        uses = await uses_of(called.client, live, named=given.dependents)
        metrics, servers = await metrics_text(called.client), await api_servers(called.client)
        requests = requests_of(live, given.version, metrics, servers, clock.now())
        hub = "" if rules is None else rules.hub
        although = given.although_asked
        return unserved(live, given.version, uses, requests, hub, yes=given.yes, although_asked=although)

    return await version_step.run(called, decide)


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
