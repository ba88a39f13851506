"""`fairlead crds`: prints the kinds that a part brings, for `kubectl apply -f -`."""

from __future__ import annotations

import argparse

from fairlead.cli import exits

PARTS = ("zones",)


def add_part(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--part", choices=PARTS, default="zones", help="the part (default %(default)s)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_part(parser)


def run(arguments: argparse.Namespace) -> int:
    from fairlead.manifests.files import custom_resources, written

    print(written(custom_resources(arguments.part)), end="")
    return exits.OK
