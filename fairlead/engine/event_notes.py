"""From what a decision tells to an Event, and to whoever else hears it."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.core.act import EventNote
from fairlead.engine.controller import Telling
from kubeloop.events import EventForm, Recorder
from kubeloop.gathered_events import Thing


def tell(recorder: Recorder, note: EventNote, telling: Telling) -> None:
    thing = Thing(note.several, note.item) if note.item and telling.joined else None
    form = EventForm(telling.component, note.action, note.related, telling.joined)
    recorder.tell(note.about, note.warning, note.reason, note.text, thing, note.occurrence, form)
    if telling.also is not None:
        telling.also(note)


def teller(recorder: Recorder, telling: Telling) -> Callable[[EventNote], None]:
    return lambda note: tell(recorder, note, telling)
