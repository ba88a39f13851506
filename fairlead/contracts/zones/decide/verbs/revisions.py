"""The history of a group: the ControllerRevisions of its zones, put together.

Every zone has revisions of its own, with numbers and names of its own. Those of different zones are the same revision
of the group when they agree in everything that ever changed in a zone; what tells the zones apart, such as their
names and node selectors, does not count. So a group whose zones were edited one by one, or of which only some went
back, still has one history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import chain, combinations
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.decide.verbs.targets import Target, TargetGroup, without_nulls
from fairlead.core.ask import Answers, Ask, Good, Listing
from fairlead.core.differences import leaves, orders, reordered
from fairlead.core.verb import Tree
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.meta import Meta

_ZONE = re.compile(r"zone-[^-]+$")
PATCH_MARK = "$patch"

Signature = frozenset[tuple[str, str]]
"""Values of all that ever changed, by path."""


class _Meta(Meta, frozen=True, rename="camel"):
    creation_timestamp: datetime | None = None


class _Listed(Struct, frozen=True):
    metadata: _Meta
    revision: int = 0
    data: Any = None


class _Items(Struct, frozen=True):
    items: tuple[_Listed, ...] = ()


class Revision(Struct, frozen=True):
    """One template that a zone had."""

    name: str
    number: int
    made: datetime | None
    template: Tree | None
    """Without what is null; None where what is stored is no template."""


class GroupRevision(Struct, frozen=True):
    """The same template in each of the zones that have it."""

    zones: Mapping[str, Revision]

    @property
    def number(self) -> int:
        """The highest that it has in a zone."""
        return max(each.number for each in self.zones.values())

    @property
    def made(self) -> datetime | None:
        return max((each.made for each in self.zones.values() if each.made is not None), default=None)

    @property
    def label(self) -> str:
        """Its number, with those of the zones in which it has another."""
        other = [f"{zone} {each.number}" for zone, each in self.zones.items() if each.number != self.number]
        return f"{self.number} ({', '.join(other)})" if other else str(self.number)

    def is_called(self, word: str) -> bool:
        """By a number of it, or by the name of one of its ControllerRevisions."""
        return any(word in (str(each.number), each.name) for each in self.zones.values())


def revisions_question(group: TargetGroup) -> Ask:
    return Ask(Listing(CONTROLLER_REVISIONS, group.namespace))


def revisions_of(group: TargetGroup, answers: Answers) -> dict[str, tuple[Revision, ...]]:
    """The revisions of each zone by its name, the oldest first."""
    answer = answers[revisions_question(group)]
    listed = msgspec.json.decode(answer.value, type=_Items).items if isinstance(answer, Good) else ()
    return {zone.name: tuple(_owned(zone, listed)) for zone in group.zones}


def _owned(zone: Target, listed: Iterable[_Listed]) -> list[Revision]:
    found = [each for each in listed if each.metadata.controller_uid == zone.statefulset.metadata.uid]
    return [
        Revision(each.metadata.name, each.revision, each.metadata.creation_timestamp, _template(each.data))
        for each in sorted(found, key=lambda each: each.revision)
    ]


def _template(data: object) -> Tree | None:
    match data:
        case {"spec": {"template": {"spec": dict()} as template}}:
            return without_nulls({key: value for key, value in template.items() if key != PATCH_MARK})
    return None


def present(zone: Target, revisions: tuple[Revision, ...]) -> Revision | None:
    """The revision of its template as it is; None while the StatefulSet controller has not recorded it.

    One that the zone had before gets a new number, the highest, when the controller has seen that it is back.
    """
    return revisions[-1] if revisions and revisions[-1].template == zone.template else None


def together(revisions: Mapping[str, tuple[Revision, ...]]) -> tuple[GroupRevision, ...]:
    """The revisions of the group, the newest first; what is stored and is no template is left out."""
    changing = {path for each in revisions.values() for path in _changing(each)}
    changed = [
        (zone, revision, _values(revision.template, changing))
        for zone, each in revisions.items()
        for revision in each
        if revision.template is not None
    ]
    shared = _shared(changed)
    found: dict[Signature, dict[str, Revision]] = {}
    for zone, revision, values in changed:
        signature = frozenset(pair if pair in shared else (pair[0], _neutral(pair[1], zone)) for pair in values)
        found.setdefault(signature, {})[zone] = revision
    return tuple(sorted(map(GroupRevision, found.values()), key=lambda each: -each.number))


def _shared(changed: Iterable[tuple[str, Revision, Signature]]) -> Signature:
    """What several zones have alike: it tells none from another, even where it holds the name of one, as images do."""
    having: dict[tuple[str, str], set[str]] = {}
    for zone, _, values in changed:
        for pair in values:
            having.setdefault(pair, set()).add(zone)
    return frozenset(pair for pair, zones in having.items() if len(zones) > 1)


def _changing(revisions: tuple[Revision, ...]) -> set[str]:
    """Paths at which not all templates of the zone are the same, in content or in the order of entries with names."""
    templates = [each.template for each in revisions if each.template is not None]
    trees = [dict(leaves(each)) for each in templates]
    paths = {path for tree in trees for path in tree}
    changed = {path for path in paths if any(tree.get(path) != trees[0].get(path) for tree in trees)}
    pairs = combinations([dict(orders(each)) for each in templates], 2)
    return changed | {path for pair in pairs for path in reordered(*pair)}


def _values(template: Tree, changing: set[str]) -> Signature:
    return frozenset(
        (path, repr(value)) for path, value in chain(leaves(template), orders(template)) if path in changing
    )


def _neutral(value: str, zone: str) -> str:
    """The value without what names the zone."""
    text = value.replace(zone, "{name}")
    suffix = _ZONE.search(zone)
    return text if suffix is None else re.sub(rf"\b{re.escape(suffix[0])}\b", "{zone}", text)
