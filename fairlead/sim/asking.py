"""Writes that ask before they store: a write is a generator of questions, and whoever drives it has them answered.

Between a question and its answer the cluster may change, so a write looks again before it stores. Driven with
`unreviewed`, nothing comes in between and nobody is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias

from msgspec import Struct

from fairlead.api.meta import Resource
from fairlead.sim.parts import Part
from fairlead.sim.registry import Kind
from fairlead.sim.store import Tree

MUTATING = "mutating"
VALIDATING = "validating"
DELETING = "deleting"
"""Both at once: there is no object that could be changed in between."""


class Question(Struct, frozen=True):
    """One question of a write, about trees in the version of the request; the answer is the object, as changed.

    Who answers leaves the trees alone and changes copies.
    """

    phase: str
    operation: str
    kind: Kind
    subresource: str
    namespace: str
    name: str
    shown: Resource
    """What the trees are: the kind's resource, or that of the subresource's objects."""
    complete: Callable[[Tree], Tree]
    """What the server makes of an object that was sent: without nulls, with defaults."""
    object: Tree | None = None
    old: Tree | None = None
    dry_run: bool = False


Questions: TypeAlias = Generator[Question, Tree | None, None]
Write: TypeAlias = Generator[Question, Tree | None, Tree]


def about(part: Part, phase: str, operation: str, dry_run: bool) -> Question:
    """A question about one part of an object, without its trees."""
    place = part.kind, part.subresource, part.scope, part.name
    return Question(phase, operation, *place, part.shown, part.complete, dry_run=dry_run)


def unreviewed(write: Write) -> Tree:
    """Carries the write out at once; every question is answered with the object as it is."""
    try:
        question = next(write)
        while True:
            question = write.send(question.object)
    except StopIteration as done:
        result: Tree = done.value
        return result
