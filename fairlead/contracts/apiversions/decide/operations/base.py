"""What an operation is: fields that a rule set writes, a step that changes a body in place, and a way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.apiversions.decide import pointers
from fairlead.contracts.apiversions.decide.pointers import STAR, Pointer, pointer, stars
from fairlead.contracts.apiversions.decide.trees import Absent, Tree
from kubeloop.schemas.structural import Node

Step: TypeAlias = Callable[[Tree], None]
"""Does nothing where its source is missing."""
Change: TypeAlias = Callable[[Any], Any]
"""From a value to the one in its place; Absent where the other version cannot express it, and then it is left out."""


class BadRule(ValueError):
    """The operation cannot be used; the text says why."""


class NoWayBack(ValueError):
    """The operation has none of its own; the text says why."""


class Op(Struct, frozen=True, tag_field="op", forbid_unknown_fields=True, rename="camel"):
    def step(self, here: Here) -> Step:
        """Ready to run; raises BadRule."""
        raise NotImplementedError

    def back(self, here: Here) -> Op | None:
        """The way back, None where none is needed; raises NoWayBack."""
        raise NotImplementedError

    def came_from(self, path: Pointer) -> Pointer:
        """Where a value at this path was before."""
        return path

    def went_to(self, path: Pointer) -> Pointer:
        """Where a value of this path is afterwards."""
        return path


class Here(Struct, frozen=True):
    """Where an operation stands: below which place of a body, among which others, and what the schema says of it."""

    schema: Node
    """For a step, of the version that it comes to; for a way back, of the version that this comes back to."""
    base: Pointer = ()
    earlier: Sequence[Op] = ()
    later: Sequence[Op] = ()

    def pointer(self, text: str) -> Pointer:
        try:
            return pointer(text, is_nested=bool(self.base))
        except ValueError as error:
            raise BadRule(str(error)) from None

    def pair(self, source: str, target: str) -> tuple[Pointer, Pointer]:
        one, other = self.apart(source, target)
        if other[: len(one)] == one:
            raise BadRule(f"{target} is inside of {source}")
        return one, other

    def apart(self, source: str, target: str) -> tuple[Pointer, Pointer]:
        """Both, of which the target may be inside of the source."""
        one, other = self.pointer(source), self.pointer(target)
        if stars(other) > stars(one):
            raise BadRule(f"{target} has more stars than {source}: nothing says what they stand for")
        return one, other

    def before(self, text: str) -> Pointer:
        """Where the value was when the operations began."""
        path = self.pointer(text)
        for each in reversed(self.earlier):
            path = each.came_from(path)
        return path

    def after(self, text: str) -> Pointer:
        """Where the value is when they have ended."""
        path = self.pointer(text)
        for each in self.later:
            path = each.went_to(path)
        return path

    def type_at(self, path: Pointer) -> str:
        """The one type that the schema has there; empty: none, or several."""
        found = node_at(self.schema, (*self.base, *path))
        return found.types[0] if found is not None and len(found.types) == 1 else ""


def node_at(schema: Node, path: Pointer) -> Node | None:
    here: Node | None = schema
    for segment in path:
        if here is None:
            return None
        if segment == STAR:
            here = here.items or here.rest
        else:
            here = here.properties.get(segment) or here.rest or (here.items if segment.isdecimal() else None)
    return here


def steps(rules: Sequence[Op], here: Here) -> tuple[Step, ...]:
    """All of them ready to run; raises BadRule."""
    return tuple(rule.step(_among(rules, index, here)) for index, rule in enumerate(rules))


def faults(rules: Sequence[Op], here: Here) -> list[str]:
    """What is wrong with each of them, by its number and its name."""
    found = []
    for index, rule in enumerate(rules):
        try:
            rule.step(_among(rules, index, here))
        except ValueError as error:
            found.append(f"operation {index + 1}, {type(rule).__struct_config__.tag}: {error}")
    return found


def faults_of_ways_back(rules: Sequence[Op], here: Here) -> list[str]:
    """The same, for what has no way back."""
    found = []
    for index, rule in enumerate(rules):
        try:
            rule.back(_among(rules, index, here))
        except ValueError as error:
            found.append(f"operation {index + 1}, {type(rule).__struct_config__.tag}: {error}")
    return found


def ways_back(rules: Sequence[Op], here: Here) -> list[Op]:
    """From the last to the first; raises NoWayBack."""
    found = [rule.back(_among(rules, index, here)) for index, rule in reversed([*enumerate(rules)])]
    return [each for each in found if each is not None]


def _among(rules: Sequence[Op], index: int, here: Here) -> Here:
    return replace(here, earlier=(*here.earlier, *rules[:index]), later=(*rules[index + 1 :], *here.later))


def changed_at(path: Pointer, change: Change) -> Step:
    """A null says the same in every version."""
    is_plain, last = pointers.is_plain(path), path[-1]

    def step(body: Tree) -> None:
        if is_plain and pointers.is_among_objects(body, path):
            holder = pointers.holder(body, path)
            value = None if holder is None else holder[last]
            if value is None:
                return
            made = change(value)
            if made is Absent:
                del holder[last]
            elif made is not value:
                holder[last] = made
            return
        for place in pointers.last_first(body, path):
            value = pointers.at(body, place)
            if value is None:
                continue
            made = change(value)
            if made is Absent:
                pointers.take(body, place)
            elif made is not value:
                pointers.put(body, place, made, overwrite=True)

    return step
