"""Records what the real API server says to cases whose answers are kept in files of their own, and tells what changed.

    python -m tools.answers [NAME...]

Starts the pinned control plane, plays the cases of each name on it, prints how the answers differ
from those that are committed, and writes them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane
from tests.e2e import answers
from tests.e2e.clusters import Site, played
from tests.e2e.history import Tree
from tests.kubesim import expressions
from tools import keeping

Ask = Callable[[Site], Awaitable[Tree]]


class Recording(Struct, frozen=True):
    """Where answers are kept, and how they are found out."""

    path: Path
    ask: Ask


RECORDINGS = {
    "admission": Recording(answers.FOLDER / "admission_answers.json", answers.admission),
    "definitions": Recording(answers.FOLDER / "definition_answers.json", answers.definitions),
    "expressions": Recording(expressions.PATH, answers.expression_answers),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Answers with 1 when there is no control plane to record."""
    parser = argparse.ArgumentParser(prog="python -m tools.answers", description=__doc__.partition("\n")[0])
    names = sorted(RECORDINGS)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *names], help=", ".join(names))
    wanted = parser.parse_args(arguments).names or names
    try:
        with Plane(controllers=False) as plane:
            found = {name: asyncio.run(asked(plane, name)) for name in wanted}
    except Unavailable as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    for name in wanted:
        for line in saved(RECORDINGS[name].path, found[name]):
            sys.stdout.write(f"{line}\n")
    return 0


async def asked(plane: Plane, name: str) -> Tree:
    """The answers of a control plane."""
    found: Tree = {}

    async def scenario(site: Site) -> None:
        found.update(await RECORDINGS[name].ask(site))

    await played(plane, f"answers-{name}", scenario)
    return found


def printed(value: object, indent: int = 0) -> str:
    """JSON in which every case has lines of its own; a list of nothing but words and numbers is one line."""
    pad, end = " " * (indent + 1), " " * indent
    if isinstance(value, dict) and value:
        fields = (f"{pad}{_plain(key)}: {printed(each, indent + 1)}" for key, each in value.items())
        return "{\n" + ",\n".join(fields) + f"\n{end}}}"
    if isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        return "[\n" + ",\n".join(f"{pad}{printed(each, indent + 1)}" for each in value) + f"\n{end}]"
    return _plain(value)


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def saved(path: Path, found: Tree) -> Iterable[str]:
    """Writes the answers, and tells how they differ from those that were there."""
    return keeping.saved(path, printed(found) + "\n")


if __name__ == "__main__":
    sys.exit(main())
