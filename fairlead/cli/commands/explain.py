"""`fairlead explain NAME`: all that is known about one rollout."""

from __future__ import annotations

import argparse
import shutil
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.flags.common import add_cluster, add_output

if TYPE_CHECKING:
    from fairlead.cli.connect import Cluster

NAME_HELP = (
    'name of an environment, of a group of zones ("" for the one without) or of one of its StatefulSets,'
    " of a LeaderWorkerSet, of a DisaggregatedSet, or of a plan"
)
MOST_COLUMNS = 100
"""Sentences longer than this are hard to read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help=NAME_HELP)
    add_cluster(parser)
    add_output(parser, "json", "yaml")
    parser.add_argument("--no-color", action="store_true", help="show no colours; so does the variable NO_COLOR")


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.connect import fail, talk

    async def work(cluster: Cluster) -> int:
        from fairlead.cli.documents_of import explain_all
        from fairlead.cli.elsewhere import why_not_found
        from fairlead.cli.selection import named, none_named, several
        from fairlead.cli.views.documents import written
        from fairlead.cli.views.explanation import explanation
        from fairlead.cli.views.provenance import folded, said_by
        from fairlead.cli.views.screens import printed
        from kubeloop import clock

        seen = await explain_all(cluster.client, cluster.namespaces)
        found = named(seen, arguments.name)
        if not found:
            place = await why_not_found(cluster.client, arguments.name, cluster.namespaces)
            return fail(place or none_named(arguments.name, seen, cluster.namespaces), exits.NOT_FOUND)
        if len(found) > 1:
            return fail(several(found, arguments.name), exits.USAGE)
        if arguments.output:
            print(written(found[0], arguments.output), end="")
        else:
            width = min(shutil.get_terminal_size().columns, MOST_COLUMNS)
            now = clock.now()
            lines = [*explanation(found[0], now, width), *folded(said_by(found[0], now), width)]
            printed(lines, color=not arguments.no_color)
        return exits.OK

    return talk(arguments, work)
