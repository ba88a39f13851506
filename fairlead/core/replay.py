"""Recorded rounds, decided again: the same facts and the same time, with the rules of this release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct

from fairlead.core.ask import Need, StartOver
from fairlead.core.decision import Admit, Decision
from fairlead.core.written import Unwritten, read, written
from kubeloop.sealed import Shut
from kubeloop.unreadable import UNREADABLE

RoundResult: TypeAlias = Decision | Admit | Need | StartOver
"""What may come of deciding."""
MOST_CHANGES = 20
"""Places that are told of two decisions that differ."""
ABSENT = "-"


class Decider(Struct, frozen=True):
    """What decides the rounds of one controller, and from what."""

    seen: Any
    """The type of its Snapshots."""
    decide: Callable[[Any, datetime], RoundResult]


class RecordedRound(Struct, frozen=True, kw_only=True):
    release: str
    """The version of fairlead that decided."""
    controller: str
    key: str
    round: str
    """As the audit lines of its effects have it."""
    at: datetime
    """The time it was decided for."""
    seen: Raw
    decision: Raw


class Outline(Struct, frozen=True):
    """A decision in three words."""

    rule: str
    verdict: str
    reason: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.rule, self.verdict.lower(), self.reason)))


class DecisionChange(Struct, frozen=True):
    """One place in which two decisions differ."""

    path: str
    then: str
    now: str


class Replayed(Struct, frozen=True, kw_only=True):
    """A recorded round and what this release makes of it."""

    controller: str
    key: str
    round: str
    at: datetime
    release: str
    then: Outline
    now: Outline | None = None
    """None: it cannot be decided again."""
    problem: str = ""
    """Why it cannot be."""
    changes: tuple[DecisionChange, ...] = ()
    """Empty: both decisions are equal."""

    def is_by(self, rule: str) -> bool:
        """Whether the rule decided it, then or now."""
        return rule in (self.then.rule, self.now.rule if self.now is not None else "")


class DecidedRound(Struct, frozen=True):
    """A round as it was decided."""

    controller: str
    key: str
    number: str
    at: datetime
    seen: Any
    made: RoundResult


class NoRound(Unwritten):
    """A line that nobody recorded a round in, or one that was cut."""


def record_of(decided: DecidedRound, of: Any, release: str) -> bytes:
    """The round as one line; `of` is the type of what was seen."""
    return msgspec.json.encode(
        RecordedRound(
            release=release,
            controller=decided.controller,
            key=decided.key,
            round=decided.number,
            at=decided.at,
            seen=Raw(written(decided.seen, of)),
            decision=Raw(written(decided.made, RoundResult)),
        )
    )


def replayed(line: bytes, deciders: Mapping[str, Decider]) -> Replayed:
    """The round in this line, decided again; raises Unwritten for a line that is no round of this release's, and of
    these NoRound for one that is no round of any."""
    try:
        recorded = msgspec.json.decode(line, type=RecordedRound)
    except UNREADABLE as error:
        raise NoRound(f"no recorded round: {error}") from error
    decider = deciders.get(recorded.controller)
    if decider is None:
        raise Unwritten(f"this release has no controller {recorded.controller!r}")
    then: RoundResult = read(recorded.decision, RoundResult)  # type: ignore[arg-type]
    seen = read(recorded.seen, decider.seen)
    about = Replayed(
        controller=recorded.controller,
        key=recorded.key,
        round=recorded.round,
        at=recorded.at,
        release=recorded.release,
        then=outline(then),
    )
    try:
        now = decider.decide(seen, recorded.at)
    except Shut as error:
        return msgspec.structs.replace(about, problem=str(error))
    except Exception as error:
        raise Unwritten(f"this release fails to decide it: {type(error).__name__}: {error}") from error
    changes = () if now == then else differences(then, now)
    return msgspec.structs.replace(about, now=outline(now), changes=changes)


def outline(made: RoundResult) -> Outline:
    match made:
        case Decision(rule, verdict):
            return Outline(rule, type(verdict).__name__, verdict.reason.word)
        case Admit():
            return Outline(made.word, "Allow" if made.allowed else "Deny")
        case _:
            return Outline("", type(made).__name__)


def differences(then: RoundResult, now: RoundResult) -> tuple[DecisionChange, ...]:
    """Where they differ, the first MOST_CHANGES places."""
    trees = [msgspec.json.decode(written(each, RoundResult)) for each in (then, now)]
    found = _differing("", *trees)
    return tuple(change for change, _ in zip(found, range(MOST_CHANGES), strict=False))


def _differing(path: str, then: Any, now: Any) -> Iterator[DecisionChange]:
    if then == now:
        return
    if isinstance(then, dict) and isinstance(now, dict):
        for name in (*then, *(each for each in now if each not in then)):
            yield from _differing(f"{path}.{name}" if path else name, then.get(name, ABSENT), now.get(name, ABSENT))
    elif isinstance(then, list) and isinstance(now, list):
        for place in range(max(len(then), len(now))):
            one, other = (each[place] if place < len(each) else ABSENT for each in (then, now))
            yield from _differing(f"{path}[{place}]", one, other)
    else:
        yield DecisionChange(path or "decision", _shown(then), _shown(now))


def _shown(tree: Any) -> str:
    return tree if isinstance(tree, str) else msgspec.json.encode(tree).decode()
