"""What a set says of itself: counts of groups, conditions, and the one Event that a turn of them tells.

Sections 2.3 and 2.16 and 3.11. A condition is absent until it first holds and is never removed; when it no longer holds
it keeps its reason and message. Only a turn changes its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.groups import GroupState, rolling_update
from fairlead.contracts.leaderworker.kinds import (
    NAME,
    WORKER_INDEX,
    LeaderWorkerSet,
    LeaderWorkerSetStatus,
    SetCondition,
    StatefulSet,
)

AVAILABLE, PROGRESSING, UPDATE_IN_PROGRESS, FAILED = "Available", "Progressing", "UpdateInProgress", "Failed"
ALL_GROUPS_READY, GROUPS_PROGRESSING, GROUPS_UPDATING = "AllGroupsReady", "GroupsProgressing", "GroupsUpdating"
MAX_RESTARTS_EXCEEDED = "MaxGroupRestartsExceeded"
_SAID = {
    AVAILABLE: (ALL_GROUPS_READY, "All replicas are ready"),
    PROGRESSING: (GROUPS_PROGRESSING, "Replicas are progressing"),
    UPDATE_IN_PROGRESS: (GROUPS_UPDATING, "Rolling Upgrade is in progress"),
}
_EXCLUDED = {
    AVAILABLE: frozenset({PROGRESSING, UPDATE_IN_PROGRESS}),
    PROGRESSING: frozenset({AVAILABLE}),
    UPDATE_IN_PROGRESS: frozenset({AVAILABLE}),
}
"""What each ends when it begins."""


class StatusEvent(Struct, frozen=True):
    """What the Event of a status write says."""

    reason: str
    note: str


class StatusReport(Struct, frozen=True):
    status: LeaderWorkerSetStatus
    is_changed: bool
    """Whether it is to be written."""
    is_done: bool
    """Whether the update is done: all groups are ready on the selected key, and no partition holds any back."""
    turn: StatusEvent | None = None


def report(
    seen: LeaderWorkerSet,
    leaders: StatefulSet,
    groups: Sequence[GroupState],
    now: datetime,
    failed: Sequence[int] = (),
) -> StatusReport:
    """The status after a round that recorded and applied what the spec says; `failed` groups are left as they are."""
    counted = [each for each in groups if each.counts]
    ready = sum(each.is_ready for each in counted)
    holding = _holding(seen, counted)
    moment = now.replace(microsecond=0)  # as conditions carry times
    conditions = _turned(seen.status.conditions, [_true(each) for each in holding], moment)
    conditions = _with_failed(conditions, failed, moment)
    generation = seen.metadata.generation
    status = LeaderWorkerSetStatus(
        replicas=leaders.status.replicas,
        ready_replicas=ready,
        updated_replicas=sum(each.is_updated for each in counted),
        hpa_pod_selector=seen.status.hpa_pod_selector or f"{NAME}={seen.metadata.name},{WORKER_INDEX}=0",
        observed_generation=generation,
        conditions=tuple(replace(each, observed_generation=generation) for each in conditions),
    )
    return StatusReport(
        status=status,
        is_changed=status != seen.status,
        is_done=is_done(seen, counted),
        turn=_turn(seen, holding, ready),
    )


def _wanted(seen: LeaderWorkerSet, counted: Iterable[GroupState], first: int) -> list[GroupState]:
    """Groups from an index on, those of a surge left out."""
    return [each for each in counted if first <= each.index < seen.spec.replicas]


def _holding(seen: LeaderWorkerSet, counted: Sequence[GroupState]) -> tuple[str, ...]:
    """The conditions that hold, the one that is told first (section 3.11 point 4)."""
    moved = _wanted(seen, counted, max(0, rolling_update(seen).partition))
    if any(not each.is_updated for each in moved):
        return UPDATE_IN_PROGRESS, PROGRESSING
    ready = sum(each.is_ready for each in _wanted(seen, counted, 0))
    if ready == seen.spec.replicas and all(each.is_ready for each in moved):
        return (AVAILABLE,)
    return (PROGRESSING,)


def is_done(seen: LeaderWorkerSet, groups: Iterable[GroupState]) -> bool:
    """Section 3.11 point 5."""
    there = _wanted(seen, [each for each in groups if each.counts], 0)
    ready = sum(each.is_ready and each.is_updated for each in there)
    return rolling_update(seen).partition <= 0 and ready == seen.spec.replicas


def _true(kind: str) -> SetCondition:
    reason, message = _SAID[kind]
    return SetCondition(kind, "True", reason, message)


def _turned(existing: Iterable[SetCondition], holding: Iterable[SetCondition], now: datetime) -> list[SetCondition]:
    found = {each.type: each for each in existing}
    for each in holding:
        for other in _EXCLUDED[each.type] & found.keys():
            if found[other].status == "True":
                found[other] = replace(found[other], status="False", last_transition_time=now)
        if each.type not in found or found[each.type].status != "True":
            found[each.type] = replace(each, last_transition_time=now)
    return list(found.values())


def _with_failed(conditions: list[SetCondition], failed: Sequence[int], now: datetime) -> list[SetCondition]:
    """The fourth condition, which excludes none: groups that are no longer recreated (section 6.8)."""
    before = next((each for each in conditions if each.type == FAILED), None)
    others = [each for each in conditions if each.type != FAILED]
    if not failed:
        if before is None or before.status == "False":
            return conditions
        return [*others, replace(before, status="False", last_transition_time=now)]
    names = ", ".join(map(str, sorted(failed)))
    message = f"Recreated as often as allowed, and left as they are: groups {names}"
    began = before.last_transition_time if before is not None and before.status == "True" else now
    return [*others, SetCondition(FAILED, "True", MAX_RESTARTS_EXCEEDED, message, began)]


def _turn(seen: LeaderWorkerSet, holding: tuple[str, ...], ready: int) -> StatusEvent | None:
    """One Event for a write that turns conditions: that of the update where it turns with another."""
    before = {each.type for each in seen.status.conditions if each.status == "True"}
    new = [each for each in holding if each not in before]
    if not new:
        return None
    reason, message = _SAID[new[0]]
    return StatusEvent(reason, f"{message}, with {ready} groups ready of total {seen.spec.replicas} groups")
