"""`fairlead history NAME`: the revisions that a rollout had, and what changed with each."""

from __future__ import annotations

import argparse

from fairlead.cli import verb_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verb_command.add_arguments(parser, "history", looks=True)


def run(arguments: argparse.Namespace) -> int:
    return verb_command.run(arguments, "history")
