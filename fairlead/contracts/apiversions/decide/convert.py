"""Objects of one kind in another version, with nothing lost on the way (section 3.1 and section 3.2).

Versions meet in the hub: from one spoke to another an object goes through it. What the other version cannot hold is
carried in annotations, and taken up again where nobody has changed what it was derived from. It is a pure function of
the object, the wanted version and the rules: the same bytes in, the same bytes out, on every replica.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from msgspec import Struct

from fairlead.contracts.apiversions.decide import pointers
from fairlead.contracts.apiversions.decide.carry_differences import differences
from fairlead.contracts.apiversions.decide.carry_entries import MOST_UNPACKED, CarryEntry, TooMuchCarried, read, written
from fairlead.contracts.apiversions.decide.carry_laying import laid
from fairlead.contracts.apiversions.decide.completeness import is_complete
from fairlead.contracts.apiversions.decide.pointers import RESERVED, Pointer
from fairlead.contracts.apiversions.decide.pruning import Pruner, pruner, second_pruner
from fairlead.contracts.apiversions.decide.shapes import Shape
from fairlead.contracts.apiversions.decide.trees import Absent, Tree, copied
from fairlead.contracts.apiversions.kinds import CARRY_PREFIX, MOST_ANNOTATIONS
from kubeloop.schemas.structural import Node

Annotations: TypeAlias = Mapping[str, str]
Way: TypeAlias = Callable[[Tree, Annotations], Tree]
"""A body and the annotations of its object, to the body of the other version; it must not change what it is given.

