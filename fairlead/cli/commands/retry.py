"""`fairlead retry NAME`: a rollout is tried again."""

from __future__ import annotations

import argparse

from fairlead.cli import verb_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verb_command.add_arguments(parser, "retry")


def run(arguments: argparse.Namespace) -> int:
    return verb_command.run(arguments, "retry")
