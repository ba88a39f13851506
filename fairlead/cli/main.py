"""`fairlead COMMAND …`: finds the command's module and runs it.

Only the module of the command asked for is imported, so that help and mistakes answer at once. A command module has
`add_arguments(parser)` and `run(arguments) -> exit code`.
"""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast, runtime_checkable

from fairlead.cli import exits
from fairlead.cli.first_process import heed_termination
from fairlead.cli.views.characters import fit

COMMANDS: tuple[tuple[str, str], ...] = (
    ("up", "start an embedded cluster with the operator and something to look at"),
    ("operator", "run the operator against a cluster"),
    ("get", "list rollouts and where they stand"),
    ("explain", "say where one rollout stands, what comes next and what it waits for"),
    ("watch", "follow rollouts live until they are complete"),
    ("status", "tell how one rollout stands until it is complete"),
    ("history", "list the revisions of a rollout, what changed with each and who runs it"),
    ("pause", "stop a rollout where it is"),
    ("resume", "let a paused rollout go on"),
    ("restart", "replace the pods of a rollout by its rules"),
    ("undo", "go back to an earlier revision of a rollout, shown before it is done"),
    ("retry", "try a rollout that failed again"),
    ("promote", "let the next generation of an environment take over, or open the next gate of a plan"),
    ("abort", "take back a rollout of an environment that was not promoted, or stop a plan"),
    ("manifests", "print the objects that install the operator"),
    ("crds", "print the CRDs of a part"),
    ("api", "change the versions of any CRD: convert, migrate, check, back up"),
    ("hash", "print the rollout hash of environments in files"),
    ("replay", "decide recorded rounds again and show what differs"),
    ("uninstall", "remove the operator from a namespace, webhooks first"),
    ("completion", "print a script that completes commands and options in a shell"),
    ("version", "print the version"),
    ("help", "explain a command, or `exit-codes`"),
)
SERVE = ("up", "operator")
"""Commands that run until they are ended, which a reader of their output does by leaving."""


class Command(Protocol):
    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int: ...


@runtime_checkable
class GroupedCommand(Protocol):
    """A command whose first arguments name one of its own."""

    def dispatch(self, words: list[str]) -> int: ...

    def help(self, words: list[str]) -> int: ...


class UsageError(Exception):
    """The command line is wrong; the message is one sentence that says what would be right."""


class Parser(argparse.ArgumentParser):
    """Raises a sentence where argparse would print its usage and end the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `{self.prog} --help` lists the options")

    def meant(self, word: str) -> str:
        """The option that a mistyped one is likely to be."""
        from difflib import get_close_matches

        name = word.partition("=")[0]
        known = list(self._option_string_actions) if name.startswith("-") else []
        close = get_close_matches(name, known, 1) or [each for each in known if each == f"-{name}"]
        return f" (did you mean {close[0]}?)" if close else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    heed_termination()
    try:
        _give_streams()
        for stream in (sys.stdout, sys.stderr):
            fit(stream)  # a terminal without these characters shows others, not a traceback
        try:
            return _dispatch(words)
        finally:
            sys.stdout.flush()  # a reader that has left is noticed here, and not when the interpreter ends
    except UsageError as error:
        return _failed(str(error), exits.USAGE)
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        _reader_left()
        where, problem = error.filename or "the output", (error.strerror or str(error)).lower()
        return _failed(f"{where} cannot be written ({problem}): make room, or write elsewhere", exits.ERROR)


def _failed(sentence: str, code: int) -> int:
    from fairlead.cli.patient_output import patient_errors

    with patient_errors(sys.stderr):
        print(f"fairlead: {sentence}", file=sys.stderr)
    return code


def _give_streams() -> None:
    """A process whose output was closed before it began writes to nobody, and hears nothing where its input was."""
    import os
    from pathlib import Path

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  for as long as it runs


def _dispatch(words: list[str]) -> int:
    name, *rest = words or ["--help"]
    match name:
        case "-h" | "--help":
            print(overview())
            return exits.OK
        case "help":
            return _help(rest)
        case "version" | "--version":
            return _version(rest)
        case _ if name.startswith("-"):
            raise UsageError(f"unknown option {name} before the command: write it after, as in `fairlead get {name}`")
        case _ if name not in dict(COMMANDS):
            raise UsageError(f'unknown command "{name}"{_meant(name)}; `fairlead --help` lists the commands')
    command = _command(name)
    if isinstance(command, GroupedCommand):
        return command.dispatch(rest)
    arguments = parsed(parser_of(name), rest)
    if name in SERVE:
        return command.run(arguments)
    from fairlead.cli.patient_output import patient_streams

    with patient_streams():
        return command.run(arguments)


def _command(name: str) -> Command:
    return cast("Command", import_module(f"fairlead.cli.commands.{name}"))


def parser_of(name: str) -> Parser:
    """The options and arguments of a command."""
    parser = Parser(prog=f"{program()} {name}", description=_sentence(dict(COMMANDS)[name]), allow_abbrev=False)
    _command(name).add_arguments(parser)
    return parser


def program() -> str:
    """What is typed to start it: kubectl finds a program by this name and calls it when somebody says `fairlead`."""
    name = sys.argv[0].replace("\\", "/").rpartition("/")[2]
    return "kubectl fairlead" if name.removesuffix(".exe") == "kubectl-fairlead" else "fairlead"


def parsed(parser: Parser, words: list[str]) -> argparse.Namespace:
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        kind = "option" if unknown[0].startswith("-") else "argument"
        parser.error(f"unknown {kind} {unknown[0]}{parser.meant(unknown[0])}")
    return arguments


def overview() -> str:
    """What `fairlead --help` prints."""
    lines, typed = [f"  {name:<11}{summary}" for name, summary in COMMANDS], program()
    return "\n".join(
        [
            f"usage: {typed} COMMAND [options]",
            "",
            "One Kubernetes operator for every rollout that must not go wrong.",
            "",
            "commands:",
            *lines,
            "",
            f"`{typed} COMMAND --help` lists the options of a command, `{typed} help exit-codes` the exit codes.",
        ]
    )


def _help(words: list[str]) -> int:
    match words:
        case []:
            print(overview())
        case ["exit-codes"]:
            print(f"Exit codes of fairlead:\n{exits.table()}")
        case ["version" | "help" as name]:
            print(f"usage: {program()} {name}\n\n{_sentence(dict(COMMANDS)[name])}")
        case [name, *rest] if name in dict(COMMANDS) and isinstance(_command(name), GroupedCommand):
            return cast("GroupedCommand", _command(name)).help(rest)
        case [name] if name in dict(COMMANDS):
            print(parser_of(name).format_help(), end="")
        case [name, *_]:
            raise UsageError(f'no help on "{name}"{_meant(name)}; `fairlead --help` lists the commands')
    return exits.OK


def _version(words: list[str]) -> int:
    if words in (["-h"], ["--help"]):
        return _help(["version"])
    if words:
        raise UsageError(f"unknown argument {words[0]}; `fairlead version` takes none")
    from fairlead import __version__

    print(f"fairlead {__version__}")
    return exits.OK


def _meant(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [command for command, _ in COMMANDS] + ["exit-codes"], 1)
    return f" (did you mean {close[0]}?)" if close else ""


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


def _reader_left() -> int:
    """Whoever read our output has seen enough; the interpreter must not complain when it flushes at exit."""
    from fairlead.cli.patient_output import unread

    unread(sys.stdout)
    return exits.OK


if __name__ == "__main__":
    sys.exit(main())
