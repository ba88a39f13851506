"""What people are told about a decision, beside what its writes tell once they are done."""

from __future__ import annotations

from fairlead.contracts.zones.decide.groups import Group
from fairlead.contracts.zones.decide.waits import waits_of
from fairlead.contracts.zones.words import INVALID_BUDGET, REASONS
from fairlead.core.act import EventNote
from fairlead.core.decision import Hold, SideNote, Verdict
from fairlead.core.reason import Reason


def tells_of(group: Group, verdict: Verdict) -> tuple[EventNote, ...]:
    """Warnings about the zones that hold the group back and about annotations that could not be used."""
    return (*warnings_of(group, verdict), *unusable_annotations(group))


def told_beside(asides: tuple[SideNote, ...]) -> tuple[EventNote, ...]:
    """Warnings about what is not going on although the pass does."""
    return tuple(
        EventNote(aside.about, True, event, aside.text) for aside in asides if (event := REASONS[aside.reason].event)
    )


def warnings_of(group: Group, verdict: Verdict) -> tuple[EventNote, ...]:
    if not isinstance(verdict, Hold) or not (event := REASONS[verdict.reason].event):
        return ()
    waits = [wait for wait in waits_of(group, verdict) if wait.reason is verdict.reason]
    if verdict.reason is Reason.TWO_ZONES_NOT_READY:  # one wait, told about each of the zones
        return tuple(EventNote(zone.ref, True, event, wait.told) for wait in waits for zone in group.not_ready)
    return tuple(EventNote(wait.zone.ref, True, event, wait.told, occurrence=wait.occurrence) for wait in waits)


def unusable_annotations(group: Group) -> tuple[EventNote, ...]:
    return tuple(
        EventNote(
            zone.ref,
            True,
            INVALID_BUDGET.event,
            INVALID_BUDGET.text.format(detail=zone.budget.problem),
        )
        for zone in group.zones
        if zone.budget.problem
    )