The root of what comes out is new; what is inside may be shared."""


TOO_LARGE = "that an object may carry"
"""How a refusal ends that is about the size of what is carried."""


class ConversionRefused(Exception):
    """The object cannot be converted; the text says why and holds no field value."""


class KindVersion(Struct, frozen=True, eq=False, dict=True):
    name: str
    schema: Node
    shape: Shape

    @cached_property
    def pruned(self) -> Pruner:
        """Takes out of a body what this version does not know."""
        return pruner(self.schema)


class Spoke(Struct, frozen=True, eq=False, kw_only=True):
    version: KindVersion
    to_hub: Way
    from_hub: Way
    derived: tuple[Pointer, ...] = ()
    """Fields that are computed from a whole object, and only from one."""
    sticky: tuple[Pointer, ...] = ()
    """Leaves of the hub whose carried value wins whatever became of what they were derived from."""
    carries: bool = True


class KindConversion(Struct, frozen=True, eq=False, dict=True):
    """How the versions of one kind become one another."""

    group: str
    kind: str
    hub: KindVersion
    spokes: Mapping[str, Spoke]

    @property
    def versions(self) -> tuple[str, ...]:
        return (self.hub.name, *self.spokes)

    def shape(self, version: str) -> Shape:
        return self.hub.shape if version == self.hub.name else self.spokes[version].version.shape

    @cached_property
    def legs(self) -> dict[tuple[str, str], tuple[Leg, ...]]:
        """From one version to another, as far as they have been asked for."""
        return {}


class Leg(Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """From one version to its neighbour, and what the way back would be."""

    source: KindVersion
    target: KindVersion
    there: Way
    back: Way
    derived: tuple[Pointer, ...]
    sticky: tuple[Pointer, ...]
    carries: bool

    @cached_property
    def pruned_back(self) -> Callable[[Tree, Tree], Tree]:
        """Takes out of what comes back what the source does not know; besides it gets what that was made from."""
        return second_pruner(self.source.schema, self.target.schema)


class ConvertedObject(Struct, frozen=True):
    tree: Tree
    discarded: int = 0
    """Carried leaves that count for nothing any more, because somebody changed what they were derived from."""
    carried_bytes: int = 0
    is_beyond: bool = False
    """Whether it has fields that its own version has not here: API servers send none that theirs does not have."""


def convert(tree: Tree, wanted: str, kind: KindConversion) -> ConvertedObject:
    """The object in this version; raises ConversionRefused.

    What it is given stays as it is, and is part of the answer wherever nothing differs.
    """
    name = str(tree["apiVersion"]).removeprefix(f"{kind.group}/")
    body = {key: value for key, value in tree.items() if key not in RESERVED}
    metadata = tree.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    held = metadata.get("annotations")
    annotations: dict[str, str] = dict(held) if isinstance(held, dict) else {}
    discarded = 0
    legs = _legs(name, wanted, kind)
    is_beyond = bool(legs) and legs[0].source.pruned(body) is not body
    for leg in legs:
        body, annotations, stale = _gone(body, annotations, leg)
        discarded += stale
    if annotations != (held if isinstance(held, dict) else {}):
        _check_size(annotations)
        metadata["annotations"] = annotations
        if not annotations:  # they were nothing but what was carried
            del metadata["annotations"]
    carried = sum(len(key) + len(value) for key, value in annotations.items() if key.startswith(CARRY_PREFIX))
    head = {"apiVersion": f"{kind.group}/{wanted}", "kind": tree["kind"], "metadata": metadata}
    return ConvertedObject({**head, **body}, discarded, carried, is_beyond)


def _legs(name: str, wanted: str, kind: KindConversion) -> tuple[Leg, ...]:
    found = kind.legs.get((name, wanted))
    if found is None:
        found = kind.legs[name, wanted] = tuple(_made_legs(name, wanted, kind))
    return found


def _made_legs(name: str, wanted: str, kind: KindConversion) -> list[Leg]:
    legs = []
    if name != wanted and name != kind.hub.name:
        spoke = kind.spokes[name]
        legs.append(
            Leg(
                source=spoke.version,
                target=kind.hub,
                there=spoke.to_hub,
                back=spoke.from_hub,
                derived=spoke.derived,
                sticky=spoke.sticky,
                carries=spoke.carries,
            )
        )
    if name != wanted and wanted != kind.hub.name:
        spoke = kind.spokes[wanted]
        legs.append(
            Leg(
                source=kind.hub,
                target=spoke.version,
                there=spoke.from_hub,
                back=spoke.to_hub,
                derived=spoke.derived,
                sticky=(),
                carries=spoke.carries,
            )
        )
    return legs


def _gone(body: Tree, annotations: dict[str, str], leg: Leg) -> tuple[Tree, dict[str, str], int]:
    """One leg: the body and the annotations after it, and how many carried leaves were stale."""
    shown = (
        {key: value for key, value in annotations.items() if not key.startswith(CARRY_PREFIX)} if annotations else {}
    )
    made = leg.there(body, shown)
    if leg.derived and not is_complete(body, leg.source.schema):
        made = _without_derived(made, body, leg.derived)
    made = leg.target.pruned(made)
    if not leg.carries:
        return made, annotations, 0
    stale, is_laid = 0, False
    if len(shown) < len(annotations):
        taken = _carried(annotations, leg.target.name)
        stale = laid(made, taken.values(), leg.target.shape, leg.sticky)
        annotations = {key: value for key, value in annotations.items() if key not in taken}
        is_laid = bool(taken)
    back = leg.back(made, shown)
    # Nobody has looked at what was carried, which people may write as well.
    back = leg.source.pruned(back) if is_laid else leg.pruned_back(back, made)
    entries = differences(leg.source.name, body, back, leg.source.shape)
    if entries:
        annotations = {**annotations, **{entry.name: written(entry) for entry in entries}}
    return made, annotations, stale


def _carried(annotations: Mapping[str, str], version: str) -> dict[str, CarryEntry]:
    """Those of this version; what cannot be read stays where it is."""
    try:
        found = read(annotations)
    except TooMuchCarried:
        raise ConversionRefused(f"its annotations carry more than the {MOST_UNPACKED} bytes {TOO_LARGE}") from None
    return {key: entry for key, entry in found.items() if entry.version == version}


def _without_derived(made: Tree, body: Tree, derived: tuple[Pointer, ...]) -> Tree:
    """A part of an object implies no field that is computed from the whole."""
    own: Tree = copied(made)
    for each in derived:
        for place in pointers.last_first(own, each):
            if pointers.at(body, place) is Absent:
                pointers.take(own, place)
    return own


def _check_size(annotations: Mapping[str, Any]) -> None:
    size = sum(len(str(key).encode()) + len(str(value).encode()) for key, value in annotations.items())
    if size > MOST_ANNOTATIONS:
        over = size - MOST_ANNOTATIONS
        raise ConversionRefused(f"its annotations would be {over} bytes over the {MOST_ANNOTATIONS} bytes {TOO_LARGE}")


def steps_way(steps: tuple[Callable[[Tree], None], ...], opened: Callable[[Tree], Tree]) -> Way:
    """A way that consists of operations; `opened` copies what they change."""

    def way(body: Tree, _: Annotations) -> Tree:
        made = opened(body)
        for step in steps:
            step(made)
        return made

    return way
