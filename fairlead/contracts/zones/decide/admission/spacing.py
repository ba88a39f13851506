"""The least time between downscales of different zones of a group, as its author wrote it (section 2.1, U-2)."""

from __future__ import annotations

from fairlead.contracts.zones.kinds import MIN_TIME
from kubeloop.objects.apps import StatefulSet


def min_time_of(zone: StatefulSet) -> str | None:
    """The text of the zone's own minimum: the annotation before the label; None when it has neither."""
    return zone.metadata.annotations.get(MIN_TIME, zone.metadata.labels.get(MIN_TIME))


def rests_on_label(zone: StatefulSet) -> bool:
    """Whether the minimum stands in the label alone, which is deprecated."""
    return MIN_TIME in zone.metadata.labels and MIN_TIME not in zone.metadata.annotations
