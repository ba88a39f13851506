"""What decides the rounds of each controller of zones, and from what, for whoever decides recorded rounds again."""

from __future__ import annotations

from fairlead.contracts.zones import decide as group
from fairlead.contracts.zones.decide.admission import unfinished_preparations
from fairlead.contracts.zones.decide.budgets import ready_time
from fairlead.contracts.zones.decide.phased import phased_rollout
from fairlead.core.replay import Decider

DECIDERS = {
    "zones": Decider(group.Snapshot, group.decide),
    "ready-time": Decider(ready_time.ReadyTimeSnapshot, ready_time.decide),
    "phased-deployments": Decider(phased_rollout.PhasedSnapshot, phased_rollout.decide),
    "unfinished-preparations": Decider(unfinished_preparations.PreparationSnapshot, unfinished_preparations.decide),
}
