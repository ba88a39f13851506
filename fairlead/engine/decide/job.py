"""A job: what walks many objects, as a pure step over its journal.

A step reads the journal, asks for what it needs (a page, then the writes of that page, each of which is answered for
itself), and says what the journal holds then; the next step goes on from there. The journal is replaced by
compare-and-swap and before anything else happens, so a job that is killed at any point goes on from the last step that
was written down, and of two that run at once one is told so. Whatever a step does must therefore do no harm when it is
done twice.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, structs

from fairlead.core.ask import Answers, Ask, Bad, Good, Need, ReadRecord, StartOver, SwapRecord
from fairlead.core.decision import Decision, Hold, Outcome
from fairlead.core.reason import Reason
from kubeloop.unreadable import UNREADABLE

J = TypeVar("J", bound=Struct)
W = TypeVar("W")

LOOK_AGAIN = timedelta(seconds=10)
"""Until a job that may not write, or whose journal cannot be read or written, looks again."""


class JobSnapshot(Struct, Generic[J, W], frozen=True):
    """What a step reads."""

    record: str
    """Names the journal."""
    answers: Answers
    world: W
    """What the caches show beside."""
    journal: J | None = None
    """As the last step left it; None: there is none that can be read, and the job begins."""


class StepResult(Struct, Generic[J], frozen=True):
    """What a step comes to."""

    journal: J
    decision: Decision


Step: TypeAlias = Callable[[JobSnapshot[J, W], datetime], "StepResult[J] | Need"]


class Passage(Struct, Generic[J], frozen=True):
    """The journal before a step and after it."""

    before: J | None
    after: J | None


def journaled(step: Step[J, W], journal: type[J]) -> Callable[[JobSnapshot[J, W], datetime], Outcome]:
    """The step as a decision: with the journal read before it and written after it."""

    def decide(seen: JobSnapshot[J, W], now: datetime) -> Outcome:
        read = _read(seen.record)
        if todo := seen.answers.lacking((read,)):
            return Need(todo)
        found = seen.answers[read]
        if isinstance(found, Bad):
            return _waiting(found, now)
        held = _decoded(found.value, journal)
        turn = step(structs.replace(seen, journal=held), now)
        if isinstance(turn, Need):
            return turn
        if turn.journal == held:
            return turn.decision
        write = Ask(SwapRecord(seen.record, found.version, msgspec.json.encode(turn.journal)), effect=True)
        if todo := seen.answers.lacking((write,)):
            return Need(todo)
        match seen.answers[write]:
            case Bad("conflict"):
                return StartOver()
            case Bad() as bad:
                return _waiting(bad, now)
            case Good():
                return turn.decision

    return decide


def passage(seen: JobSnapshot[J, Any], journal: type[J]) -> Passage[J]:
    """What a round that has ended read in its journal, and what it left there."""
    found = seen.answers.known.get(_read(seen.record))
    before = _decoded(found.value, journal) if isinstance(found, Good) else None
    for question, answer in seen.answers.known.items():
        if not (isinstance(question, Ask) and isinstance(question.to, SwapRecord) and isinstance(answer, Good)):
            continue
        if question.to.record == seen.record:  # a step may keep other records beside its journal
            return Passage(before, _decoded(question.to.value, journal))
    return Passage(before, before)


def not_leading(now: datetime) -> Decision:
    """The lease is not held at this moment: whoever holds it goes on."""
    return Decision("wait_for_lead", Hold(Reason.NOT_LEADING, now + LOOK_AGAIN))


def _waiting(bad: Bad, now: datetime) -> Decision:
    if bad.kind == "not-sent":
        return not_leading(now)
    return Decision("wait_for_journal", Hold(Reason.JOURNAL_UNAVAILABLE, now + LOOK_AGAIN, (("journal", bad.text),)))


def _read(record: str) -> Ask:
    return Ask(ReadRecord(record))


def _decoded(value: bytes, journal: type[J]) -> J | None:
    """None where there is none, or one of another release: then the job begins, which does no harm."""
    if not value:
        return None
    try:
        return msgspec.json.decode(value, type=journal)
    except UNREADABLE:
        return None
