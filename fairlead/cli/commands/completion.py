"""`fairlead completion SHELL`: a script with which a shell completes commands, options and their values.

It is made from the parsers of the commands, so it knows exactly what they take. Names of objects are not completed: a
key that is pressed by mistake must not wait for a cluster.
"""

from __future__ import annotations

import argparse

from msgspec import Struct

from fairlead.cli import completion_scripts, exits

SCRIPTS = {
    "bash": completion_scripts.bash,
    "zsh": completion_scripts.zsh,
    "fish": completion_scripts.fish,
}
FILES, FOLDERS = ("FILE", "PATH"), ("DIR",)
WITHOUT_OPTIONS = ("version", "help")


class Option(Struct, frozen=True):
    names: tuple[str, ...]
    help: str
    takes: str = ""
    """What follows it: `value`, `file`, `folder`, or nothing."""
    values: tuple[str, ...] = ()
    """All that may follow, where that is known."""


class CompletedCommand(Struct, frozen=True):
    name: str
    help: str
    options: tuple[Option, ...] = ()
    words: tuple[str, ...] = ()
    """All that may stand there without an option."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="source what is printed, as docs/cli.md shows")


def run(arguments: argparse.Namespace) -> int:
    print(SCRIPTS[arguments.shell](commands()), end="")
    return exits.OK


def commands() -> tuple[CompletedCommand, ...]:
    """What can be typed after `fairlead`."""
    from fairlead.cli.main import COMMANDS, parser_of

    found = []
    for name, summary in COMMANDS:
        if name in WITHOUT_OPTIONS:
            others = (*(other for other, _ in COMMANDS), "exit-codes") if name == "help" else ()
            found.append(CompletedCommand(name, summary, words=others))
        else:
            actions = parser_of(name)._actions  # noqa: SLF001  argparse shows them nowhere else
            options = tuple(_option(action) for action in actions if action.option_strings)
            words = tuple(str(word) for action in actions if not action.option_strings for word in action.choices or ())
            found.append(CompletedCommand(name, summary, options, words))
    return tuple(found)


def _option(action: argparse.Action) -> Option:
    takes = ""
    if action.nargs != 0:
        metavar = action.metavar
        takes = "file" if metavar in FILES else "folder" if metavar in FOLDERS else "value"
    values = tuple(str(value) for value in action.choices or ())
    # argparse writes a percent sign twice.
    return Option(tuple(action.option_strings), (action.help or "").replace("%%", "%"), takes, values)
