"""The answer of a round: hold or move, with the reason and what people are told.

The explanation is a function of the same Snapshot and the Decision, each part's `explain`, so that it costs nothing in
rounds that nobody looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from fairlead.decide.act import AnyWrite, Tell
from fairlead.decide.ask import Need
from fairlead.decide.reason import Reason

S = TypeVar("S")


class Hold(Struct, frozen=True, tag=True):
    """Nothing is to be done now; `again` is when to look without being woken."""

    reason: Reason
    again: datetime | None = None


class Move(Struct, frozen=True, tag=True):
    """These writes, in this order, stopping at the first that fails."""

    reason: Reason
    writes: tuple[AnyWrite, ...]
    again: datetime | None = None


Verdict: TypeAlias = Hold | Move


class Decision(Struct, frozen=True):
    rule: str
    verdict: Verdict
    tell: tuple[Tell, ...] = ()


Outcome: TypeAlias = Decision | Need
Decide: TypeAlias = Callable[[S, datetime], Outcome]


class Rule(Struct, Generic[S], frozen=True):
    """A rule under the name that decisions, logs and documents show."""

    name: str
    answer: Callable[[S, datetime], Verdict | Need | None]
