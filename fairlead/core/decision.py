"""The answer of a round: hold or move, with the reason and what people are told; the answer to a review: admit.

The explanation is a function of the same Snapshot and the Decision, each part's `explain`, so that it costs nothing in
rounds that nobody looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from fairlead.core.act import AnyWrite, EventNote
from fairlead.core.ask import Need, Question, StartOver
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref

S = TypeVar("S")


class Hold(Struct, frozen=True, tag=True):
    """Nothing is to be done now; `again` is when to look without being woken."""

    reason: Reason
    again: datetime | None = None
    details: tuple[tuple[str, str], ...] = ()
    """What only the rule could tell: an object (`pod/a-0`) and a sentence about it each."""


class Move(Struct, frozen=True, tag=True):
    """These writes, in this order, stopping at the first that fails.

    They rest on one look at the world: what has not been sent half a second after the first is left to the next round,
    which decides it again. So any of them may be the last that is sent.
    """

    reason: Reason
    writes: tuple[AnyWrite, ...]
    again: datetime | None = None


Verdict: TypeAlias = Hold | Move


class SideNote(Struct, frozen=True):
    """A wait or a trouble beside the verdict, which is about something else."""

    about: Ref
    reason: Reason
    text: str
    until: datetime | None = None
    """When it is over by itself, where that is known."""
    advice: tuple[str, ...] = ()
    """What a person can do now, the first first."""


class Decision(Struct, frozen=True):
    rule: str
    verdict: Verdict
    tell: tuple[EventNote, ...] = ()
    asides: tuple[SideNote, ...] = ()
    reports: tuple[AnyWrite, ...] = ()
    """Writes about the verdict, and no part of it: a status that repeats it, a stamp for people. They are sent after
    the writes of a Move and also with a Hold, under the same rules: in order, and the first that fails ends the round.
    One whose failure must not do that is itself `optional`."""


class Admit(Struct, frozen=True, kw_only=True):
    """The answer to an admission review."""

    allowed: bool
    word: str = "ok"
    """One word for logs and metrics: which row of the contract's table answered."""
    code: int = 0
    """HTTP code of a denial; 0 leaves it to the API server, which says 400."""
    reason: str = ""
    """Reason of the Status that a client gets with a denial: `Forbidden`, say."""
    message: str = ""
    warnings: tuple[str, ...] = ()
    patch: bytes = b""
    """A JSON patch of the object."""
    afterwards: tuple[tuple[Question, ...], ...] = ()
    """Stages carried out after the answer was sent, each whole, with a time budget of their own."""
    level: str = "debug"
    """Of the log record: `debug`, `info`, `warn` or `error`."""
    tell: tuple[EventNote, ...] = ()


Outcome: TypeAlias = Decision | Need | StartOver
Judge: TypeAlias = Callable[[S, datetime], "Admit | Need | StartOver"]
Decide: TypeAlias = Callable[[S, datetime], Outcome]


class Rule(Struct, Generic[S], frozen=True):
    """A rule under the name that decisions, logs and documents show."""

    name: str
    answer: Callable[[S, datetime], Verdict | Need | StartOver | None]
