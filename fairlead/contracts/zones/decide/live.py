"""Live reads before a zone is written to, because the cache of StatefulSets may be behind the cache of their pods.

A pod that was made from a template which the cache does not show yet looks outdated; it would be deleted, made anew
and deleted again for as long as the cache stays behind. So whatever a pass would write to is read first, and the newer
of cache and answer is decided upon.
"""

from __future__ import annotations

from datetime import timedelta

import msgspec
from msgspec import Raw, Struct

from fairlead.contracts.zones.decide.membership import group_name
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.core.ask import Answer, Ask, Bad, Good, Read
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.meta import Ref
from kubeloop.objects.resource_versions import is_later
from kubeloop.unreadable import UNREADABLE

CATCH_UP = timedelta(seconds=1)
"""How long a cache may take to show what a live read has just shown."""


def ref_of(zone: StatefulSet) -> Ref:
    return Ref(STATEFULSETS, zone.metadata.namespace, zone.metadata.name, zone.metadata.uid)


def question(zone: StatefulSet) -> Ask:
    return Ask(Read(ref_of(zone)))


def newest(zone: StatefulSet, seen: Snapshot) -> StatefulSet | None:
    """The zone as it was read, where that is newer than the cache; None when it was found to be gone."""
    match seen.answers.known.get(question(zone)):
        case Bad(kind="absent"):
            return None
        case Good(body):
            live = _decoded(body)
            if live is not None and live.metadata.uid == zone.metadata.uid and _is_newer(live, than=zone):
                return live
    return zone


def doubt(zone: StatefulSet, seen: Snapshot) -> Reason | None:
    """Why the answer about this zone does not allow to write to it; None when it does."""
    answer: Answer = seen.answers[question(zone)]
    live = _decoded(answer.value) if isinstance(answer, Good) else None
    if live is None:
        return Reason.READ_FAILED
    # Another incarnation, or one that has left the group: the watch is about to tell.
    same = live.metadata.uid == zone.metadata.uid and group_name(live) == seen.group
    return None if same else Reason.CACHE_BEHIND


class Body(Struct):
    """A StatefulSet of which every field that is not touched stays as it came, byte for byte."""

    fields: dict[str, Raw]
    status: dict[str, Raw]

    def with_current_revision(self, revision: str) -> bytes:
        status = {**self.status, "currentRevision": Raw(msgspec.json.encode(revision))}
        return msgspec.json.encode({**self.fields, "status": status})


def body_of(zone: StatefulSet, seen: Snapshot) -> Body | None:
    """All fields of exactly this version of the zone; None when another version was read."""
    answer = seen.answers[question(zone)]
    if not isinstance(answer, Good):
        return None
    live = _decoded(answer.value)
    if live is None or live.metadata.resource_version != zone.metadata.resource_version:
        return None
    fields = msgspec.json.decode(answer.value, type=dict[str, Raw])
    return Body(fields, msgspec.json.decode(fields.get("status", b"{}"), type=dict[str, Raw]))


def _decoded(body: bytes) -> StatefulSet | None:
    try:
        return msgspec.json.decode(body, type=StatefulSet)
    except UNREADABLE:
        return None


def _is_newer(live: StatefulSet, *, than: StatefulSet) -> bool:
    new, old = live.metadata.resource_version, than.metadata.resource_version
    later = is_later(new, old)
    return new != old if later is None else later
