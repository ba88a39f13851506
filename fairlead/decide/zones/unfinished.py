"""Preparations that came to nothing: pods that are still there long after their note are told that they stay.

A process that is killed while pods prepare cannot take it back, and no webhook hears what became of a request that it
allowed: another may have denied it. When the note of a preparation is older than any request can be and the pods are
still wanted, they are told, under the mark, so that no downscale prepares them meanwhile; then the note goes.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from fairlead.api.apps import StatefulSet
from fairlead.api.zones import PREPARING, Settings
from fairlead.decide.act import Patch
from fairlead.decide.ask import Anew, Answer, Answers, Bad, Good, Need
from fairlead.decide.decision import Decision, Hold, Move
from fairlead.decide.reason import Reason
from fairlead.decide.zones import live, marks
from fairlead.decide.zones.neighbours import group_of
from fairlead.decide.zones.preparation import calls_to, uncallable
from fairlead.decide.zones.preparation_note import existing, forgotten, note_of
from fairlead.decide.zones.reviewing import decoded

OVERDUE = timedelta(minutes=3)
"""After this nothing can come of a request any more: it may leave the note of the last as it is for half a minute, and
the API server gives up on it after a minute."""
AGAIN = timedelta(minutes=5)
"""Until pods that gave no answer are told again."""
SOON = timedelta(seconds=5)
"""Until what is in the way is looked at again."""

NOTHING = Decision("", Hold(Reason.COMPLETE))


class Seen(Struct, frozen=True):
    """A StatefulSet as the cache shows it."""

    zone: StatefulSet
    answers: Answers = Answers()
    settings: Settings = Settings()


def is_noted(zone: StatefulSet) -> bool:
    return PREPARING in zone.metadata.annotations


def decide(seen: Seen, now: datetime) -> Decision | Need | Anew:
    """The removal of a note that says nothing any more, once all that it names have been told."""
    zone = seen.zone
    if not is_noted(zone):
        return NOTHING
    note = note_of(zone)
    if note is not None and now < note.since + OVERDUE:
        return _wait(note.since + OVERDUE)
    if note is None or uncallable(zone) or note.ordinals.isdisjoint(existing(zone)):
        return _forget(zone)
    return _told(seen, sorted(note.ordinals & frozenset(existing(zone))), now)


def _told(seen: Seen, ordinals: list[int], now: datetime) -> Decision | Need | Anew:
    zone, answers, group = seen.zone, seen.answers, group_of(seen.zone)
    record = marks.question(zone.metadata.namespace, group) if group else marks.own_question(zone)
    read = live.question(zone)
    if todo := answers.lacking((record,), (read,)):
        return Need(todo)
    mark, shown = answers[record], answers[read]
    if not isinstance(mark, Good) or marks.in_progress(mark, now) or not _is_same(shown, zone):
        return _wait(now + SOON)
    calls = calls_to(zone, ordinals, seen.settings, f"unfinished {zone.metadata.uid} {now.isoformat()}")
    take = marks.taken(record, mark, zone.metadata.name, now, calls.length(seen.settings))
    if todo := answers.lacking((take,)):
        return Need(todo)
    taken = answers[take]
    if isinstance(taken, Bad):
        return Anew() if taken.kind == "conflict" else _wait(now + SOON)
    if todo := answers.lacking(calls.undo, (marks.ended(record, taken),)):
        return Need(todo)
    unheard = any(isinstance(bad := answers[call], Bad) and not bad.code for call in calls.undo)
    return _wait(now + AGAIN) if unheard else _forget(zone)


def _is_same(answer: Answer, zone: StatefulSet) -> bool:
    """Whether the cluster still shows the same note and as many replicas."""
    found = decoded(answer.value, StatefulSet) if isinstance(answer, Good) else None
    return (
        found is not None
        and found.metadata.uid == zone.metadata.uid
        and found.metadata.annotations.get(PREPARING) == zone.metadata.annotations[PREPARING]
        and existing(found) == existing(zone)
    )


def _forget(zone: StatefulSet) -> Decision:
    write: Patch = forgotten(zone, zone.metadata.annotations[PREPARING])
    return Decision("unfinished-preparation", Move(Reason.SETTLING, (write,)))


def _wait(until: datetime) -> Decision:
    return Decision("unfinished-preparation", Hold(Reason.NEEDS_ANSWER, until))
