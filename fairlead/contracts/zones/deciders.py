"""What decides the rounds and reviews of zones, and from what, for whoever decides recorded ones again."""

from __future__ import annotations

from fairlead.contracts.zones import decide as group
from fairlead.contracts.zones.decide.admission import unfinished_preparations
from fairlead.contracts.zones.decide.admission.no_downscale import no_downscale
from fairlead.contracts.zones.decide.admission.prepare_downscale import prepare_downscale
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot
from fairlead.contracts.zones.decide.budgets import eviction, ready_time, zpdb
from fairlead.contracts.zones.decide.phased import phased_admission, phased_rollout
from fairlead.core.replay import Decider

DECIDERS = {
    "zones": Decider(group.Snapshot, group.decide),
    "ready-time": Decider(ready_time.ReadyTimeSnapshot, ready_time.decide),
    "phased-deployments": Decider(phased_rollout.PhasedSnapshot, phased_rollout.decide),
    "unfinished-preparations": Decider(unfinished_preparations.PreparationSnapshot, unfinished_preparations.decide),
    "/admission/no-downscale": Decider(ReviewSnapshot, no_downscale),
    "/admission/prepare-downscale": Decider(ReviewSnapshot, prepare_downscale),
    "/admission/pod-eviction": Decider(eviction.EvictionSnapshot, eviction.judge),
    "/admission/zpdb-validation": Decider(ReviewSnapshot, zpdb.judge),
    "/admission/phased-deployment": Decider(ReviewSnapshot, phased_admission.judge),
}
"""By controller, and by the first path of a webhook."""
