"""What users wished for and did not get: annotations and labels that cannot be followed, checks that only warn."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.api.zones import ROTATE, ZONE_SOAK
from fairlead.decide.decision import Aside
from fairlead.decide.progress_deadline import PROGRESS_DEADLINE, deadline_of
from fairlead.decide.reason import Reason
from fairlead.decide.zones.course import course_of
from fairlead.decide.zones.groups import Group, marks_all
from fairlead.decide.zones.healthcheck import referred
from fairlead.decide.zones.soak import soak_of
from fairlead.decide.zones.wants import aside


def ignored(group: Group) -> Iterator[Aside]:
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


def warned(group: Group) -> Iterator[Aside]:
    """Of zones that start although a check speaks against it."""
    starts = course_of(group).starts if group.seen.checks else ()
    return (each for start in starts for each in start.warnings)
