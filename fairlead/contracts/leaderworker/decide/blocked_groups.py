"""A set that waits for groups none of which gets ready by waiting: their pods are stuck, or their rounds cannot go on.

Rounds of a set do not know those of its groups, so that this is for metrics and changes nothing that is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from fairlead.contracts.leaderworker.decide.revisions import Unusable, selection
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.decide.set_round import rolled
from fairlead.contracts.leaderworker.decide.stuck import pending_groups
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason


def blocking(seen: SetSeen, rounds: Mapping[str, Decision], now: datetime) -> Reason | None:
    """The first reason for which a group waits for a person, where all that the set waits for do; else None.

    `rounds` is what was decided last about groups, by the name of the leader.
    """
    if not any(_reason(each) for each in rounds.values()) or seen.leaders is None:
        return None
    chosen = selection(seen.set, seen.leaders, seen.revisions)
    if isinstance(chosen, Unusable):
        return None
    found = rolled(seen, chosen)
    pending = pending_groups(seen, found.groups, found.plan.replicas, now)
    told = {index: _reason(rounds.get(f"{seen.set.metadata.name}-{index}")) for index in pending}
    is_held = all(told[index] or each.stuck for index, each in pending.items())
    return next(filter(None, told.values()), None) if is_held else None


def _reason(decision: Decision | None) -> Reason | None:
    """Why the group does not go on before somebody acts."""
    verdict = None if decision is None else decision.verdict
    return verdict.reason if isinstance(verdict, Hold) and verdict.reason.blocks else None
