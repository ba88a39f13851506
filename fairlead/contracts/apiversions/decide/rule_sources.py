"""Where rule sets come from, and which of several counts (section 2.6 and section 3.13).

At most one for each definition: one that is built in goes before files, these before ConfigMaps, and among ConfigMaps
the older one counts. Whether the one that counts is any good is another question: a set that is wrong is not replaced
by one that nobody meant to be used.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import IntEnum

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.rule_sets import KIND
from fairlead.contracts.apiversions.decide.trees import Tree
from kubeloop.objects.meta import Ref

ALWAYS = datetime.min.replace(tzinfo=UTC)


class Rank(IntEnum):
    """Who goes before whom."""

    BUILT_IN = 0
    FILE = 1
    CONFIG_MAP = 2


class RuleSource(Struct, frozen=True):
    """One rule set, or what stands where one should be."""

    place: str
    """As sentences call it."""
    rank: Rank
    tree: Tree = {}
    """Empty: it could not be read."""
    problem: str = ""
    """Why not."""
    about: Ref | None = None
    """The ConfigMap."""
    created: datetime = ALWAYS
    anyway: bool = False
    """Whether a person has said that objects are converted by it whatever version their fields are of."""
    is_built_in: bool = False
    """Whether it only names a set of this release."""

    @property
    def crd(self) -> str:
        named = self.tree.get("crd")
        return named if isinstance(named, str) else ""

    @property
    def key(self) -> tuple[str, str]:
        """What is told of it is told with this: its definition, else its ConfigMap, in its namespace."""
        if self.crd or self.about is None:
            return "", self.crd
        return self.about.namespace, self.about.name

    @property
    def is_trusted(self) -> bool:
        """Whether it may name code."""
        return self.rank is not Rank.CONFIG_MAP or self.is_built_in

    @property
    def text(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self.tree, order="sorted"), indent=2).decode()


def without_gone(source: RuleSource, definition: Tree) -> RuleSource:
    """The set without spokes of versions that the definition has no more.

    Of a set that was good once they have been removed since, and the other versions are asked for as before.
    """
    there = {each["name"] for each in definition["spec"]["versions"]}
    spokes = source.tree.get("spokes")
    if not isinstance(spokes, list):
        return source
    left = [each for each in spokes if not isinstance(each, dict) or each.get("version") in there]
    return source if len(left) == len(spokes) else structs.replace(source, tree={**source.tree, "spokes": left})


class Rejection(Struct, frozen=True):
    """A set that is not used."""

    source: RuleSource
    why: str


class Choice(Struct, frozen=True):
    chosen: dict[str, RuleSource]
    """By definition."""
    rejected: tuple[Rejection, ...]


def chosen(sources: Iterable[RuleSource]) -> Choice:
    """Which sets count, and why the others do not."""
    found: dict[str, RuleSource] = {}
    rejected: list[Rejection] = []
    for each in sorted(sources, key=lambda source: (source.rank, source.created, source.place)):
        if problem := each.problem or _unusable(each):
            rejected.append(Rejection(each, problem))
        elif each.crd in found:
            first = found[each.crd].place
            rejected.append(Rejection(each, f"{first} has a set for {each.crd} already: remove one of them"))
        else:
            found[each.crd] = each
    return Choice(found, tuple(rejected))


def _unusable(source: RuleSource) -> str:
    if source.tree.get("kind") != KIND:
        return f"{source.place} holds something else than a {KIND}: write `kind: {KIND}`"
    if not source.crd:
        return f"{source.place} holds a {KIND} without `crd`: name the definition, such as widgets.example.com"
    return ""
