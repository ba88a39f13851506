"""`fairlead hash -f FILE`: the hashes by which contracts know rollouts, before objects are applied."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.flags.common import add_output

if TYPE_CHECKING:
    from fairlead.engine.hashes import Hashed, Hashes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = hashes()
    kinds = " and ".join(each.kind for each in known)
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        required=True,
        help=f"YAML or JSON with {kinds} objects, in any version; - for standard input; may be repeated",
    )
    add_output(parser, "json")
    told = "; of others ".join(each.about for each in known)
    parser.epilog = f"Prints namespace/name and {told}. Other kinds in the files are passed over."


def hashes() -> list[Hashes]:
    """Of all contracts whose objects have one."""
    from fairlead.contracts import contracts

    return [contract.hashes.get() for contract in contracts() if contract.hashes is not None]


def run(arguments: argparse.Namespace) -> int:
    import msgspec

    found, wrong = hashes_in(dict.fromkeys(arguments.filename))
    if arguments.output == "json":
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        for each in found:
            print(f"{each.place}  {each.hash}")
    for sentence in wrong:
        print(f"fairlead: {sentence}", file=sys.stderr)
    return exits.ERROR if wrong else exits.OK


def hashes_in(names: Iterable[str]) -> tuple[list[Hashed], list[str]]:
    """What the files hold, and a sentence for each thing that is wrong with them."""
    from fairlead.engine.object_files import UnreadableFile, objects_in, shown

    known = hashes()
    found: list[Hashed] = []
    wrong: list[str] = []
    for name in names:
        try:
            trees = objects_in(name)
        except UnreadableFile as error:
            wrong.append(str(error))
            continue
        if not any(each.is_one(tree) for tree in trees for each in known):
            kinds = " and no ".join(f"{each.kind} of {each.group}" for each in known)
            wrong.append(f"{shown(name)} holds no {kinds}: name a file that does")
        for each in known:
            hashed, sentences = _hashed(trees, each)
            found += hashed
            wrong += (f"{shown(name)}, {sentence}" for sentence in sentences)
    return found, wrong


def _hashed(trees: Iterable[object], of: Hashes) -> tuple[list[Hashed], list[str]]:
    """The hashes of such objects; and what is wrong with one, by its number among them."""
    found: list[Hashed] = []
    wrong: list[str] = []
    for number, tree in enumerate(filter(of.is_one, trees), 1):
        outcome = of.hashed(tree)
        if isinstance(outcome, str):
            wrong.append(f"{of.kind} {number}: {outcome}")
        else:
            found.append(outcome)
    return found, wrong
