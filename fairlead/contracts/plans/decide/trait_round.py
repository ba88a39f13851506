"""A round of a rollout: one pass, once the facts are known that no cache shows."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from fairlead.contracts.plans.decide import trait_pass
from fairlead.contracts.plans.decide.facts import completed
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.core.decision import Decision, Hold, Outcome
from fairlead.core.reason import Reason

SOON = timedelta(milliseconds=200)
"""A first list that shows none of its workloads wakes no rollout."""


def decide(seen: TraitSeen, now: datetime) -> Outcome:
    found = whole(seen, now)
    return trait_pass.decide(found, now) if isinstance(found, TraitSeen) else found


def whole(seen: TraitSeen, now: datetime) -> TraitSeen | Outcome:
    """With all that a pass reads; else what is to be asked, or how long to wait."""
    match completed(seen):
        case Decision(_, Hold(Reason.CACHE_BEHIND)) as waiting:
            return replace(waiting, verdict=replace(waiting.verdict, again=now + SOON))
        case other:
            return other
