"""One round of a group (section 3.4): first its restart policy, then what its leader lacks."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.group_furnishing import furnished
from fairlead.contracts.leaderworker.decide.group_recreation import restarted
from fairlead.contracts.leaderworker.decide.living_group import living_group
from fairlead.contracts.leaderworker.decide.seen import GroupSeen
from fairlead.core.decision import Decision, Hold, Outcome
from fairlead.core.reason import Reason


def decide(seen: GroupSeen, now: datetime) -> Outcome:
    group = living_group(seen)
    if group is None:
        return Decision("leave", Hold(Reason.COMPLETE))
    judged = restarted(group, now)
    if isinstance(judged, Decision):
        return judged
    return _looked_at_again(furnished(group, now), judged)


def _looked_at_again(outcome: Outcome, at: datetime | None) -> Outcome:
    """Then too, where nothing else is to be looked at before."""
    match outcome:
        case Decision(verdict=Hold(again=again) as held) if at is not None and (again is None or at < again):
            return replace(outcome, verdict=replace(held, again=at))
    return outcome
