"""`fairlead replay FILE…`: decides recorded rounds again with this release, and shows what differs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.flags.common import add_output
from fairlead.core.printable import on_one_line

if TYPE_CHECKING:
    from fairlead.core.replay import Decider, Replayed

LONGEST = 100
"""Characters shown of a value that differs."""
_INSTEAD = "name a file or folder that `fairlead operator --record` keeps"
MOST_SENTENCES = 10
"""Lines that are told of one by one which cannot be decided again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="recorded rounds, or a folder that `fairlead operator --record` keeps; - for standard input",
    )
    parser.add_argument("--rule", metavar="NAME", default="", help="only rounds that this rule decided, then or now")
    add_output(parser, "json")
    parser.epilog = (
        "Shows the rounds that this release decides otherwise than the one that recorded them; with --rule also those "
        "that it decides alike. The code is 0 when all decisions are equal and 4 when one differs. A round that needs "
        "the content of a secret cannot be decided again: records hold none."
    )


def run(arguments: argparse.Namespace) -> int:
    from fairlead.contracts import deciders

    known, rounds, wrong = deciders(), list["Replayed"](), list[str]()
    try:
        for file, lines in _files(arguments.files):
            decided, sentences = _replayed(file, lines, known)
            rounds += decided
            wrong += sentences
    except OSError as error:
        where = error.filename or "standard input"
        print(f"fairlead: {where} cannot be read ({error.strerror}): correct the path", file=sys.stderr)
        return exits.ERROR
    shown = [each for each in rounds if not arguments.rule or each.is_by(arguments.rule)]
    if arguments.output == "json":
        _print_json(shown)
    elif shown:
        _print_text(shown, all_of_them=bool(arguments.rule))
    for sentence in wrong[:MOST_SENTENCES]:
        print(f"fairlead: {on_one_line(sentence)}", file=sys.stderr)
    if (more := len(wrong) - MOST_SENTENCES) > 0:
        print(f"fairlead: {more} more lines cannot be decided again", file=sys.stderr)
    if not rounds and not wrong:
        print(f"fairlead: there are no recorded rounds in it: {_INSTEAD}", file=sys.stderr)
        return exits.ERROR
    if rounds and not shown:
        rules = ", ".join(sorted({outline.rule for each in rounds for outline in (each.then, each.now) if outline}))
        told = f'no round was decided by the rule "{arguments.rule}": there are {rules}'
        print(f"fairlead: {on_one_line(told)}", file=sys.stderr)
        return exits.NOT_FOUND
    if any(each.changes for each in shown):
        return exits.BLOCKED
    return exits.ERROR if wrong else exits.OK


def _replayed(
    file: str, lines: Iterable[tuple[int, bytes]], known: Mapping[str, Decider]
) -> tuple[list[Replayed], list[str]]:
    """The rounds of a file and a sentence about each other line; one for all where the file is of somebody else."""
    from fairlead.core.replay import NoRound, replayed
    from fairlead.core.written import Unwritten

    rounds: list[Replayed] = []
    wrong: list[tuple[int, Unwritten]] = []
    for number, line in lines:
        try:
            rounds.append(replayed(line, known))
        except Unwritten as error:
            wrong.append((number, error))
    if wrong and not rounds and all(isinstance(error, NoRound) for _, error in wrong):
        number, first = wrong[0]
        return [], [f"{file} has no recorded rounds (line {number}: {first.__cause__}): {_INSTEAD}"]
    return rounds, [f"line {number} of {file}: {error}" for number, error in wrong]


def _files(names: list[str]) -> Iterator[tuple[str, Iterator[tuple[int, bytes]]]]:
    """Every file with those of its lines that are not empty, and their numbers; raises OSError."""
    from fairlead.engine.recording import files_in

    for name in names:
        path = Path(name)
        for file in files_in(path) if path.is_dir() else [path]:
            with nullcontext(sys.stdin.buffer) if name == "-" else file.open("rb") as lines:
                yield str(file), ((number, line) for number, line in enumerate(lines, 1) if line.strip())


def _print_text(rounds: list[Replayed], *, all_of_them: bool) -> None:
    for each in rounds:
        if each.changes or each.problem or all_of_them:
            when = f"{each.at:%Y-%m-%dT%H:%M:%SZ}"
            lines = [f"{when}  {each.controller} {each.key}  round {each.round} of {each.release}"]
            lines += [f"  then  {each.then}", f"  now   {each.now or each.problem}"]
            lines += [f"    {change.path}: {_cut(change.then)} -> {_cut(change.now)}" for change in each.changes]
            print("\n".join(map(on_one_line, lines)))
    differ, undecided = sum(bool(each.changes) for each in rounds), sum(each.now is None for each in rounds)
    told = f"{len(rounds)} round{'s' * (len(rounds) != 1)}, {differ} decided otherwise"
    print(told + (f", {undecided} cannot be decided again" if undecided else ""))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _print_json(rounds: list[Replayed]) -> None:
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(rounds), indent=2).decode())
