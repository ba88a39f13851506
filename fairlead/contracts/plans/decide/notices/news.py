"""What of a pass is news, and for whom (R-33).

News is what the status of the pass tells beside that of before, so it goes out with that write: once, and only where it
is stored. The alerts of a plan stand in the place of what the operator tells by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from fairlead.contracts.plans.decide import conditions
from fairlead.contracts.plans.decide.notes import AVAILABLE, PAUSED, RESTARTED, REVERTED
from fairlead.contracts.plans.decide.turns import Pass, Turn
from fairlead.contracts.plans.kinds import (
    BATCH_REFUSED,
    FAILED,
    FAILING,
    SEVERITIES,
    SUCCEEDED,
    RolloutStatus,
)
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.act import EventNote

INFO, WARN, ERROR = SEVERITIES
SLACK_GLOBAL, WEBHOOK_GLOBAL, ALERT = "slack", "webhook", "alert"
"""Whom a notice goes to: those of the operator, or `alert namespace/name` for an AlertProvider."""
_TOLD = {RESTARTED: INFO, AVAILABLE: INFO, PAUSED: INFO, REVERTED: WARN}
"""Severity by the reason of an Event that is told elsewhere too."""


class News(Struct, frozen=True):
    event: str
    severity: str
    text: str


def notices(given: Pass, turn: Turn) -> tuple[EventNote, ...]:
    """A notice for each event and for each of those who want it."""
    return tuple(
        _notice(each, to, given, turn.status)
        for each in news(given, turn)
        for to in addressees(given, each.severity, given.seen.settings)
    )


def news(given: Pass, turn: Turn) -> Iterator[News]:
    before, after = given.status, turn.status
    for note in turn.notes:
        if note.reason in _TOLD:
            yield News(note.reason, _TOLD[note.reason], note.text)
    if after.deadline_near_time is not None and before.deadline_near_time is None:
        seconds = given.spec.rollout_plan.progress_deadline_seconds
        yield News("Deadline Near", WARN, f"most of the {seconds} s are over: {_wait(before)}")
    if after.hook_failures and not before.hook_failures:
        yield News("Hook Refused", WARN, turn.text)
    if after.batch_rolling_state == BATCH_REFUSED != before.batch_rolling_state:
        yield News("Check Refused", ERROR, turn.text)
    if after.rolling_state != before.rolling_state:
        yield from _entered(after, turn.text)


def _entered(after: RolloutStatus, text: str) -> Iterator[News]:
    match after.rolling_state:
        case state if state == SUCCEEDED:
            yield News("Rollout Succeeded", INFO, "the rollout succeeded, and the workloads are released")
        case state if state == FAILING:
            yield News("Rollout Failing", ERROR, text or conditions.cause(after))
        case state if state == FAILED:
            yield News("Rollout Failed", ERROR, conditions.cause(after) or text)


def _wait(status: RolloutStatus) -> str:
    said = conditions.message_of(status, conditions.condition_type(status))
    return said or f"in {status.rolling_state}"


def addressees(given: Pass, severity: str, settings: PlanSettings) -> Iterator[str]:
    """Each once; an alert takes what is as severe as it says, or more."""
    alerts = given.spec.rollout_plan.alerts
    if not alerts:
        if settings.slack_url:
            yield SLACK_GLOBAL
        if settings.event_webhook:
            yield WEBHOOK_GLOBAL
        return
    told: set[str] = set()
    for each in alerts:
        wanted = each.severity if each.severity in SEVERITIES else INFO
        if each.provider_ref is None or SEVERITIES.index(severity) < SEVERITIES.index(wanted):
            continue
        namespace = each.provider_ref.namespace or given.seen.rollout.metadata.namespace
        to = f"{ALERT} {namespace}/{each.provider_ref.name}"
        if to not in told:
            told.add(to)
            yield to


def _notice(told: News, to: str, given: Pass, status: RolloutStatus) -> EventNote:
    rollout = given.seen.rollout
    return EventNote(
        about=rollout.ref,
        warning=told.severity != INFO,
        reason="",
        text=told.text,
        occurrence=f"{told.event} {status.current_batch} {milliseconds(given.now)}",
        facts=(
            ("event", told.event),
            ("severity", told.severity),
            ("kind", rollout.resource.kind),
            ("phase", status.rolling_state),
            ("batch", str(status.current_batch)),
            ("workload", given.found.attempt.target_ref.name),
            ("timestamp", milliseconds(given.now)),
        ),
        to=to,
    )


def milliseconds(moment: datetime) -> str:
    return str(int(moment.timestamp() * 1000))
