"""A round of a rollout: one pass, once the facts are known that no cache shows."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.plans.decide import trait_pass
from fairlead.contracts.plans.decide.facts import completed
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.core.decision import Outcome


def decide(seen: TraitSeen, now: datetime) -> Outcome:
    found = completed(seen)
    return trait_pass.decide(found, now) if isinstance(found, TraitSeen) else found
