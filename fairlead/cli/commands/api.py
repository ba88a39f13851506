"""`fairlead api …`: the commands about versions of CRDs, which their contract brings."""

from __future__ import annotations

import argparse

from fairlead.cli import command_group

GROUP = "api"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", choices=command_group.words_of(GROUP), help="`fairlead api --help` tells of each")


def run(arguments: argparse.Namespace) -> int:
    return dispatch([arguments.command])


def dispatch(words: list[str]) -> int:
    return command_group.dispatch(GROUP, words)


def help(words: list[str]) -> int:  # noqa: A001  as it is typed
    return command_group.help_on(GROUP, words)
