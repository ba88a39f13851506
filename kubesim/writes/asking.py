"""Writes that ask before they store: a write is a generator of questions, and whoever drives it has them answered.

A question is one of admission, or one for trees in another version (`converting`). Between a question and its answer
the cluster may change, so a write looks again before it stores. Driven with `unreviewed`, nobody is asked and nothing
comes in between; `writer` has questions answered by those whom they concern.
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


def asking_some(write: Write, is_asked: Callable[[Question], bool]) -> Write:
    """The write with these questions of admission alone; the others are answered with the object as it is."""
    try:
        asked = next(write)
        while True:
            if isinstance(asked, Question) and not is_asked(asked):
                asked = write.send(asked.object)
                continue
            try:
                answer = yield asked
            except StatusError as error:
                asked = write.throw(error)
            else:
                asked = write.send(answer)
    except StopIteration as done:
        result: Tree = done.value
        return result


def unreviewed(write: Write) -> Tree:
    """Carries the write out at once: nobody is asked, and nothing comes in between."""
    try:
        asked = next(write)
        while True:
            if isinstance(asked, Question):
                asked = write.send(asked.object)
                continue
            asked = write.throw(internal(_NOBODY_CONVERTS))
    except StopIteration as done:
        result: Tree = done.value
        return result


async def driven(
    write: Write, asked: Asked, review: Callable[[Question], Awaitable[Tree | None]], convert: Answers
) -> Tree:
    """Carries the write on, which has asked this, with the answers of others; it is told of a failed conversion."""
    try:
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
