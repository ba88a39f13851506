"""Whether an object comes back as it was from every version (section 3.2)."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.carry_differences import differences
from fairlead.contracts.apiversions.decide.convert import ConversionRefused, KindConversion, KindVersion, convert
from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.shapes import PLAIN
from fairlead.contracts.apiversions.decide.trees import Absent, Tree, copied, same

LONGEST_SHOWN = 60
"""Characters of a value in a difference."""


class RoundTripDifference(Struct, frozen=True):
    place: str
    before: str
    after: str
    """Both as JSON; `-` where there is nothing."""

    def __str__(self) -> str:
        return f"{self.place}: {self.before} came back as {self.after}"


class RoundTripFailure(Struct, frozen=True, rename="camel"):
    """An object that does not survive a way."""

    first: str
    other: str
    what: str
    """Namespace and name."""
    problem: str = ""
    """Why it could not be converted at all."""
    differences: tuple[RoundTripDifference, ...] = ()


def pairs(kind: KindConversion) -> list[tuple[str, str]]:
    """Every ordered pair of versions."""
    return [*permutations(kind.versions, 2)]


def failures(tree: Tree, kind: KindConversion) -> Iterator[RoundTripFailure]:
    """Of an object in any version: each way from a version to another one and back that it does not survive."""
    what = name_of(tree)
    own = str(tree.get("apiVersion")).removeprefix(f"{kind.group}/")
    if own not in kind.versions:
        yield RoundTripFailure(own, "", what, f"the rules do not know {own}: they know {', '.join(kind.versions)}")
        return
    seen = {own: tree}
    for first, other in pairs(kind):
        try:
            if first not in seen:
                seen[first] = convert(copied(tree), first, kind).tree
            back = convert(convert(copied(seen[first]), other, kind).tree, first, kind).tree
        except ConversionRefused as error:
            yield RoundTripFailure(first, other, what, str(error))
        except Exception as error:  # noqa: BLE001  (rules in Python may raise anything)
            yield RoundTripFailure(first, other, what, raised(error))
        else:
            if found := tuple(_between(seen[first], back, _version(kind, first))):
                yield RoundTripFailure(first, other, what, differences=found)


def raised(error: Exception) -> str:
    """What code raised, without values."""
    return f"{type(error).__name__} at line {traceback.extract_tb(error.__traceback__)[-1].lineno} of its rules"


def name_of(tree: Tree) -> str:
    metadata = tree.get("metadata")
    held = metadata if isinstance(metadata, dict) else {}
    return "/".join(str(held[each]) for each in ("namespace", "name") if held.get(each))


def _version(kind: KindConversion, name: str) -> KindVersion:
    return kind.hub if name == kind.hub.name else kind.spokes[name].version


def _between(tree: Tree, back: Tree, version: KindVersion) -> Iterator[RoundTripDifference]:
    one, other = ({key: value for key, value in each.items() if key not in RESERVED} for each in (tree, back))
    for entry in differences(version.name, one, other, version.shape):
        yield RoundTripDifference(entry.place, _shown(entry.wanted), _shown(entry.guard))
    before, after = (_metadata(each) for each in (tree, back))
    if not same(before, after):
        for entry in differences(version.name, before, after, PLAIN):
            yield RoundTripDifference(f"/metadata{entry.place}", _shown(entry.wanted), _shown(entry.guard))


def _metadata(tree: Tree) -> Tree:
    """No annotations and an empty map of them are the same to the API server."""
    found = tree.get("metadata")
    return {key: value for key, value in (found or {}).items() if key != "annotations" or value}


def _shown(value: Any) -> str:
    if value is Absent:
        return "-"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
