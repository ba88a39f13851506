"""`fairlead undo NAME`: a rollout goes back to what it was before."""

from __future__ import annotations

import argparse

from fairlead.cli import verb_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verb_command.add_arguments(parser, "undo")
    verb_command.add_yes(parser)


def run(arguments: argparse.Namespace) -> int:
    return verb_command.run(arguments, "undo")
