"""Operations on places: move, copy, drop and set."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.apiversions.decide import pointers
from fairlead.contracts.apiversions.decide.operations.base import Here, Op, Step
from fairlead.contracts.apiversions.decide.pointers import Pointer
from fairlead.contracts.apiversions.decide.trees import Tree, copied, same


class Move(Op, frozen=True, tag="move", rename={"source": "from"}):
    source: str
    to: str
    overwrite: bool = False

    def step(self, here: Here) -> Step:
        return move(*here.pair(self.source, self.to), overwrite=self.overwrite)

    def back(self, _: Here) -> Op:
        return Move(self.to, self.source)

    def came_from(self, path: Pointer) -> Pointer:
        return _exchanged(path, self.to, self.source)

    def went_to(self, path: Pointer) -> Pointer:
        return _exchanged(path, self.source, self.to)


def _exchanged(path: Pointer, beginning: str, other: str) -> Pointer:
    one = pointers.pointer(beginning, is_nested=True)
    return (*pointers.pointer(other, is_nested=True), *path[len(one) :]) if path[: len(one)] == one else path


class Copy(Op, frozen=True, tag="copy", rename={"source": "from"}):
    source: str
    to: str

    def step(self, here: Here) -> Step:
        return copy(*here.pair(self.source, self.to))

    def back(self, _: Here) -> Op:
        return Drop(self.to)


class Drop(Op, frozen=True, tag="drop"):
    """What it removes is carried."""

    path: str

    def step(self, here: Here) -> Step:
        return drop(here.pointer(self.path))

    def back(self, _: Here) -> None:
        return None


class Set(Op, frozen=True, tag="set"):
    path: str
    value: Any

    def step(self, here: Here) -> Step:
        return set_absent(here.pointer(self.path), self.value)

    def back(self, _: Here) -> Op:
        return Unset(self.path, self.value)


class Unset(Op, frozen=True, tag="unset"):
    """The way back of `set`: removes what is equal."""

    path: str
    value: Any

    def step(self, here: Here) -> Step:
        return unset(here.pointer(self.path), self.value)

    def back(self, _: Here) -> Op:
        return Set(self.path, self.value)


def move(source: Pointer, target: Pointer, *, overwrite: bool = False) -> Step:
    """What cannot be put there stays where it was."""
    is_plain, last = pointers.is_plain(source) and pointers.is_plain(target), source[-1]

    def step(body: Tree) -> None:
        if is_plain and pointers.is_among_objects(body, source):
            holder = pointers.holder(body, source)
            if holder is not None and pointers.put_plain(body, target, holder[last], overwrite=overwrite):
                del holder[last]
            return
        taken = []
        for place in [*pointers.places(body, source)]:
            value = pointers.at(body, place)
            if pointers.put(body, pointers.bound(target, source, place), value, overwrite=overwrite):
                taken.append(place)
        for place in reversed(taken):
            pointers.take(body, place)

    return step


def copy(source: Pointer, target: Pointer) -> Step:
    def step(body: Tree) -> None:
        for place in [*pointers.places(body, source)]:
            pointers.put(body, pointers.bound(target, source, place), copied(pointers.at(body, place)))

    return step


def drop(path: Pointer) -> Step:
    def step(body: Tree) -> None:
        for place in pointers.last_first(body, path):
            pointers.take(body, place)

    return step


def set_absent(path: Pointer, value: Any) -> Step:
    """Where what holds it is there: nothing is made that the object did not imply."""
    parent, last = path[:-1], path[-1]

    def step(body: Tree) -> None:
        for place in [*pointers.places(body, parent)]:
            if isinstance(pointers.at(body, place), dict):
                pointers.put(body, (*place, last), copied(value))

    return step


def unset(path: Pointer, value: Any) -> Step:
    def step(body: Tree) -> None:
        for place in pointers.last_first(body, path):
            if same(pointers.at(body, place), value):
                pointers.take(body, place)

    return step
