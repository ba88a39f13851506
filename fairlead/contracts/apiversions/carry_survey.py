"""What a rule set carries: which fields, always or for some values, and how many bytes (section 6.1, B16).

It is seen with made-up objects, so that operations and rules in Python are told alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from fairlead.contracts.apiversions.decide.carry_differences import differences
from fairlead.contracts.apiversions.decide.carry_entries import CarryEntry, Path, readable, written
from fairlead.contracts.apiversions.decide.convert import ConversionRefused, KindConversion, KindVersion, convert
from fairlead.contracts.apiversions.decide.pointers import RESERVED, STAR
from fairlead.contracts.apiversions.decide.trees import Absent, Tree
from fairlead.contracts.apiversions.self_test import chance_of, made_up
from kubeloop.schemas.structural import Node

TRIES = 100


class Carried(Struct, frozen=True):
    place: str
    always: bool
    """Whatever the value; else where the other version cannot express it."""


class Surveyed(Struct, frozen=True, kw_only=True, rename="camel"):
    """The way of objects from one version to another."""

    source: str
    target: str
    fields: int
    """Leaves that the objects had."""
    carried: tuple[Carried, ...]
    largest_bytes: int
    mean_bytes: int


def survey(kind: KindConversion, tries: int = TRIES) -> list[Surveyed]:
    """To the hub and from it, for each spoke."""
    found = []
    for spoke in kind.spokes.values():
        found += [_way(kind, spoke.version, kind.hub, tries), _way(kind, kind.hub, spoke.version, tries)]
    return found


def _way(kind: KindConversion, source: KindVersion, target: KindVersion, tries: int) -> Surveyed:
    chance = chance_of(kind, source, target)
    present: Counter[str] = Counter()
    carried: Counter[str] = Counter()
    sizes: list[int] = []
    for _ in range(tries):
        tree = made_up(kind, source, chance)
        try:
            made = convert(tree, target.name, kind).tree
        except ConversionRefused:
            continue
        entries = _entries(made, source.name)
        sizes.append(sum(len(each.name) + len(written(each)) for each in entries))
        present.update(_places(differences(source.name, _body(tree), {}, source.shape), source.schema))
        carried.update(_places([each for each in entries if each.wanted is not Absent], source.schema))
    leaves = _leaves(present)
    return Surveyed(
        source=source.name,
        target=target.name,
        fields=len(leaves),
        carried=tuple(Carried(each, carried[each] >= present[each]) for each in leaves if carried[each]),
        largest_bytes=max(sizes, default=0),
        mean_bytes=round(sum(sizes) / len(sizes)) if sizes else 0,
    )


def _leaves(places: Iterable[str]) -> list[str]:
    """Without those that hold others and were empty."""
    ordered = sorted(places)
    return [each for each in ordered if not any(other.startswith(f"{each}/") for other in ordered)]


def _body(tree: Tree) -> Tree:
    return {key: value for key, value in tree.items() if key not in RESERVED}


def _entries(tree: Tree, version: str) -> list[CarryEntry]:
    found = readable(tree["metadata"].get("annotations") or {})
    return [each for each in found.values() if each.version == version]


def _places(entries: Sequence[CarryEntry], schema: Node) -> set[str]:
    return {_place(each.path, schema) for each in entries if not each.is_order}


def _place(path: Path, schema: Node) -> str:
    """With stars for keys of maps and items of lists."""
    names: list[str] = []
    here: Node | None = schema
    for segment in path:
        known = here.properties.get(segment) if here is not None and isinstance(segment, str) else None
        is_named = known is not None or here is None or (isinstance(segment, str) and here.rest is None)
        names.append(segment if is_named and isinstance(segment, str) else STAR)
        here = known or (None if here is None else here.items if not isinstance(segment, str) else here.rest)
    return "/" + "/".join(names)
