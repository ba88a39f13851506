"""`fairlead watch [NAME]`: follows rollouts until they are complete or were given up."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.commands.explain import NAME_HELP
from fairlead.cli.flags.common import add_cluster

if TYPE_CHECKING:
    from fairlead.cli.connect import Cluster
    from fairlead.cli.views.screens import Screen
    from fairlead.core.explain import Explain

TICK = 1.0
"""Seconds after which the same is shown again, because the times in it have moved on."""


@dataclass(frozen=True)
class WatchScope:
    """What is watched and what ends it."""

    name: str | None = None
    forever: bool = False
    exit_when_blocked: bool = False
    once: bool = False
    """Whether one look is enough."""
    single: bool = False
    """Whether the name must be that of one rollout."""


@dataclass(frozen=True)
class WatchEnd:
    code: int
    text: str = ""
    """For standard error; empty when there is nothing to say."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help=f"{NAME_HELP}; default all")
    add_cluster(parser)
    parser.add_argument(
        "--timeout", metavar="DURATION", default="", help="leave after this time, such as 90s or 1h30m, with code 4"
    )
    parser.add_argument(
        "--exit-when-blocked",
        action="store_true",
        help="leave as soon as a rollout does not go on by itself, with a code that tells why",
    )
    parser.add_argument("--forever", action="store_true", help="go on when all rollouts are complete or were given up")
    parser.add_argument("--no-color", action="store_true", help="show no colours; so does the variable NO_COLOR")


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.connect import fail, talk
    from fairlead.cli.views.screens import screen

    try:
        seconds = duration(arguments.timeout)
    except ValueError as error:
        return fail(f"--timeout: {error}", exits.USAGE)
    wanted = WatchScope(arguments.name, arguments.forever, arguments.exit_when_blocked)

    async def work(cluster: Cluster) -> int:
        with screen(color=not arguments.no_color) as shown:
            end = await within(seconds, cluster, wanted, shown)
        return fail(end.text, end.code) if end.text else end.code

    return talk(arguments, work)


def duration(text: str) -> float | None:
    """Seconds; None when nothing is given. Raises ValueError."""
    from kubeloop.durations import parse_go

    if not text:
        return None
    seconds = parse_go(text)
    if seconds <= 0:
        raise ValueError(f"{text} is not longer than 0")
    return seconds


async def within(seconds: float | None, cluster: Cluster, wanted: WatchScope, screen: Screen) -> WatchEnd:
    """Follows for so many seconds at most."""
    import asyncio

    last = _Last(screen)
    try:
        async with asyncio.timeout(seconds) as limit:
            return await follow(cluster, wanted, last)
    except TimeoutError:
        if not limit.expired():
            raise
        from fairlead.cli.selection import worst_of
        from kubeloop.durations import format_go

        stopped = worst_of(last.seen)
        code = exits.BLOCKED if stopped is None else exits.of_outcome(stopped.outcome)
        return WatchEnd(code, f"not complete after {format_go(seconds or 0)}")


class _Last:
    """A screen that keeps what it showed last."""

    def __init__(self, screen: Screen) -> None:
        self.seen: Sequence[Explain] = ()
        self._screen = screen

    def show(self, seen: Sequence[Explain], now: datetime, trouble: str) -> None:
        self.seen = seen
        self._screen.show(seen, now, trouble)


async def follow(cluster: Cluster, wanted: WatchScope, screen: Screen) -> WatchEnd:
    """Shows every change until something ends it."""
    from fairlead.cli.documents_of import Documents, looks
    from fairlead.cli.live_documents import LiveScopes
    from fairlead.cli.operator_reports import Reports
    from fairlead.cli.patient_output import nobody_reads
    from fairlead.cli.selection import named, several
    from kubeloop import clock

    live = LiveScopes(cluster.client, cluster.namespaces)
    async with live.running():
        documents = Documents(cluster.client, live.scopes, Reports(cluster.client, cluster.namespaces), looks())
        known = False
        while True:
            seen = await documents.look()
            chosen = seen if wanted.name is None else named(seen, wanted.name)
            if not chosen and not (wanted.forever and wanted.name is None):
                return WatchEnd(exits.NOT_FOUND, _gone(wanted) if known else await _unknown(wanted, seen, cluster))
            known = True
            if wanted.single and len(chosen) > 1:
                return WatchEnd(exits.USAGE, several(chosen, wanted.name or ""))
            screen.show(chosen, clock.now(), live.trouble)
            end = ending(chosen, wanted) or (WatchEnd(exits.OK) if wanted.once else None)
            if end is not None:
                return end
            if nobody_reads():
                return WatchEnd(exits.INTERRUPTED)
            await live.next(TICK)


def ending(seen: Sequence[Explain], wanted: WatchScope) -> WatchEnd | None:
    """Whether what is seen ends the watch, and how."""
    from fairlead.cli.selection import is_over, worst_of

    stopped = worst_of(seen)
    if wanted.exit_when_blocked and stopped is not None:
        return _stopped(stopped)
    if wanted.forever or not all(map(is_over, seen)):
        return None
    return WatchEnd(exits.OK) if stopped is None else _stopped(stopped)


def _stopped(one: Explain) -> WatchEnd:
    from fairlead.cli.selection import phase_word
    from fairlead.cli.views.render import name_of
    from fairlead.cli.views.severity import waits_of

    said = f"{name_of(one)} is {phase_word(one)}"
    why = waits_of(one)[0].text if one.blocked_by else said
    is_told = why.startswith((said, f"{name_of(one)} "))
    return WatchEnd(exits.of_outcome(one.outcome), why if is_told else f"{said}: {why}")


async def _unknown(wanted: WatchScope, seen: Sequence[Explain], cluster: Cluster) -> str:
    from fairlead.cli.elsewhere import missing_namespace, why_not_found
    from fairlead.cli.selection import none_at_all, none_named

    client, namespaces = cluster.client, cluster.namespaces
    if wanted.name is None:
        return await missing_namespace(client, namespaces) or none_at_all(namespaces)
    return await why_not_found(client, wanted.name, namespaces, one=wanted.single) or none_named(
        wanted.name, seen, namespaces
    )


def _gone(wanted: WatchScope) -> str:
    from fairlead.cli.selection import gone

    return gone(wanted.name or "everything that was watched")
