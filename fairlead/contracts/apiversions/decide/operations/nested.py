"""Operations that hold others, and the union of all that a rule set may write."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET

from fairlead.contracts.apiversions.decide import pointers
from fairlead.contracts.apiversions.decide.operations.base import BadRule, Here, Op, Step, steps, ways_back
from fairlead.contracts.apiversions.decide.operations.formats import Compose, Format
from fairlead.contracts.apiversions.decide.operations.keys import ListToMap, MapToList, MergeInto, RenameKeys, TakeOut
from fairlead.contracts.apiversions.decide.operations.moving import Copy, Drop, Move, Set, Unset
from fairlead.contracts.apiversions.decide.operations.scalars import Cast, MapValues, Scale, Unwrap, Wrap
from fairlead.contracts.apiversions.decide.operations.texts import Join, ListToText, Split, TextToList
from fairlead.contracts.apiversions.decide.operations.units import Duration, Quantity
from fairlead.contracts.apiversions.decide.trees import Tree, same


class Each(Op, frozen=True, tag="each"):
    """Its rules are about every object at the path."""

    path: str
    rules: list[AnyOp]

    def step(self, here: Here) -> Step:
        path = here.pointer(self.path)
        inner = steps(self.rules, Here(here.schema, (*here.base, *here.after(self.path))))

        def step(body: Tree) -> None:
            for place in [*pointers.places(body, path)]:
                found = pointers.at(body, place)
                if isinstance(found, dict):
                    for one in inner:
                        one(found)

        return step

    def back(self, here: Here) -> Op:
        inner = Here(here.schema, (*here.base, *here.before(self.path)))
        return Each(self.path, ways_back(self.rules, inner))  # type: ignore[arg-type]


class When(Op, frozen=True, tag="when"):
    """Its rules are used where something is at `exists`, or where that at `path` equals a value."""

    rules: list[AnyOp]
    exists: str = ""
    path: str = ""
    equals: Any = UNSET

    def step(self, here: Here) -> Step:
        if bool(self.exists) == bool(self.path) or bool(self.path) == (self.equals is UNSET):
            raise BadRule("when needs either exists, or path and equals")
        path, wanted = here.pointer(self.exists or self.path), self.equals
        inner = steps(self.rules, here)

        def step(body: Tree) -> None:
            found = [pointers.at(body, place) for place in pointers.places(body, path)]
            if any(wanted is UNSET or same(value, wanted) for value in found):
                for one in inner:
                    one(body)

        return step

    def back(self, here: Here) -> Op:
        return When(ways_back(self.rules, here), self.exists, self.path, self.equals)  # type: ignore[arg-type]


AnyOp: TypeAlias = (
    Move
    | Copy
    | Drop
    | Set
    | Unset
    | MapValues
    | Cast
    | Scale
    | Wrap
    | Unwrap
    | ListToMap
    | MapToList
    | RenameKeys
    | MergeInto
    | TakeOut
    | Duration
    | Quantity
    | Split
    | Join
    | TextToList
    | ListToText
    | Format
    | Compose
    | Each
    | When
)
