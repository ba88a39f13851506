"""What users wished for and did not get: annotations and labels that cannot be followed, checks that only warn."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.zones.decide.groups import Group, marks_all
from fairlead.contracts.zones.decide.healthchecks.healthcheck import referred
from fairlead.contracts.zones.decide.rollout.soak import soak_of
from fairlead.contracts.zones.decide.rollout.zone_order import zone_order_of
from fairlead.contracts.zones.decide.scaling.scale_target import aside
from fairlead.contracts.zones.kinds import ROTATE, ZONE_SOAK
from fairlead.core.decision import SideNote
from fairlead.core.progress_deadline import PROGRESS_DEADLINE, deadline_of
from fairlead.core.reason import Reason


def ignored(group: Group) -> Iterator[SideNote]:
    """The same in every pass, so it is told once."""
    for zone in group.zones:
        _, problem = soak_of(zone.statefulset)
        if problem:
            yield aside(zone, Reason.SOAK_IGNORED, f"{ZONE_SOAK}: {problem}")
        _, problem = deadline_of(zone.statefulset.metadata.annotations)
        if problem:
            yield aside(zone, Reason.DEADLINE_IGNORED, f"{PROGRESS_DEADLINE}: {problem}")
        if marks_all(zone.statefulset):
            yield aside(zone, Reason.ROTATION_IGNORED, f"label {ROTATE}")
        check = referred(zone, group)
        if isinstance(check, str):
            yield aside(zone, Reason.HEALTH_CHECK_UNUSABLE, check)


def warned(group: Group) -> Iterator[SideNote]:
    """Of zones that start although a check speaks against it."""
    starts = zone_order_of(group).starts if group.seen.checks else ()
    return (each for start in starts for each in start.warnings)
