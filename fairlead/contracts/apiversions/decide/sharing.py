"""Which parts of a body its operations change: these are copied, and all others are shared with what was given.

Most of an object is the same in both versions. What is shared need not be copied, and is known to be equal without a
look into it, which is what makes conversion quick.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from typing import Any, TypeAlias

from msgspec import Struct

from fairlead.contracts.apiversions.decide.operations.base import Op
from fairlead.contracts.apiversions.decide.operations.keys import MergeInto, TakeOut
from fairlead.contracts.apiversions.decide.operations.nested import Each, When
from fairlead.contracts.apiversions.decide.pointers import STAR, Pointer, pointer
from fairlead.contracts.apiversions.decide.trees import Tree, copied

PLACES = ("path", "source", "sources", "to")
"""Fields of operations that hold pointers, or maps and lists of some."""


class CopyPlan(Struct, frozen=True):
    """A container that is copied, and what of it besides."""

    below: tuple[tuple[str, AnyPlan], ...] = ()
    star: AnyPlan = None
    """For every item and every value."""


class Whole(Struct, frozen=True):
    """Copied to the last leaf."""


AnyPlan: TypeAlias = CopyPlan | Whole | None
"""None: shared."""
WHOLE = Whole()


def plan_of(operations: Sequence[Op]) -> CopyPlan:
    """What these operations change.

    An operation changes what holds its places. Where one changes something inside of the place of another, values that
    move could be changed after they have moved: then all that stands at places is copied.
    """
    touched = {place for each in operations for place in _touched(each)}
    is_tangled = () in touched or any(_is_inside(one, other) for one, other in permutations(touched, 2))
    made = _planned(touched, is_whole=is_tangled)
    return made if isinstance(made, CopyPlan) else CopyPlan((), WHOLE)


def opened(body: Tree, plan: CopyPlan) -> Tree:
    """The body with copies of what the plan names; its root is new in any case."""
    made: Tree = _opened(body, plan)
    return made


def _touched(operation: Op) -> Iterator[Pointer]:
    match operation:
        case Each(path, rules):
            for each in rules:
                for inner in _touched(each):
                    yield (*pointer(path, is_nested=True), *inner)
        case When():
            for each in operation.rules:
                yield from _touched(each)
        case MergeInto():
            yield pointer(operation.source, is_nested=True)
            yield (*pointer(operation.to, is_nested=True), operation.key)
        case TakeOut():
            yield (*pointer(operation.source, is_nested=True), operation.key)
            yield pointer(operation.to, is_nested=True)
        case _:
            found = [*_pointers(getattr(operation, name, None) for name in PLACES)]
            yield from found or [()]


def _pointers(values: Iterable[Any]) -> Iterator[Pointer]:
    for value in values:
        match value:
            case str() if value.startswith("/"):
                yield pointer(value, is_nested=True)
            case list():
                yield from _pointers(value)
            case dict():
                yield from _pointers([*value, *value.values()])


def _is_inside(one: Pointer, other: Pointer) -> bool:
    """Whether the other begins as this one, and goes on."""
    return len(one) < len(other) and all(
        left == right or STAR in (left, right) for left, right in zip(one, other, strict=False)
    )


def _planned(places: Iterable[Pointer], *, is_whole: bool) -> AnyPlan:
    rest = [*places]
    if () in rest:
        return WHOLE if is_whole else None
    if not rest:
        return CopyPlan()
    names = {place[0] for place in rest}
    found = {
        name: _planned([place[1:] for place in rest if place[0] in (name, STAR)], is_whole=is_whole) for name in names
    }
    star = found.pop(STAR, None)
    return CopyPlan(tuple((name, each) for name, each in found.items() if each is not None), star)


def _opened(value: Any, plan: AnyPlan) -> Any:
    kind = type(value)
    if plan is None or (kind is not dict and kind is not list):
        return value
    if isinstance(plan, Whole):
        return copied(value)
    made = value.copy()
    if plan.star is not None:
        for key in made if kind is dict else range(len(made)):
            made[key] = _opened(made[key], plan.star)
    for name, below in plan.below:
        if kind is dict:
            held = made.get(name)
            if held is not None:
                made[name] = _opened(held, below)
        elif name.isdecimal() and int(name) < len(made):
            made[int(name)] = _opened(made[int(name)], below)
    return made
