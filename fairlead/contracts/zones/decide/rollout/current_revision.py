"""Rule 19: the record that a zone has finished, which the StatefulSet controller never makes for OnDelete."""

from __future__ import annotations

from fairlead.contracts.zones.decide.groups import Zone
from fairlead.contracts.zones.decide.live import body_of
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.contracts.zones.words import WRITES
from fairlead.core.act import Does, EventNote, Replace


def recorded(zone: Zone, seen: Snapshot) -> Replace | None:
    """The live object with nothing but `status.currentRevision` changed, bound to the version that was decided upon.

    None when the cache already shows a newer version than was read: that one has to be read first.
    """
    body = body_of(zone.statefulset, seen)
    if body is None:
        return None
    status = zone.statefulset.status
    words = WRITES[Does.COMPLETE_REVISION]
    return Replace(
        ref=zone.ref,
        does=Does.COMPLETE_REVISION,
        scope=zone.ref.uid,
        change_from=status.current_revision,
        change_to=status.update_revision,
        body=body.with_current_revision(status.update_revision),
        resource_version=zone.statefulset.metadata.resource_version,
        subresource="status",
        tell=EventNote(zone.ref, False, words.event, words.text.format(detail=status.update_revision)),
    )
