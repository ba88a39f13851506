"""Commands that contracts bring of their own: found in the registry by their group, parsed, connected and run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, cast

from fairlead.cli import exits
from fairlead.cli.flags.common import add_cluster
from fairlead.contracts import contracts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairlead.cli.connect import Cluster
    from fairlead.cli.main import Parser
    from fairlead.engine.command import CommandGroup, Invocation, Subcommand
    from fairlead.engine.contract import Room
    from fairlead.engine.hashes import Hashes
    from kubeloop.client import Client


def group_of(name: str) -> CommandGroup:
    """The group of this name; each has one contract that brings it."""
    return next(cast("CommandGroup", each.commands[name].get()) for each in contracts() if name in each.commands)


def parser_of(group: str, name: str) -> tuple[Parser, Subcommand]:
    """The options of one of its commands, those about the cluster among them, and the command."""
    from fairlead.cli.main import Parser, program

    listed = group_of(group).commands[name]
    command = listed.command.get()
    summary = f"{listed.summary[0].upper()}{listed.summary[1:]}."
    parser = Parser(prog=f"{program()} {group} {name}", description=summary, allow_abbrev=False)
    command.add_arguments(parser)
    about = "only objects of this namespace, where the command allows that; may be repeated"
    add_cluster(parser, several_namespaces=True, all_namespaces=False, about=about)
    return parser, command


def dispatch(group: str, words: list[str]) -> int:
    """Runs the command that the words begin with; the exit code."""
    from fairlead.cli.connect import fail
    from fairlead.cli.main import UsageError, parsed
    from fairlead.cli.patient_output import patient_errors
    from fairlead.engine.command import Precondition, Usage

    if not words or words[0] in ("-h", "--help"):
        print(overview(group))
        return exits.OK
    name, rest = _named(group, words)
    parser, command = parser_of(group, name)
    arguments = parsed(parser, rest)
    with patient_errors(sys.stderr):
        try:
            return _run(command, arguments)
        except Usage as error:
            raise UsageError(f"{error}; `{parser.prog} --help` lists the options") from None
        except Precondition as error:
            return fail(str(error), group_of(group).precondition)


async def run_within(group: str, words: list[str], client: Client) -> int:
    """The same within a process that has a cluster of its own; errors are told as anywhere."""
    from fairlead.cli.connect import fail
    from fairlead.cli.failures import sentence
    from fairlead.cli.main import UsageError, parsed
    from fairlead.engine.command import Invocation, Precondition, Usage
    from kubeloop.errors import KubeError

    try:
        name, rest = _named(group, words)
        parser, command = parser_of(group, name)
        return await _awaited(command, Invocation(arguments=parsed(parser, rest), connected=client, hashes=_hashes()))
    except (Usage, UsageError) as error:
        return fail(str(error), exits.USAGE)
    except Precondition as error:
        return fail(str(error), group_of(group).precondition)
    except KubeError as error:
        return fail(sentence(error))


def help_on(group: str, words: list[str]) -> int:
    """What `fairlead help GROUP …` prints."""
    if not words:
        print(overview(group))
    else:
        print(parser_of(group, _named(group, words)[0])[0].format_help(), end="")
    return exits.OK


def overview(group: str) -> str:
    from fairlead.cli.main import program

    found, typed = group_of(group), f"{program()} {group}"
    width = max(map(len, found.commands)) + 2
    return "\n".join(
        [
            f"usage: {typed} COMMAND [options]",
            "",
            "commands:",
            *(f"  {name:<{width}}{listed.summary}" for name, listed in found.commands.items()),
            "",
            "exit codes:",
            *(f"  {code:<{width}}{meaning}" for code, meaning in found.codes),
            "",
            f"`{typed} COMMAND --help` lists the options of a command.",
        ]
    )


def words_of(group: str) -> tuple[str, ...]:
    """The first words of its commands."""
    return tuple(dict.fromkeys(name.partition(" ")[0] for name in group_of(group).commands))


def _named(group: str, words: list[str]) -> tuple[str, list[str]]:
    from fairlead.cli.main import UsageError, program

    known = group_of(group).commands
    for count in (2, 1):
        if (name := " ".join(words[:count])) in known and len(words) >= count:
            return name, words[count:]
    typed = f"{program()} {group}"
    if following := [name for name in known if name.startswith(f"{words[0]} ")]:
        raise UsageError(f"say which: {', '.join(f'`{typed} {name}`' for name in following)}")
    raise UsageError(f'unknown command "{words[0]}"{_meant(words[0], known)}; `{typed} --help` lists the commands')


def _meant(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), 1)
    return f" (did you mean {close[0]}?)" if close else ""


def _hashes() -> tuple[Room[Hashes], ...]:
    return tuple(each.hashes for each in contracts() if each.hashes is not None)


def _run(command: Subcommand, arguments: argparse.Namespace) -> int:
    from fairlead.cli import termination
    from fairlead.engine.command import Invocation

    if not command.needs_cluster(arguments):
        return termination.run(_awaited(command, Invocation(arguments=arguments)))
    from fairlead.cli.connect import config_of, talk

    async def work(cluster: Cluster) -> int:
        server = config_of(arguments).server
        given = tuple(dict.fromkeys(arguments.namespace))
        invocation = Invocation(
            hashes=_hashes(),
            arguments=arguments,
            connected=cluster.client,
            namespaces=given,
            user=cluster.user,
            server=server,
        )
        return await _awaited(command, invocation)

    return talk(arguments, work)


async def _awaited(command: Subcommand, invocation: Invocation) -> int:
    from fairlead.cli.patient_output import patient

    with patient(sys.stdout):
        try:
            return await command.run(invocation)
        finally:
            sys.stdout.flush()
