"""What a pass wants to do for one slice, or for the whole set: writes in order, up to the first that was refused.

A slice that cannot go on stops by itself, and the others do not.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.disaggregated import notes
from fairlead.contracts.leaderworker.disaggregated.kinds import DisaggregatedSet
from fairlead.core.act import AnyWrite, Create, Delete, EventNote
from fairlead.core.ask import Answers, Bad
from fairlead.core.reason import Reason


class Steps(Struct, frozen=True):
    reason: Reason = Reason.COMPLETE
    """That of the writes; without any, what is waited for."""
    writes: tuple[AnyWrite, ...] = ()
    tell: tuple[EventNote, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    """What stands in the way: an object and a sentence about it each."""


def as_allowed(given: DisaggregatedSet, answers: Answers, wanted: Steps) -> Steps:
    """Up to the write that was refused a moment ago; people are told of it."""
    sent: list[AnyWrite] = []
    for write in wanted.writes:
        if isinstance(answer := answers.known.get(write), Bad):
            note = _refusal(given, write, answer.text)
            return Steps(Reason.OBJECT_REFUSED, tuple(sent), (note,), ((_named(write), answer.text),))
        sent.append(write)
    return wanted


def _refusal(given: DisaggregatedSet, write: AnyWrite, error: str) -> EventNote:
    if isinstance(write, Create):
        return notes.not_created(given, write.name, error)
    tell = notes.not_deleted if isinstance(write, Delete) else notes.not_updated
    return tell(given, write.ref.name, error)


def _named(write: AnyWrite) -> str:
    if isinstance(write, Create):
        return f"{write.resource.kind.lower()}/{write.name}"
    return str(write.ref)


def details_of(several: Iterable[Steps]) -> tuple[tuple[str, str], ...]:
    return tuple(each for steps in several for each in steps.details)
