"""Section 3.6: a zone takes its replicas from a leader, downwards only some time after any other zone shrank."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from fairlead.contracts.zones.decide.admission.last_downscale import if_ahead
from fairlead.contracts.zones.decide.admission.spacing import min_time_of
from fairlead.contracts.zones.decide.groups import Group, Zone
from fairlead.contracts.zones.decide.rollout.max_unavailable import shown
from fairlead.contracts.zones.decide.scaling.scale_target import (
    Findings,
    ScalingFailure,
    Want,
    after,
    aside,
    failure,
    forced,
)
from fairlead.contracts.zones.kinds import LAST_DOWNSCALE, LEADER, MIN_TIME, UPSCALE_ONLY_WHEN_LEADER_READY
from fairlead.core.decision import SideNote
from fairlead.core.reason import Reason
from fairlead.core.times import format_rfc3339, parse_rfc3339
from kubeloop.durations import go_nanoseconds


class Shrunk(Struct, frozen=True):
    """The most recent downscale of some zones."""

    zone: Zone
    at: datetime


def follows(zone: Zone) -> bool:
    return bool(leader_name(zone))


def leader_name(zone: Zone) -> str:
    return zone.statefulset.metadata.annotations.get(LEADER, "")


def followed(group: Group, now: datetime) -> Findings:
    """Rules 22 to 25: the first zone in order of names that is to change, or the first error, ends the walk."""
    waits: list[SideNote] = []
    for zone in filter(follows, group.zones):
        match target_of(zone, group, now):
            case Want() as want:
                return Findings(want, tuple(waits))
            case ScalingFailure(why):
                return Findings(None, (*waits, why), failed=True)
            case SideNote() as wait:
                waits.append(wait)
    return Findings(None, tuple(waits))


def target_of(zone: Zone, group: Group, now: datetime) -> Want | SideNote | ScalingFailure | None:
    """What following asks of one zone; None when it has the replicas that it should have."""
    leader = next((other for other in group.zones if other.name == leader_name(zone)), None)
    if leader is None:
        return failure(zone, Reason.LEADER_MISSING, shown(leader_name(zone)))
    have, wanted = zone.statefulset.spec.replicas, leader.statefulset.spec.replicas
    number = forced(zone)
    if number is not None:
        return Want(zone, number, "forced by its annotation") if number != have else None
    if wanted > have:
        return grown(zone, leader)
    return shrunk(zone, leader, group, now) if wanted < have else None


def grown(zone: Zone, leader: Zone) -> Want | SideNote:
    """Rule 23 upwards, B-2: at once, unless the zone wants to see its leader ready first."""
    wanted, ready = leader.statefulset.spec.replicas, leader.statefulset.status.ready_replicas
    patient = zone.statefulset.metadata.annotations.get(UPSCALE_ONLY_WHEN_LEADER_READY) == "true"
    if patient and ready != wanted:
        detail = f"{ready} of {wanted} replicas of its leader {leader.name} are ready"
        return aside(zone, Reason.LEADER_NOT_READY, detail, instead_of=wanted)
    return Want(zone, wanted, f"as its leader {leader.name} has")


def shrunk(zone: Zone, leader: Zone, group: Group, now: datetime) -> Want | SideNote | ScalingFailure:
    """Rule 24: downwards when the zone's own minimum has passed since any other zone shrank.

    With 12h on this zone and the last of the others at 06:00:00, 18:00:00 is too early and a moment later is not. A
    time that lies in the future has not passed (E-19).
    """
    wanted = leader.statefulset.spec.replicas
    last = last_shrunk(zone, group)
    if isinstance(last, ScalingFailure):
        return last
    want = Want(zone, wanted, f"as its leader {leader.name} has")
    if last is None:
        return want
    text = min_time_of(zone.statefulset)
    if text is None:
        return failure(
            zone, Reason.INVALID_ANNOTATION, f"it needs the annotation {MIN_TIME} to follow its leader downwards"
        )
    try:
        minimum = go_nanoseconds(text)
    except ValueError as error:
        return failure(zone, Reason.INVALID_ANNOTATION, f"{MIN_TIME}: {error}")
    if (now - last.at) // timedelta(microseconds=1) * 1000 > minimum:
        return want
    until = after(last.at, minimum + 1)  # strictly more must have passed
    when = format_rfc3339(until) if until is not None else "a time that no calendar has"
    detail = (
        f"{last.zone.name} was scaled down at {format_rfc3339(last.at)} and {text} must pass, until {when}"
        f"{if_ahead(last.at, now)}"
    )
    return aside(zone, Reason.DOWNSCALE_SPACING, detail, instead_of=wanted, until=until)


def last_shrunk(zone: Zone, group: Group) -> Shrunk | ScalingFailure | None:
    """Among all zones but this one; None when none of them ever shrank. Any time that cannot be read is an error."""
    found = []
    for other in group.zones:
        text = other.statefulset.metadata.annotations.get(LAST_DOWNSCALE)
        if other is zone or text is None:
            continue
        try:
            found.append(Shrunk(other, parse_rfc3339(text)))
        except ValueError as error:
            return failure(zone, Reason.INVALID_ANNOTATION, f"{LAST_DOWNSCALE} of {other.name}: {error}")
    return max(found, key=lambda each: each.at, default=None)
