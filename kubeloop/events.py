"""Kubernetes Events for people who watch: told without waiting, written when there is time, never in the way.

What repeats within ten minutes is one Event with a count, written again after SPACING seconds at the soonest, and the
longer it goes on the more rarely, up to LONGEST_SPACING. When it is over the count is right after that time, or sooner:
when the object has other news, and when the process ends in order.

Different texts for the same reason about the same object that come closer together than SPACING are gathered into one
Event. Things of which there are many, such as deleted pods, are gathered for longer: first for a moment, so that a
batch is one Event, then by the minute. What was gathered about an object is told before anything else about it, so that
Events read in the order of what happened, and when the process ends in order. What cannot be written is dropped and
counted; nothing that happens here stops or fails the caller.

A process that is killed takes with it what it had gathered, of a minute at most; its log has every single effect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

import msgspec
from msgspec import Struct

from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import (
    AlreadyExists,
    ApiError,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    ServerError,
    Throttled,
    TransportError,
)
from kubeloop.event_objects import (
    CORE_EVENTS,
    USUAL_FORM,
    EventForm,
    EventKey,
    Reporter,
    as_creation,
    as_patch,
    event_name,
    name_for_all,
    namespace_of,
    shortened,
    word,
)
from kubeloop.event_series import LONGEST_SPACING, SERIES_SECONDS, SPACING, Series, ToldSeries
from kubeloop.gathered_events import Gathered, Thing
from kubeloop.objects.core import EVENTS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.queue import Queue
from kubeloop.request import Request

MOMENT = 0.5
"""Seconds that the first of several things waits for the others of its batch."""
GATHERING_SECONDS = 60.0
"""For how long things of which there are many are gathered after one of them was told."""
TIMEOUT = 5.0
FLUSH_SECONDS = 3.0


class _Topic(Struct, frozen=True):
    about: Ref
    warning: bool
    reason: str
    form: EventForm = USUAL_FORM


class Stamps:
    """What names of Events end with: moments, each later than the one before, even when the clock stands still."""

    def __init__(self) -> None:
        self._last = 0

    def next(self, now: datetime) -> str:
        self._last = max(int(now.timestamp() * 1_000_000) * 1000, self._last + 1)
        return f"{self._last:x}"


class Recorder:
    """Events of one component of one process."""

    def __init__(
        self,
        client: Client,
        component: str,
        instance: str,
        *,
        refused: Callable[[ApiError], None] = lambda _: None,
        stamps: Stamps | None = None,
    ) -> None:
        """`refused` is told when the server begins to refuse what it is sent, for want of a right or for what it is.

        Recorders of one process that tell of the same objects share their `stamps`, lest their Events have one name.
        """
        self.dropped = 0
        """How many Events, or counts of Events, were given up."""
        self._client = client
        self._reporter = Reporter(component, instance)
        self._series = ToldSeries()
        self._queue: Queue[EventKey] = Queue(spacing=SPACING)
        self._gathering: dict[_Topic, Gathered] = {}
        """Topics of which an Event was told lately, and what has come since."""
        self._topics: dict[Ref, dict[_Topic, None]] = {}
        """The same topics by their object."""
        self._writing = asyncio.Lock()
        self._refused = refused
        self._is_refused = False
        """Whether the last Event that the server judged was refused."""
        self._core_only: set[str] = set()
        """Namespaces in which only core Events may be written."""
        self._stamps = stamps or Stamps()

    def tell(
        self,
        about: Ref,
        warning: bool,
        reason: str,
        text: str,
        thing: Thing | None = None,
        occurrence: str = "",
        form: EventForm = USUAL_FORM,
    ) -> None:
        """The Event will be written soon, alone or with others, or counted if it repeats one; returns at once.

        `thing` is given where it is one of many of which the same is said. An `occurrence` has an Event of its own, and
        one that another process has written, such as this one before it was restarted, is left as it is.
        """
        topic = _Topic(about, warning, word(reason), form)
        if occurrence or not form.joined:
            self._tell_earlier(about)
            self._tell(topic, text, occurrence)
        elif topic in self._gathering and self._is_new(topic, text):
            self._gathering[topic].add(text, thing)
        elif topic not in self._gathering and thing is not None:
            self._gather(topic, MOMENT).add(text, thing)
        else:
            self._tell_earlier(about)
            self._tell(topic, text)
            if topic not in self._gathering:
                self._gather(topic, SPACING)

    async def flush(self) -> None:
        """Writes what is left to be told, as far as that takes no longer than FLUSH_SECONDS."""
        for topic in list(self._gathering):
            self._tell_gathered(topic)
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                for key in list(self._series):
                    await self._written(key)

    def _is_new(self, topic: _Topic, text: str) -> bool:
        return _key(topic, text) not in self._series

    def _gather(self, topic: _Topic, seconds: float) -> Gathered:
        self._gathering[topic] = gathered = Gathered()
        self._topics.setdefault(topic.about, {})[topic] = None
        asyncio.get_running_loop().call_later(seconds, self._end_gathering, topic, seconds)
        return gathered

    def _end_gathering(self, topic: _Topic, seconds: float) -> None:
        """Where something came, more is gathered: things of which there are many for longer."""
        if self._gathering[topic]:
            self._tell_gathered(topic)
            self._gather(topic, SPACING if seconds == SPACING else GATHERING_SECONDS)
        else:
            del self._gathering[topic]
            del self._topics[topic.about][topic]
            if not self._topics[topic.about]:
                del self._topics[topic.about]

    def _tell_earlier(self, about: Ref) -> None:
        for topic in self._topics.get(about, ()):
            self._tell_gathered(topic)

    def _tell_gathered(self, topic: _Topic) -> None:
        gathered = self._gathering[topic]
        if gathered:
            self._gathering[topic] = Gathered()
            self._tell(topic, gathered.text())
            self.dropped += gathered.dropped

    def _tell(self, topic: _Topic, text: str, occurrence: str = "") -> None:
        about = topic.about
        key = _key(topic, text)
        now, moment = clock.now(), clock.monotonic()
        series = self._series.pop(key)
        if series is None or moment - series.told_at >= SERIES_SECONDS:
            self.dropped += series is not None and series.is_unwritten
            name = name_for_all(key, occurrence) if occurrence else self._name(about, now)
            series = Series(name, now, now, moment, due=moment, of_all=bool(occurrence))
            self._catch_up(about)
        else:
            series.count += 1
            series.last, series.told_at = max(series.last, now), moment  # the clock may have been set back
        self._series.put(key, series)
        self._queue.add_after(key, series.due - moment)
        self.dropped += self._series.make_room(moment)

    def _catch_up(self, about: Ref) -> None:
        """Other news of an object may mean that what was counted about it is over."""
        for key, series in self._series.unwritten_about(about):
            series.due = clock.monotonic()
            self._queue.add(key)

    async def run(self) -> None:
        """Writes what was told until cancelled."""
        while True:
            key = await self._queue.get()
            try:
                if (wait := self._due_in(key)) > 0:  # it was told again while it was being written
                    self._queue.add_after(key, wait)
                else:
                    await self._written(key)
            finally:
                self._queue.done(key)

    def _due_in(self, key: EventKey) -> float:
        series = self._series.get(key)
        return 0.0 if series is None else series.due - clock.monotonic()

    async def _written(self, key: EventKey) -> None:
        async with self._writing:
            series = self._series.get(key)
            if series is None or not series.is_unwritten:
                return
            count = series.count
            try:
                await self._write(key, series)
                self._is_refused = False
                series.written = count
            except KubeError as error:
                self._tell_refusal(error)
                if not self._is_tried_again(series, error):
                    self.dropped += 1
                    series.written = count
            series.due = clock.monotonic() + series.spacing
            series.spacing = min(2 * series.spacing, LONGEST_SPACING)
            if series.is_unwritten:
                self._queue.add_after(key, series.due - clock.monotonic())
            elif self._series.get(key) is series:
                self._series.put(key, series)

    def _is_tried_again(self, series: Series, error: KubeError) -> bool:
        """A count is, while its series lasts; an Event is not, since the server may have it and would have it twice."""
        is_passing = isinstance(error, TransportError | ServerError | Throttled)
        return bool(series.written) and is_passing and clock.monotonic() - series.told_at < SERIES_SECONDS

    def _tell_refusal(self, error: KubeError) -> None:
        """Once; that a server fails at this moment is told by whoever needs it more."""
        if isinstance(error, Forbidden | Invalid):
            if not self._is_refused:
                self._refused(error)
            self._is_refused = True

    async def _write(self, key: EventKey, series: Series) -> None:
        namespace = namespace_of(key.about)
        if namespace in self._core_only:
            await self._write_as(CORE_EVENTS, key, series)
            return
        try:
            await self._write_as(EVENTS, key, series)
        except Forbidden:
            # Roles written for older releases allow core Events only; a namespace that is going allows neither.
            await self._write_as(CORE_EVENTS, key, series)
            self._core_only.add(namespace)

    async def _write_as(self, resource: Resource, key: EventKey, series: Series) -> None:
        if series.written:
            try:
                await self._send(as_patch(resource, series.name, key, series.told))
            except NotFound:  # Events live for an hour
                await self._create(resource, key, series)
        else:
            try:
                await self._create(resource, key, series)
            except AlreadyExists:  # another component has told of the object at the same moment
                if series.of_all:
                    return
                series.name = self._name(key.about, series.first)
                await self._create(resource, key, series)

    async def _create(self, resource: Resource, key: EventKey, series: Series) -> None:
        await self._send(as_creation(resource, series.name, key, series.told, self._reporter))

    async def _send(self, message: Request) -> None:
        await self._client.call(msgspec.structs.replace(message, timeout=TIMEOUT))

    def _name(self, about: Ref, now: datetime) -> str:
        """Unique among those who share the stamps."""
        return event_name(about, self._stamps.next(now))


def _key(topic: _Topic, text: str) -> EventKey:
    return EventKey(topic.about, topic.warning, topic.reason, shortened(text), topic.form)
