"""From what a decision tells to an Event."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.core.act import EventNote
from kubeloop.events import Recorder
from kubeloop.gathered_events import Thing


def telling(recorder: Recorder) -> Callable[[EventNote], None]:
    def tell(told: EventNote) -> None:
        thing = Thing(told.several, told.item) if told.item else None
        recorder.tell(told.about, told.warning, told.reason, told.text, thing, told.occurrence)

    return tell
