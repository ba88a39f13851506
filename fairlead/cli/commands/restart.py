"""`fairlead restart NAME`: a rollout has its pods replaced, by the rules of a rollout."""

from __future__ import annotations

import argparse

from fairlead.cli import verb_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verb_command.add_arguments(parser, "restart")


def run(arguments: argparse.Namespace) -> int:
    return verb_command.run(arguments, "restart")
