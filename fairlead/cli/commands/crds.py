"""`fairlead crds`: prints the CRDs of a part, for `kubectl apply -f -`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from fairlead.cli import exits
from fairlead.contracts import contract, contracts
from fairlead.engine.contract import Contract


def add_part(parser: argparse.ArgumentParser, fits: Callable[[Contract], object]) -> None:
    """`--part`, one of the contracts that fit."""
    parts = tuple(each.name for each in contracts() if fits(each))
    parser.add_argument("--part", choices=parts, default=parts[0], help="the part (default %(default)s)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_part(parser, lambda each: each.kinds)
    parser.epilog = " ".join(filter(None, (each.about_kinds for each in contracts())))


def run(arguments: argparse.Namespace) -> int:
    from fairlead.engine.charts import written

    kinds = contract(arguments.part).kinds
    print(written(kinds.get()() if kinds is not None else ()), end="")
    return exits.OK
