"""Rule 19: the record that a zone has finished, which the StatefulSet controller never makes for OnDelete."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec import Raw, Struct

from fairlead.decide.act import Does, Replace, Tell
from fairlead.decide.ask import Ask, Bad, Good, Read
from fairlead.decide.decision import Hold
from fairlead.decide.reason import Reason
from fairlead.decide.zones.groups import Zone
from fairlead.decide.zones.seen import Snapshot
from fairlead.decide.zones.words import WRITES

CATCH_UP = timedelta(seconds=1)
"""How long a cache may take to show what a live read has just shown."""


def question(zone: Zone) -> Ask:
    """Status is written by replacing it, so the whole object must be known; the cache holds a part of it."""
    return Ask(Read(zone.ref))


def recorded(zone: Zone, seen: Snapshot, now: datetime) -> Replace | Hold | None:
    """The live object with nothing but `status.currentRevision` changed; None when the zone has vanished.

    The decision rests on the version that was seen, so any other version is waited for.
    """
    match seen.answers[question(zone)]:
        case Bad(kind="absent"):
            return None
        case Bad():
            return Hold(Reason.READ_FAILED)
        case Good(body):
            live = _decoded(body)
    if live is None:
        return Hold(Reason.READ_FAILED)
    if live.version != zone.statefulset.metadata.resource_version:
        return Hold(Reason.CACHE_BEHIND, again=now + CATCH_UP)
    status = zone.statefulset.status
    words = WRITES[Does.COMPLETE_REVISION]
    return Replace(
        ref=zone.ref,
        does=Does.COMPLETE_REVISION,
        change_from=status.current_revision,
        change_to=status.update_revision,
        body=live.with_revision(status.update_revision),
        resource_version=live.version,
        subresource="status",
        tell=Tell(zone.ref, False, words.event, words.text.format(detail=status.update_revision)),
    )


class _LiveMeta(Struct, rename="camel"):
    resource_version: str


class _Live(Struct):
    """An object of which every field that is not touched stays as it came, byte for byte."""

    version: str
    fields: dict[str, Raw]
    status: dict[str, Raw]

    def with_revision(self, revision: str) -> bytes:
        status = {**self.status, "currentRevision": Raw(msgspec.json.encode(revision))}
        return msgspec.json.encode({**self.fields, "status": status})


def _decoded(body: bytes) -> _Live | None:
    try:
        fields = msgspec.json.decode(body, type=dict[str, Raw])
        version = msgspec.json.decode(fields["metadata"], type=_LiveMeta).resource_version
        status = msgspec.json.decode(fields["status"], type=dict[str, Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError):
        return None
    return _Live(version, fields, status)
