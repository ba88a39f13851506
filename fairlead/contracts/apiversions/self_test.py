"""Whether a rule set loses nothing, tried with made-up objects before it is used (section 2.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from time import monotonic

from fairlead.contracts.apiversions.decide.carry_differences import differences
from fairlead.contracts.apiversions.decide.convert import ConversionRefused, KindConversion, KindVersion, convert
from fairlead.contracts.apiversions.decide.mistyped import mistyped, typed_part
from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.round_trip import raised
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet
from fairlead.contracts.apiversions.decide.trees import Tree, copied
from fairlead.contracts.apiversions.samples import sample

TRIES = 200
"""Objects of each side of a spoke."""
FEWEST = 20
"""Objects that are tried however long they take."""
MOST_SECONDS = 5.0
"""For all of them; after its share of this a way has been tried enough."""


def problems(
    kind: KindConversion, tries: int = TRIES, seconds: float = MOST_SECONDS, clock: Callable[[], float] = monotonic
) -> Iterator[str]:
    """One sentence for each way between two versions that loses or fails; none where the rules may be used."""
    ways, started = _ways(kind), clock()
    for index, (first, other) in enumerate(ways, start=1):
        until = started + seconds * index / len(ways)
        if problem := next(_tried(kind, first, other, _until(tries, until, clock)), ""):
            yield f"from {first.name} to {other.name} and back: {problem}"


def problems_of(rules: RuleSet, kind: KindConversion) -> Iterator[str]:
    """None of a set that comes with this release: its own tests have tried it, and what it derives from an object does
    not come back as it was made up."""
    return iter(()) if rules.built_in else problems(kind)


def mistaken(
    kind: KindConversion, tries: int = TRIES, seconds: float = MOST_SECONDS, clock: Callable[[], float] = monotonic
) -> Iterator[str]:
    """One sentence for each place where a way leaves a value of another type than the version has there.

    Such rules lose nothing, so a set that is in force stays so; but nobody could write what they make.
    """
    ways, started = _ways(kind), clock()
    for index, (first, other) in enumerate(ways, start=1):
        until = started + seconds * index / len(ways)
        found = _mistyped(kind, first, other, _until(tries, until, clock))
        for place, types in dict(found).items():
            yield f"from {first.name} to {other.name}: {place} is not of the type it has there, {' or '.join(types)}"


def _ways(kind: KindConversion) -> list[tuple[KindVersion, KindVersion]]:
    return [way for spoke in kind.spokes.values() for way in ((spoke.version, kind.hub), (kind.hub, spoke.version))]


def _mistyped(
    kind: KindConversion, first: KindVersion, other: KindVersion, counts: Iterator[int]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    chance = chance_of(kind, first, other)
    for _ in counts:
        tree = typed_part(made_up(kind, first, chance), first.schema)
        with suppress(Exception):  # what rules raise, or refuse, is told by `problems`
            yield from mistyped(convert(tree, other.name, kind).tree, other.schema)


def made_up(kind: KindConversion, version: KindVersion, chance: Random) -> Tree:
    """A whole object of this version."""
    head = {"apiVersion": f"{kind.group}/{version.name}", "kind": kind.kind, "metadata": {"name": "sample"}}
    return {**head, **sample(version.schema, chance)}


def chance_of(kind: KindConversion, first: KindVersion, other: KindVersion) -> Random:
    """The same every time."""
    return Random(f"{kind.group} {kind.kind} {first.name} {other.name}")  # noqa: S311  (no secret)


def _until(tries: int, until: float, clock: Callable[[], float]) -> Iterator[int]:
    for count in range(tries):
        if count >= FEWEST and clock() > until:
            return
        yield count


def _tried(kind: KindConversion, first: KindVersion, other: KindVersion, counts: Iterator[int]) -> Iterator[str]:
    chance = chance_of(kind, first, other)
    refused, others = "", 0
    for _ in counts:
        tree = made_up(kind, first, chance)
        try:
            back = convert(convert(copied(tree), other.name, kind).tree, first.name, kind).tree
        except ConversionRefused as error:
            refused = str(error)  # what is made up may be larger than any object: the rules are not to blame
        except Exception as error:  # noqa: BLE001  (rules in Python may raise anything)
            yield raised(error)
        else:
            others += 1
            yield from _lost(_body(tree), _body(back), first)
    if refused and not others:
        yield refused


def _body(tree: Tree) -> Tree:
    return {key: value for key, value in tree.items() if key not in RESERVED}


def _lost(body: Tree, back: Tree, version: KindVersion) -> Iterator[str]:
    for entry in differences(version.name, body, back, version.shape):
        yield f"{entry.place} does not come back as it was"
