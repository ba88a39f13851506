"""Kubernetes Events for people who watch: told without waiting, written when there is time, never in the way.

What repeats within ten minutes is one Event with a count, written again at most every SPACING seconds. Different texts
for the same reason about the same object that come closer together than that are gathered into one Event, so that a
rollout of many pods does not become as many writes. What cannot be written is dropped and counted; nothing that happens
here stops or fails the caller.
"""

from __future__ import annotations

import asyncio
from datetime import datetime

import msgspec
from msgspec import Struct

from fairlead.api.core import EVENTS
from fairlead.api.meta import Ref, Resource
from fairlead.kube import clock, request
from fairlead.kube.client import Client
from fairlead.kube.election import micro_time
from fairlead.kube.errors import AlreadyExists, Forbidden, KubeError, NotFound
from fairlead.kube.queue import Queue
from fairlead.kube.request import MERGE_PATCH, Request

CORE_EVENTS = Resource("", "v1", "events", "Event")
SERIES_SECONDS = 600.0
"""A repetition after a longer silence is a new Event."""
SPACING = 10.0
MOST_REMEMBERED = 1000
MOST_GATHERED = 50
LONGEST_NOTE, LONGEST_REASON, LONGEST_NAME = 1024, 128, 253
TIMEOUT = 5.0


class _Key(Struct, frozen=True):
    about: Ref
    warning: bool
    reason: str
    note: str


class _Topic(Struct, frozen=True):
    about: Ref
    warning: bool
    reason: str


class _Series(Struct):
    """One Event; `written` is the count on the server, 0 before it was created."""

    name: str
    first: datetime
    last: datetime
    told_at: float
    count: int = 1
    written: int = 0


