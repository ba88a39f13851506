"""Whether a rule set loses nothing, tried with made-up objects before it is used (section 2.6)."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from random import Random

from fairlead.contracts.apiversions.decide.carry_differences import differences
from fairlead.contracts.apiversions.decide.convert import Kind, Refused, Version, convert
from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.trees import Tree, copied
from fairlead.contracts.apiversions.samples import sample

TRIES = 200
"""Objects of each side of a spoke."""


def problems(kind: Kind, tries: int = TRIES) -> Iterator[str]:
    """One sentence for each way between two versions that loses or fails; none where the rules may be used."""
    for spoke in kind.spokes.values():
        for first, other in ((spoke.version, kind.hub), (kind.hub, spoke.version)):
            if problem := next(_tried(kind, first, other, tries), ""):
                yield f"from {first.name} to {other.name} and back: {problem}"


def _tried(kind: Kind, first: Version, other: Version, tries: int) -> Iterator[str]:
    chance = Random(f"{kind.group} {kind.kind} {first.name} {other.name}")  # noqa: S311  (the same every time)
    for _ in range(tries):
        body = sample(first.schema, chance)
        tree = {"apiVersion": f"{kind.group}/{first.name}", "kind": kind.kind, "metadata": {"name": "sample"}, **body}
        try:
            back = convert(convert(copied(tree), other.name, kind).tree, first.name, kind).tree
        except Refused as error:
            yield str(error)
        except Exception as error:  # noqa: BLE001  (rules in Python may raise anything)
            yield f"{type(error).__name__} at line {traceback.extract_tb(error.__traceback__)[-1].lineno} of its rules"
        else:
            yield from _lost(body, {key: value for key, value in back.items() if key not in RESERVED}, first)


def _lost(body: Tree, back: Tree, version: Version) -> Iterator[str]:
    for entry in differences(version.name, body, back, version.shape):
        place = "/".join(each if isinstance(each, str) else "*" for each in entry.path)
        yield f"/{place} does not come back as it was"
