"""Where notes for people go: each becomes an Event, and goes to the sink of its contract, if that has one."""

from __future__ import annotations

import asyncio

from fairlead.core.act import EventNote
from fairlead.engine.controller import Telling
from fairlead.engine.notices import Notices
from kubeloop.event_objects import EventForm
from kubeloop.events import Recorder
from kubeloop.gathered_events import Thing


class Notes:
    """Of one process; nothing of it waits, but for `run` and `flush`."""

    def __init__(self, recorder: Recorder, notices: Notices) -> None:
        self._recorder = recorder
        self._notices = notices

    def tell(self, telling: Telling, note: EventNote) -> None:
        """What has happened, to everybody."""
        self.tell_event(telling, note)
        self.give_notice(telling, note)

    def tell_event(self, telling: Telling, note: EventNote) -> None:
        if note.reason:
            thing = Thing(note.several, note.item) if note.item and telling.joined else None
            form = EventForm(telling.component, note.action, note.related, telling.joined)
            self._recorder.tell(note.about, note.warning, note.reason, note.text, thing, note.occurrence, form)

    def give_notice(self, telling: Telling, note: EventNote) -> None:
        if telling.sink is not None:
            self._notices.send(telling.sink, note)

    async def run(self) -> None:
        """Writes and brings what was told until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._notices.run())

    async def flush(self) -> None:
        """Writes and brings what is left, as far as that takes no more than some seconds."""
        await asyncio.gather(self._recorder.flush(), self._notices.flush())
