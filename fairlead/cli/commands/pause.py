"""`fairlead pause NAME`: a rollout stops where it is until it is resumed."""

from __future__ import annotations

import argparse

from fairlead.cli import verb_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verb_command.add_arguments(parser, "pause")


def run(arguments: argparse.Namespace) -> int:
    return verb_command.run(arguments, "pause")
