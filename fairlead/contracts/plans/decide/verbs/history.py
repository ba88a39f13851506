"""The history of a plan: what its conditions and its Events tell, in the order of time, attempt by attempt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.decide.notes import RESTARTED
from fairlead.contracts.plans.decide.verbs.targets import VerbTarget, looked_up
from fairlead.contracts.plans.kinds import STATE_CONDITIONS, TERMINAL
from fairlead.core.ask import Answers, Ask, Good, Listing, Need
from fairlead.core.times import format_rfc3339
from fairlead.core.verb import Refused, Tree, VerbAnswer, VerbRequest, VerbTable
from kubeloop.objects.core import EVENTS

BEGINNINGS = frozenset({"Rollout Verified", "Scale Verified"})
"""Events with which an attempt begins to be worked on."""
ENDED = frozenset(STATE_CONDITIONS[state] for state in TERMINAL)


CONDITION, EVENT = "condition", "Event"
"""Who tells a fact."""


class _Regarding(Struct, frozen=True):
    uid: str = ""


class _Series(Struct, frozen=True, rename="camel"):
    count: int = 1
    last_observed_time: datetime | None = None


class _Event(Struct, frozen=True, rename="camel"):
    reason: str = ""
    note: str = ""
    type: str = ""
    regarding: _Regarding = _Regarding()
    event_time: datetime | None = None
    series: _Series | None = None
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None

    @property
    def at(self) -> datetime | None:
        """When it happened first."""
        return self.event_time or self.deprecated_first_timestamp or self.deprecated_last_timestamp


class _Events(Struct, frozen=True):
    items: tuple[_Event, ...] = ()


class Fact(Struct, frozen=True):
    at: datetime
    what: str
    detail: str
    told_by: str
    is_warning: bool = False


def history(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    target = looked_up(request, answers)
    if not isinstance(target, VerbTarget):
        return target
    events = Ask(Listing(EVENTS, target.namespace))
    if todo := answers.lacking((events,)):
        return Need(todo)
    answer = answers[events]
    found = msgspec.json.decode(answer.value, type=_Events).items if isinstance(answer, Good) else ()
    facts = sorted((*_of_events(target, found), *_of_conditions(target, found)), key=_order)
    if not facts:
        return Refused(f"nothing is recorded of {target.name}: the operator has not begun with it")
    items = tuple(_numbered(facts))
    return VerbTable(target.name, "RolloutHistory", tuple(map(_row, items)), items)


def _order(fact: Fact) -> tuple[datetime, bool, datetime]:
    """Conditions tell whole seconds, and stand after the Events of theirs."""
    return fact.at.replace(microsecond=0), fact.told_by == CONDITION, fact.at


def _of_events(target: VerbTarget, events: tuple[_Event, ...]) -> Iterator[Fact]:
    uid = target.stored.metadata.uid
    for each in events:
        if each.regarding.uid == uid and each.at is not None:
            count = f" (told {each.series.count} times)" if each.series is not None and each.series.count > 1 else ""
            yield Fact(each.at, each.reason, each.note + count, EVENT, each.type == "Warning")


def _of_conditions(target: VerbTarget, events: tuple[_Event, ...]) -> Iterator[Fact]:
    """How the last attempt ended, which outlasts the Events; all that happened where those are gone."""
    has_events = any(each.regarding.uid == target.stored.metadata.uid for each in events)
    for each in target.status.conditions:
        if each.last_transition_time is None or (has_events and each.type not in ENDED):
            continue
        detail = each.message or each.reason
        yield Fact(each.last_transition_time, f"{each.type} {each.status}", detail, CONDITION)


def _numbered(facts: list[Fact]) -> Iterator[Tree]:
    """With the attempt that each is about, as far as beginnings are recorded."""
    attempt, is_open = 1, True
    for each in facts:
        if each.what == RESTARTED or (each.what in BEGINNINGS and not is_open):
            attempt, is_open = attempt + 1, True
        elif each.told_by == CONDITION or each.what in ("Rollout Finalized", "Scale Finalized"):
            is_open = False
        yield {
            "attempt": attempt,
            "at": format_rfc3339(each.at.replace(microsecond=0)),
            "what": each.what,
            "detail": each.detail,
            "toldBy": each.told_by,
            "warning": each.is_warning,
        }


def _row(item: Tree) -> dict[str, str]:
    return {
        "ATTEMPT": str(item["attempt"]),
        "WHEN": item["at"],
        "WHAT": item["what"] + (" (warning)" if item["warning"] else ""),
        "DETAIL": item["detail"] or "-",
    }
