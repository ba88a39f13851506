"""`fairlead abort NAME`: a rollout that was not promoted is taken back, and what serves stays."""

from __future__ import annotations

import argparse

from fairlead.cli import verb_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verb_command.add_arguments(parser, "abort")


def run(arguments: argparse.Namespace) -> int:
    return verb_command.run(arguments, "abort")
