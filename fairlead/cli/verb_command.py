"""What the commands of verbs have in common: the contract that has the rollout is found, and its row carried out.

Nothing is decided here. A contract without the verb answers what to do instead.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.flags.common import add_cluster, add_output
from fairlead.cli.question import says_yes
from fairlead.cli.verb_rows import Stop, absent, chosen, part_of, rows_of
from fairlead.contracts import CONTRACTS
from fairlead.core.alternatives import alternatives
from fairlead.core.printable import printable
from fairlead.core.verb import Verb

if TYPE_CHECKING:
    from fairlead.cli.connect import Cluster
    from fairlead.cli.views.verbs import VerbResult
    from fairlead.core.verb import VerbAnswer, VerbPlan, VerbRequest
    from fairlead.engine.verbs import Unfinished
    from kubeloop.objects.meta import Ref


GIVEN = "true"
"""The value of an option that takes none."""


def add_arguments(parser: argparse.ArgumentParser, verb: str, *, looks: bool = False) -> None:
    """The options that all verbs have and those of their rows; one that only looks has none about writing."""
    rows = [(name, table, row) for name, table, row in rows_of(verb) if isinstance(row, Verb)]
    nouns = alternatives([table.noun for _, table, _ in rows] or ["rollout"])
    parser.add_argument("name", metavar="NAME", help=f"name of the {nouns}")
    add_cluster(parser, all_namespaces=False)
    add_output(parser, "json", "yaml")
    parser.set_defaults(dry_run=False, reason="", yes=False)
    if not looks:
        parser.add_argument("--dry-run", action="store_true", help="print what would be written and write nothing")
        parser.add_argument("--reason", metavar="TEXT", default="", help="why, for the Event about it")
    for option in {option.flag: option for _, _, row in rows for option in row.options}.values():
        if option.metavar:
            parser.add_argument(option.flag, metavar=option.metavar, action="append", default=[], help=option.help)
        else:
            parser.add_argument(option.flag, action="store_const", const=[GIVEN], default=[], help=option.help)
    parser.epilog = " ".join(row.about for _, _, row in rows)


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="write without asking")


def run(arguments: argparse.Namespace, verb: str) -> int:
    from fairlead.cli.connect import fail, talk

    async def work(cluster: Cluster) -> int:
        try:
            return await carried_out(cluster, verb, arguments)
        except Stop as stop:
            return fail(stop.text, stop.code)

    return talk(arguments, work)


async def carried_out(cluster: Cluster, verb: str, arguments: argparse.Namespace) -> int:
    """The exit code of the verb, asked as the arguments say; raises Stop."""
    from fairlead.cli.main import UsageError
    from fairlead.cli.views.render import NAMELESS
    from fairlead.core.verb import VerbRequest

    chosen_by, slash, rest = arguments.name.rpartition("/")
    part = part_of(chosen_by)
    if chosen_by and not part:
        raise UsageError(f'no part "{chosen_by}": there are {", ".join(CONTRACTS)}')
    name = rest if slash else arguments.name
    noun = "" if chosen_by == part else chosen_by
    asked = VerbRequest(cluster.namespaces[0], "" if name == NAMELESS else name, _options(arguments, verb), noun)
    found, row = await chosen(cluster, verb, asked, part)
    known = {option.flag for option in row.options}
    if foreign := next((flag for flag in asked.options if flag not in known), ""):
        raise UsageError(f"{foreign} is no option of {found}")
    try:
        return await VerbRun(cluster, verb, found, asked, arguments).run(row)
    except NotThere:
        raise await absent(cluster, verb, asked, part) from None


def _options(arguments: argparse.Namespace, verb: str) -> dict[str, tuple[str, ...]]:
    from fairlead.cli.main import UsageError

    flags = {option.flag: option for _, _, row in rows_of(verb) if isinstance(row, Verb) for option in row.options}
    given = {flag: tuple(getattr(arguments, flag[2:].replace("-", "_"))) for flag in flags}
    for flag, values in given.items():
        if "" in values:
            raise UsageError(f"{flag} needs a value")
        if len(values) > 1 and not flags[flag].repeated:
            raise UsageError(f"{flag} is given more than once: choose one")
    return {flag: values for flag, values in given.items() if values}


class NotThere(Exception):
    """The contract has no such rollout."""


class VerbRun:
    """One verb asked of one rollout."""

    def __init__(
        self, cluster: Cluster, verb: str, part: str, asked: VerbRequest, arguments: argparse.Namespace
    ) -> None:
        self._cluster = cluster
        self._verb = verb
        self._part = part
        self._asked = asked
        self._arguments = arguments
        self._who = ""
        self._is_warned = False

    async def run(self, row: Verb) -> int:
        """The exit code; raises Stop."""
        from fairlead.core.verb import VerbPlan
        from fairlead.engine.verbs import Acted, Declined, Unfinished, act, decided
        from kubeloop import clock

        client, now = self._cluster.client, clock.now()
        if self._arguments.dry_run:
            found: VerbAnswer = await decided(client, row.decide, self._asked, now)
            return await self._rehearsed(found) if isinstance(found, VerbPlan) else self._told(found)
        try:
            done = await act(client, row.decide, self._asked, now, self._agreed)
        except Unfinished as unfinished:
            raise await self._unfinished(unfinished) from unfinished
        match done:
            case Acted(plan, written):
                event = await self._tell(plan, plan.about or tuple(write.ref for write in written))
                if not self._is_warned:
                    _warn(plan)
                self._print(await self._result(plan, event, done=True), plan.said)
                return exits.OK
            case Declined():
                raise Stop("nothing was changed: add --yes to write it without being asked")
        return self._told(done)

    def _told(self, found: VerbAnswer) -> int:
        """What needs no writing."""
        from fairlead.cli.commands.get import table
        from fairlead.cli.views.verbs import VerbResult, document_of, in_form, table_document
        from fairlead.core.verb import Nothing, Refused, VerbDocument, VerbTable

        match found:
            case Nothing(sentence):
                result = VerbResult(
                    verb=self._verb,
                    part=self._part,
                    namespace=self._asked.namespace,
                    rollout=self._asked.name,
                    said=sentence,
                )
                self._print(result, sentence)
            case Refused(sentence):
                raise Stop(sentence)
            case VerbTable():
                document = table_document(found, self._part, self._asked.namespace)
                form, width = self._arguments.output, shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
                print(in_form(document, form) if form else table([dict(row) for row in found.rows], width))
            case VerbDocument():
                form = self._arguments.output
                document = document_of(found, self._part, self._asked.namespace)
                shown = found.shown if isinstance(found.shown, str) else in_form(found.shown, "yaml")
                print(in_form(document, form) if form else shown)
            case _:
                raise NotThere
        return exits.OK

    async def _rehearsed(self, plan: VerbPlan) -> int:
        from fairlead.cli.views.verbs import patches

        event = await self._event(plan)
        if plan.before:
            print(printable(plan.before), file=sys.stderr)
        _warn(plan)
        self._print(await self._result(plan, event, done=False), patches(plan.writes))
        print(f"fairlead: nothing was written; an Event would say: {event}", file=sys.stderr)
        return exits.OK

    def _agreed(self, plan: VerbPlan) -> bool:
        """Whether it may be written; without a terminal nobody is asked."""
        if not plan.before or self._arguments.yes:
            return True
        print(printable(plan.before), file=sys.stderr)
        _warn(plan)
        self._is_warned = True
        return says_yes("Go on?", sys.stderr)

    async def _event(self, plan: VerbPlan) -> str:
        from fairlead.engine.verbs import event_text, who_asks

        self._who = await who_asks(self._cluster.client, self._cluster.user)
        return event_text(plan, self._verb, self._who, self._arguments.reason)

    async def _tell(self, plan: VerbPlan, subjects: tuple[Ref, ...]) -> str:
        from fairlead.engine.verbs import tell

        text = await self._event(plan)
        if not await tell(self._cluster.client, plan, subjects, text):
            told = f"no Event tells of it: see `kubectl auth can-i create events -n {self._asked.namespace}`"
            print(f"fairlead: {told}", file=sys.stderr)
        return text

    async def _result(self, plan: VerbPlan, event: str, *, done: bool) -> VerbResult:
        from fairlead.cli.views.verbs import VerbResult, written_as

        return VerbResult(
            verb=self._verb,
            part=self._part,
            namespace=self._asked.namespace,
            rollout=plan.rollout,
            dry_run=not done,
            changed=done,
            said=plan.said,
            by=self._who,
            reason=self._arguments.reason,
            event=event,
            writes=[written_as(write) for write in plan.writes],
            warnings=plan.warnings,
        )

    def _print(self, result: VerbResult, text: str) -> None:
        from fairlead.cli.views.verbs import in_form

        form = self._arguments.output
        print(in_form(result, form) if form else printable(text))

    async def _unfinished(self, found: Unfinished) -> Stop:
        """What was written and what was not; those who look at the objects are told as well."""
        from fairlead.cli.failures import sentence
        from fairlead.cli.views.render import NAMELESS

        plan, written = found.plan, found.written
        if not written:
            name = plan.rollout or NAMELESS
            again = f"{name} was changed by somebody else again and again: try again in a moment"
            return Stop(str(found.error) or again)
        await self._tell(plan, tuple(write.ref for write in written))
        done = {write.ref for write in written}
        left = ", ".join(write.ref.name for write in plan.writes if write.ref not in done)
        why = found.error if isinstance(found.error, str) else sentence(found.error)
        why = why or "somebody else changed them again and again"
        names = ", ".join(write.ref.name for write in written)
        helps = plan.unfinished or "run the same command again"
        missing = "not written, or not known to be" if found.is_interrupted else "not written"
        code = exits.INTERRUPTED if found.is_interrupted else exits.ERROR
        return Stop(f"{why}; written: {names}; {missing}: {left}; {helps}", code)


def _warn(plan: VerbPlan) -> None:
    for warning in plan.warnings:
        print(f"fairlead: {printable(warning)}", file=sys.stderr)
