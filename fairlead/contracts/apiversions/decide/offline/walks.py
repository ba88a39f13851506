"""Walks: what is done about one object, written as a story whose questions are answered one after the other.

A walk asks with `told`; where there is no answer yet it is left with `Unanswered` and begun again when there is one.
So it must come to the same questions with the same answers. Walks of a page go side by side, a question each at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from fairlead.core.ask import Answer, Answers, Bad, Good, Need, Question

T = TypeVar("T")

LOST = frozenset({"unreachable", "not-sent", "timeout", "late"})
"""They say nothing of the object: the server is away, or was before the question was put."""


class Unanswered(Exception):
    def __init__(self, question: Question) -> None:
        super().__init__(str(type(question)))
        self.question = question


class Interrupted(Exception):
    """The server cannot be reached, so nothing can be said of the object."""

    def __init__(self, bad: Bad) -> None:
        super().__init__(bad.text or bad.kind)


class Unfit(Exception):
    """It cannot be done with this object; the text says why."""


def told(answers: Answers, question: Question) -> Answer:
    """The answer; raises Unanswered where there is none yet, and Interrupted where the server is away."""
    found = answers.known.get(question)
    if found is None:
        raise Unanswered(question)
    if isinstance(found, Bad) and found.kind in LOST:
        raise Interrupted(found)
    return found


def good(answers: Answers, question: Question) -> Good:
    """The same where everything but an answer means that it cannot be done."""
    found = told(answers, question)
    if isinstance(found, Bad):
        raise Unfit(found.text or found.kind)
    return found


def walked(walks: Iterable[Callable[[], T]]) -> list[T | Unfit] | Need:
    """What every walk comes to, or the questions that they have now; raises Interrupted where one was."""
    ends: list[T | Unfit] = []
    asked: list[Question] = []
    interrupted: Interrupted | None = None
    for walk in walks:
        try:
            ends.append(walk())
        except Unanswered as lacking:
            asked.append(lacking.question)
        except Unfit as unfit:
            ends.append(unfit)
        except Interrupted as error:
            interrupted = error
    if interrupted is not None:
        raise interrupted
    return Need((tuple(dict.fromkeys(asked)),), stop_at=frozenset({"not-sent"})) if asked else ends
