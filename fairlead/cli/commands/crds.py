"""`fairlead crds`: prints the CRDs of a part, for `kubectl apply -f -`."""

from __future__ import annotations

import argparse

from fairlead.cli import exits

PARTS = ("zones",)
WITH_KINDS = (*PARTS, "environments")


def add_part(parser: argparse.ArgumentParser, parts: tuple[str, ...] = PARTS) -> None:
    parser.add_argument("--part", choices=parts, default="zones", help="the part (default %(default)s)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_part(parser, WITH_KINDS)
    parser.epilog = (
        "The kinds of environments come without `conversion`, which holds the address of the running operator and the "
        "authority of its certificate: the operator adds it when it starts, and brings the kinds if they are missing. "
        "Until then use one version only."
    )


def run(arguments: argparse.Namespace) -> int:
    from fairlead.engine.charts import custom_resources, written

    if arguments.part == "environments":
        from fairlead.contracts.environments.install.definitions import definitions

        print(written(definitions()), end="")
    else:
        print(written(custom_resources(arguments.part)), end="")
    return exits.OK