class Recorder:
    """Events of one component of one process."""

    def __init__(self, client: Client, component: str, instance: str) -> None:
        self.dropped = 0
        """How many Events, or counts of Events, were given up."""
        self._client = client
        self._component = component
        self._instance = instance[:LONGEST_REASON]
        self._series: dict[_Key, _Series] = {}
        """What was told lately, the least recent first; at most MOST_REMEMBERED."""
        self._queue: Queue[_Key] = Queue(spacing=SPACING)
        self._gathering: dict[_Topic, dict[str, None]] = {}
        """Topics of which an Event was told less than SPACING ago, and the texts that have come since."""
        self._resource = EVENTS
        self._last_stamp = 0

    def tell(self, about: Ref, warning: bool, reason: str, text: str) -> None:
        """The Event will be written soon, alone or with others, or counted if it repeats one; returns at once."""
        topic = _Topic(about, warning, reason[:LONGEST_REASON])
        if topic in self._gathering and _Key(about, warning, topic.reason, _shortened(text)) not in self._series:
            self._add(text, self._gathering[topic])
            return
        self._tell(topic, text)
        if topic not in self._gathering:
            self._gather(topic)

    def _add(self, text: str, gathered: dict[str, None]) -> None:
        if text not in gathered and len(gathered) >= MOST_GATHERED:
            self.dropped += 1
        else:
            gathered[text] = None

    def _gather(self, topic: _Topic) -> None:
        self._gathering[topic] = {}
        asyncio.get_running_loop().call_later(SPACING, self._tell_gathered, topic)

    def _tell_gathered(self, topic: _Topic) -> None:
        texts = self._gathering.pop(topic)
        if texts:
            self._tell(topic, "; ".join(texts))
            self._gather(topic)

    def _tell(self, topic: _Topic, text: str) -> None:
        about = topic.about
        key = _Key(about, topic.warning, topic.reason, _shortened(text))
        now, moment = clock.now(), clock.monotonic()
        series = self._series.pop(key, None)
        if series is None or moment - series.told_at >= SERIES_SECONDS:
            self.dropped += series is not None and series.count > series.written
            series = _Series(self._name(about, now), now, now, moment)
        else:
            series.count += 1
            series.last, series.told_at = now, moment
        self._series[key] = series
        self._queue.add(key)
        self._make_room(moment)

    async def run(self) -> None:
        """Writes what was told until cancelled."""
        while True:
            key = await self._queue.get()
            try:
                series = self._series.get(key)
                if series is not None and series.count > series.written:
                    await self._write(key, series)
            except KubeError:
                self.dropped += 1
            finally:
                self._queue.done(key)

    def _make_room(self, moment: float) -> None:
        while self._series:
            key, oldest = next(iter(self._series.items()))
            over = moment - oldest.told_at >= SERIES_SECONDS and oldest.count == oldest.written
            if not over and len(self._series) <= MOST_REMEMBERED:
                return
            del self._series[key]
            self.dropped += oldest.count > oldest.written

    async def _write(self, key: _Key, series: _Series) -> None:
        try:
            await self._write_as(self._resource, key, series)
        except Forbidden:
            # Roles written for older releases allow core Events only; a namespace that is going allows neither.
            if self._resource == CORE_EVENTS:
                raise
            await self._write_as(CORE_EVENTS, key, series)
            self._resource = CORE_EVENTS

    async def _write_as(self, resource: Resource, key: _Key, series: _Series) -> None:
        count = series.count
        if series.written:
            try:
                await self._send(self._as_patch(resource, key, series))
            except NotFound:  # Events live for an hour
                await self._send(self._as_creation(resource, key, series))
        else:
            try:
                await self._send(self._as_creation(resource, key, series))
            except AlreadyExists:  # another component has told of the object at the same moment
                series.name = self._name(key.about, series.first)
                await self._send(self._as_creation(resource, key, series))
        series.written = count

    async def _send(self, message: Request) -> None:
        await self._client.call(msgspec.structs.replace(message, timeout=TIMEOUT))

    def _name(self, about: Ref, now: datetime) -> str:
        """Unique in this process, also when the clock stands still."""
        self._last_stamp = max(int(now.timestamp() * 1_000_000) * 1000, self._last_stamp + 1)
        stamp = f"{self._last_stamp:x}"
        return f"{about.name[: LONGEST_NAME - len(stamp) - 1].rstrip('.-')}.{stamp}"

    def _as_patch(self, resource: Resource, key: _Key, series: _Series) -> Request:
        ref = Ref(resource, _namespace(key.about), series.name)
        return request.patch(ref, MERGE_PATCH, msgspec.json.encode(_repetition(resource, series)))

    def _as_creation(self, resource: Resource, key: _Key, series: _Series) -> Request:
        about = {
            "apiVersion": key.about.resource.api_version,
            "kind": key.about.resource.kind,
            "name": key.about.name,
            "namespace": key.about.namespace,
            "uid": key.about.uid,
        }
        namespace = _namespace(key.about)
        body: dict[str, object] = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": series.name, "namespace": namespace},
            "type": "Warning" if key.warning else "Normal",
            "reason": key.reason,
            "reportingInstance": self._instance,
        }
        regarding = {field: value for field, value in about.items() if value}
        if resource == CORE_EVENTS:
            body |= {
                "involvedObject": regarding,
                "message": key.note,
                "source": {"component": self._component},
                "reportingComponent": self._component,
                "firstTimestamp": _seconds(series.first),
                **_repetition(resource, series),
            }
        else:
            body |= {
                "regarding": regarding,
                "note": key.note,
                "action": key.reason,
                "reportingController": self._component,
                "eventTime": micro_time(series.first),
                **(_repetition(resource, series) if series.count > 1 else {}),
            }
        return request.create(resource, namespace, msgspec.json.encode(body))


def _repetition(resource: Resource, series: _Series) -> dict[str, object]:
    """How often so far, and when last."""
    if resource == CORE_EVENTS:
        return {"count": series.count, "lastTimestamp": _seconds(series.last)}
    return {"series": {"count": series.count, "lastObservedTime": micro_time(series.last)}}


def _namespace(about: Ref) -> str:
    return about.namespace or "default"


def _seconds(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _shortened(text: str) -> str:
    """At most LONGEST_NOTE bytes, which is what the server counts."""
    data = text.encode(errors="replace")
    if len(data) <= LONGEST_NOTE:
        return data.decode()
    return data[: LONGEST_NOTE - len("…".encode())].decode(errors="ignore") + "…"
