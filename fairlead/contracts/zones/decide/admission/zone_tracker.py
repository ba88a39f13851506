"""The zone tracker (section 3.12, section 2.9): times of downscales in a ConfigMap, one entry per zone.

It serves all groups of a namespace and may be anybody's to label: a write changes one entry, is bound to the version
that was read, and leaves every other byte of the object as it came.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from fairlead.contracts.zones.decide.admission.last_downscale import is_repetition
from fairlead.contracts.zones.decide.admission.review_reading import decoded
from fairlead.core.act import Create, Does, Replace
from fairlead.core.ask import Answers, Ask, Bad, Good, Question, Read
from fairlead.core.times import format_rfc3339, parse_rfc3339
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref

MEMBER = "lastDownscaled"
MOST_WRITES = 3
"""How often an entry is written when others change the ConfigMap at the same time."""


class _Meta(Struct, frozen=True, rename="camel"):
    resource_version: str


class _ConfigMap(Struct, frozen=True):
    metadata: _Meta
    data: dict[str, Raw] | None = None


class Tracked(Struct, frozen=True):
    """The ConfigMap as it was read."""

    fields: dict[str, Raw]
    data: dict[str, Raw]
    version: str

    def times(self) -> dict[str, datetime]:
        """When each zone was last downscaled; ValueError names an entry that cannot be read (E-28)."""
        return {zone: time_in(zone, value) for zone, value in self.data.items()}

    def own_time(self, zone: str) -> datetime | None:
        """None without an entry, and with one that cannot be read: it is about to be replaced."""
        try:
            return time_in(zone, self.data[zone]) if zone in self.data else None
        except ValueError:
            return None

    def with_time(self, zone: str, now: datetime) -> bytes:
        data = {**self.data, zone: Raw(msgspec.json.encode(entry(now)))}
        return msgspec.json.encode({**self.fields, "data": data})


def entry(now: datetime) -> str:
    return msgspec.json.encode({MEMBER: format_rfc3339(now)}).decode()


def time_in(zone: str, value: Raw) -> datetime:
    """The time of an entry, its member's name in any case; ValueError when there is none."""
    text = decoded(value, str)
    members = None if text is None else decoded(text.encode(), dict[str, Raw])
    found = [each for name, each in (members or {}).items() if name.lower() == MEMBER.lower()]
    time = decoded(found[-1], str) if found else None
    if time is None:
        raise ValueError(f'entry {zone} of the zone tracker has no time: write {{"{MEMBER}":"2026-03-01T12:00:00Z"}}')
    try:
        return parse_rfc3339(time)
    except ValueError as error:
        raise ValueError(f"entry {zone} of the zone tracker: {error}") from error


class Tracker(Struct, frozen=True):
    """Where the tracker is, and what has been answered about it."""

    namespace: str
    name: str
    answers: Answers

    @property
    def ref(self) -> Ref:
        return Ref(CONFIGMAPS, self.namespace, self.name)

    def question(self, after: str = "") -> Ask:
        return Ask(Read(self.ref, after=after))

    def loaded(self, zones: Iterable[StatefulSet], now: datetime) -> Tracked | Question | str:
        """Section 3.11 step 9: the ConfigMap, made where there is none; a text says why it is not known.

        Where another made it in the meantime, that one is read.
        """
        found = self.read()
        if found is not None:
            return found
        create = self.created([zone.metadata.name for zone in zones], now)
        match self.answers.known.get(create):
            case None:
                return create
            case Good(body):
                return understood(body)
            case Bad(kind="conflict"):
                again = self.read(after="absent")
                return (
                    f"the zone tracker {self.name} was created and deleted several times; try again"
                    if again is None
                    else again
                )
            case Bad() as bad:
                return f"the zone tracker {self.name} could not be created: {bad.text or bad.kind}"

    def read(self, after: str = "") -> Tracked | Question | str | None:
        """None when there is no ConfigMap."""
        question = self.question(after)
        match self.answers.known.get(question):
            case None:
                return question
            case Good(body):
                return understood(body)
            case Bad(kind="absent"):
                return None
            case Bad() as bad:
                return f"the zone tracker {self.name} could not be read: {bad.text or bad.kind}"

    def write(self, last: Tracked | None, zone: StatefulSet, now: datetime) -> Create | Replace | None:
        """Section 3.11 step 12: sets this zone's entry to now; None when it stays as it is (H-4)."""
        name = zone.metadata.name
        if last is None:
            return self.created([name], now)
        before = last.own_time(name)
        if is_repetition(before, zone, now):
            return None
        return Replace(
            does=Does.TRACK_DOWNSCALE,
            scope=zone.metadata.uid,
            change_from=format_rfc3339(before) if before else "",
            change_to=format_rfc3339(now),
            ref=self.ref,
            body=last.with_time(name, now),
            resource_version=last.version,
        )

    def recorded(self, last: Tracked | None, zone: StatefulSet, now: datetime) -> Question | str:
        """What is still to be asked until the entry is written; an empty text when it is, else why it cannot be."""
        for _ in range(MOST_WRITES):
            write = self.write(last, zone, now)
            if write is None:
                return ""
            match self.answers.known.get(write):
                case None:
                    return write
                case Good():
                    return ""
                case Bad(kind="conflict"):
                    again = self.read(after="absent" if last is None else last.version)
                    if again is not None and not isinstance(again, Tracked):
                        return again
                    last = again
                case Bad() as bad:
                    return f"the zone tracker {self.name} could not be written: {bad.text or bad.kind}"
        return f"the zone tracker {self.name} was changed by others each time it was written; try again"

    def created(self, zones: Iterable[str], now: datetime) -> Create:
        tree = {
            "apiVersion": CONFIGMAPS.api_version,
            "kind": CONFIGMAPS.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "data": dict.fromkeys(zones, entry(now)),
        }
        return Create(
            does=Does.TRACK_DOWNSCALE,
            change_to=format_rfc3339(now),
            resource=CONFIGMAPS,
            namespace=self.namespace,
            name=self.name,
            body=msgspec.json.encode(tree),
        )


def understood(body: bytes) -> Tracked | str:
    fields, known = decoded(body, dict[str, Raw]), decoded(body, _ConfigMap)
    if fields is None or known is None:
        return "the zone tracker is no ConfigMap that can be read"
    return Tracked(fields, known.data or {}, known.metadata.resource_version)
