"""`fairlead status NAME`: how one rollout stands, lane by lane, until it is complete."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.commands.explain import NAME_HELP
from fairlead.cli.flags.common import add_cluster, add_output

if TYPE_CHECKING:
    from fairlead.cli.commands.watch import WatchEnd
    from fairlead.cli.connect import Cluster
    from fairlead.core.explain import Explain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help=NAME_HELP)
    add_cluster(parser, all_namespaces=False)
    add_output(parser, "json", "yaml")
    parser.add_argument("--watch", action="store_true", help="wait until it is complete; so it does without the option")
    parser.add_argument("--no-wait", action="store_true", help="look once and leave, with code 4 if it is not complete")
    parser.add_argument(
        "--timeout", metavar="DURATION", default="", help="leave after this time, such as 90s or 1h30m, with code 4"
    )
    parser.epilog = (
        "Prints a line per zone, generation or group, and again when one of them changes. Leaves with code 0 when the"
        " rollout is complete, and as soon as it does not go on by itself with the code that tells why: see `fairlead"
        " help exit-codes`."
    )


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.commands.watch import duration
    from fairlead.cli.connect import fail, talk

    if arguments.watch and arguments.no_wait:
        return fail("--watch and --no-wait exclude each other: choose one", exits.USAGE)
    try:
        seconds = duration(arguments.timeout)
    except ValueError as error:
        return fail(f"--timeout: {error}", exits.USAGE)

    async def work(cluster: Cluster) -> int:
        lines = LaneLines(quiet=bool(arguments.output))
        end = await _followed(cluster, arguments, seconds, lines)
        if arguments.output and lines.last is not None:
            from fairlead.cli.views.documents import written

            print(written(lines.last, arguments.output), end="")
        return fail(end.text, end.code) if end.text else end.code

    return talk(arguments, work)


async def _followed(
    cluster: Cluster, arguments: argparse.Namespace, seconds: float | None, lines: LaneLines
) -> WatchEnd:
    from fairlead.cli.commands.watch import WatchEnd, WatchScope, within
    from fairlead.cli.selection import is_complete

    wanted = WatchScope(arguments.name, exit_when_blocked=True, once=arguments.no_wait, single=True)
    end = await within(seconds, cluster, wanted, lines)
    if arguments.no_wait and not end.text and lines.last is not None and not is_complete(lines.last):
        return WatchEnd(exits.BLOCKED)
    return end


class LaneLines:
    """Prints a line per lane when it has changed, and what the rollout waits for."""

    def __init__(self, *, quiet: bool) -> None:
        self.last: Explain | None = None
        self._quiet = quiet
        self._said: dict[tuple[str, str], str] = {}

    def show(self, seen: Sequence[Explain], now: datetime, trouble: str) -> None:
        from fairlead.cli.views.render import name_of
        from fairlead.cli.views.severity import waits_of

        for one in seen:
            self.last = one
            for lane in one.stands.lanes:
                self._say(one.part, lane.name, f"{lane.name}: {lane.phase}, {lane.done} of {lane.total} pods done")
            stands, wait = one.stands, next(iter(waits_of(one)), None)
            text = f"{name_of(one)}: {one.outcome}, {stands.done} of {stands.total} {stands.unit} updated"
            self._say(one.part, "", text + (f"; waiting: {wait.text}" if wait is not None else ""))
        if trouble:
            self._say("", "trouble", trouble)

    def _say(self, part: str, about: str, text: str) -> None:
        from fairlead.core.printable import on_one_line

        if self._said.get((part, about)) != text and not self._quiet:
            print(on_one_line(text), flush=True)
        self._said[part, about] = text
