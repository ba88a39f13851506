"""A status with times that are still to come: a clock was ahead when they were written, and is set right since.

What counts from such a time counts from now, so that nothing waits for as long as the clock was ahead: the deadline of
a batch, the pause between two instances, the failures of a hook. What ended an attempt stays what is newest.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from fairlead.contracts.plans.kinds import RolloutCondition, RolloutStatus

_TIMES = ("batch_start_time", "batch_available_time", "paused_since", "deadline_near_time", "last_instance_time")


def not_ahead(status: RolloutStatus, now: datetime) -> RolloutStatus:
    """The same status where no time of it is ahead of now."""
    ahead = {name: now for name in _TIMES if _is_ahead(getattr(status, name), now)}
    if any(_is_ahead(each.last_transition_time, now) for each in status.conditions):
        return replace(status, **ahead, conditions=tuple(_held_back(each, now) for each in status.conditions))
    return replace(status, **ahead) if ahead else status


def _held_back(condition: RolloutCondition, now: datetime) -> RolloutCondition:
    if not _is_ahead(condition.last_transition_time, now):
        return condition
    return replace(condition, last_transition_time=now.replace(microsecond=0))


def _is_ahead(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and moment > now
