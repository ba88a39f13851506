"""Conditions of Applications and their configurations: one of a type, which keeps its time while its status stays."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.plans.applications.kinds import StateCondition

TRUE, FALSE = "True", "False"


def with_condition(
    before: tuple[StateCondition, ...], kind: str, holds: bool, reason: str, message: str, now: datetime
) -> tuple[StateCondition, ...]:
    status = TRUE if holds else FALSE
    old = next((each for each in before if each.type == kind), None)
    moment = now.replace(microsecond=0)
    if old is not None and old.status == status and old.last_transition_time is not None:
        moment = old.last_transition_time
    new = StateCondition(kind, status, reason, message, moment)
    if old is None:
        return (*before, new)
    return tuple(new if each.type == kind else each for each in before)


def message_of(conditions: tuple[StateCondition, ...], kind: str) -> str:
    return next((each.message for each in conditions if each.type == kind), "")
