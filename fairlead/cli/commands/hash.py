"""`fairlead hash -f FILE`: the rollout hash of environments, before they are applied.

With it `forcePromote` can be written into the very manifest that starts the rollout.
"""

from __future__ import annotations

import argparse
import sys

from fairlead.cli import exits
from fairlead.cli.flags.common import add_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        required=True,
        help="YAML or JSON with Materialize objects, in any version; - for standard input; may be repeated",
    )
    add_output(parser, "json")
    parser.epilog = (
        "Prints namespace/name and the hash that the operator will write as status.requestedRolloutHash; set "
        "spec.forcePromote to it to promote that rollout without waiting. Other kinds in the files are passed over."
    )


def run(arguments: argparse.Namespace) -> int:
    import msgspec

    from fairlead.contracts.environments.hashes import hashes_in

    found, wrong = hashes_in(dict.fromkeys(arguments.filename))
    if arguments.output == "json":
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        for each in found:
            print(f"{each.place}  {each.hash}")
    for sentence in wrong:
        print(f"fairlead: {sentence}", file=sys.stderr)
    return exits.ERROR if wrong else exits.OK
