"""`fairlead promote NAME`: what is on its way takes over, without waiting any longer."""

from __future__ import annotations

import argparse

from fairlead.cli import verb_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verb_command.add_arguments(parser, "promote")


def run(arguments: argparse.Namespace) -> int:
    return verb_command.run(arguments, "promote")
