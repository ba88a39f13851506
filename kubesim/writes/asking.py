"""Writes that ask before they store: a write is a generator of questions, and whoever drives it has them answered.

A question is one of admission, or one for trees in another version (`converting`). Between a question and its answer
the cluster may change, so a write looks again before it stores. Driven with `at_once`, nothing comes in between; driven
with `unreviewed`, nobody is asked either.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import TypeAlias

from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubesim.errors import StatusError, internal
from kubesim.kinds.converting import Answers, Convert
from kubesim.kinds.registry import Kind
from kubesim.store.versions import Tree
from kubesim.writes.parts import ObjectPart

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


Asked: TypeAlias = Question | Convert
Answer: TypeAlias = Tree | list[Tree] | None
Questions: TypeAlias = Generator[Asked, Answer, None]
Write: TypeAlias = Generator[Asked, Answer, Tree]
_NOBODY_CONVERTS = "nobody asks a conversion webhook here: send a request instead"


def reviewed(question: Question) -> Generator[Question, Tree | None, Tree | None]:
    """The answer to a question of admission, within a write."""
    return (yield question)


def about(part: ObjectPart, phase: str, operation: str, dry_run: bool) -> Question:
    """A question about one part of an object, without its trees."""
    place = part.kind, part.subresource, part.scope, part.name
    return Question(phase, operation, *place, part.shown, part.complete, dry_run=dry_run)


def unreviewed(write: Write) -> Tree:
    """Carries the write out at once; every question is answered with the object as it is."""
    return at_once(write, _as_it_is)


def _as_it_is(question: Question) -> Tree | None:
    return question.object


def at_once(write: Write, review: Callable[[Question], Tree | None]) -> Tree:
    """Carries the write out with answers that need not be waited for."""
    try:
        asked = next(write)
        while True:
            if isinstance(asked, Question):
                asked = write.send(review(asked))
                continue
            asked = write.throw(internal(_NOBODY_CONVERTS))
    except StopIteration as done:
        result: Tree = done.value
        return result


async def driven(write: Write, review: Callable[[Question], Awaitable[Tree | None]], convert: Answers) -> Tree:
    """Carries the write out with the answers of others; a failed conversion is told to the write."""
    try:
        asked = next(write)
        while True:
            if isinstance(asked, Question):
                asked = write.send(await review(asked))
                continue
            try:
                trees = await convert(asked)
            except StatusError as error:
                asked = write.throw(error)
            else:
                asked = write.send(trees)
    except StopIteration as done:
        result: Tree = done.value
        return result
