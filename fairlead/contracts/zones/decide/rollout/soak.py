"""A pause between zones: the next one starts only when those that were rolled have been ready for a while.

Nothing is stored: how long a zone has been ready is told by its pods, the youngest of them. A pod whose condition does
not say since when it is ready holds nothing up, because nobody could say until when it should.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.zones.decide.groups import Group, Zone
from fairlead.contracts.zones.decide.rollout.readiness import ready_since
from fairlead.contracts.zones.decide.scaling.scale_target import after
from fairlead.contracts.zones.kinds import ZONE_SOAK
from kubeloop.durations import go_nanoseconds
from kubeloop.objects.apps import StatefulSet


class Soaking(Struct, frozen=True):
    """A zone that was rolled holds the next one back."""

    rolled: Zone
    length: str
    """As its annotation says."""
    until: datetime


def soaking(zone: Zone, group: Group) -> Soaking | None:
    """What keeps this zone, which has not begun, from starting; the longest of several."""
    found = (_soaking(other, group.at) for other in group.zones if other is not zone and not other.outdated)
    return max(filter(None, found), key=lambda each: each.until, default=None)


def _soaking(rolled: Zone, now: datetime) -> Soaking | None:
    length, _ = soak_of(rolled.statefulset)
    if length <= 0:
        return None
    since = max((moment for pod in rolled.pods if (moment := ready_since(pod)) is not None), default=None)
    until = None if since is None else after(since, length)
    if until is None or until <= now:
        return None
    return Soaking(rolled, rolled.statefulset.metadata.annotations[ZONE_SOAK], until)


def soak_of(statefulset: StatefulSet) -> tuple[int, str]:
    """Nanoseconds, 0 for none; and why the annotation cannot be used, empty when it can."""
    text = statefulset.metadata.annotations.get(ZONE_SOAK)
    if text is None:
        return 0, ""
    try:
        length = go_nanoseconds(text)
    except ValueError as error:
        return 0, str(error)
    return (length, "") if length >= 0 else (0, f'"{text}" is negative')
