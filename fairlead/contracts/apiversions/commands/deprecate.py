"""`fairlead api deprecate`: who asks for a version is warned from now on (section 3.6)."""

from __future__ import annotations

import argparse

from fairlead.contracts.apiversions.api_server_metrics import metrics_text
from fairlead.contracts.apiversions.commands import version_step
from fairlead.contracts.apiversions.decide.lifecycle import LifecycleRefused, LifecycleStep, deprecated, wrong_warning
from fairlead.contracts.apiversions.decide.request_history import open_watches
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.engine.command import Invocation, Subcommand, Usage


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    version_step.add_arguments(parser)
    about = "what clients are told, 1 to 256 characters; default the server's words, which name the version to use"
    parser.add_argument("--warning", metavar="TEXT", default=None, help=about)


async def _run(called: Invocation) -> int:
    given = called.arguments
    if given.warning is not None and (wrong := wrong_warning(given.warning)):
        raise Usage(f"--warning: {wrong}")

    async def decide(live: Tree) -> LifecycleStep | LifecycleRefused:
        watches = open_watches(live, given.version, await metrics_text(called.client))
        return deprecated(live, given.version, given.warning, watches)

    return await version_step.run(called, decide)


COMMAND = Subcommand(add_arguments=_add_arguments, run=_run)
