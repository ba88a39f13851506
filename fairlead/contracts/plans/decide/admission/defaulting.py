"""Defaults that the mutating webhook writes (A-1): the strategy, and the batches where what they follow from is given.

What is of another kind than it should be is left for the validation to name. The tree that is given is not changed.
"""

from __future__ import annotations

from fairlead.contracts.plans.decide.batches import spread
from fairlead.contracts.plans.kinds import INCREASE_FIRST, MOST_BATCHES, Json

_SOURCES = ("sourceRef", "sourceApplicationName", "sourceRevisionName", "sourceAppRevisionName")
"""Where the kinds of rollouts name what they come from."""


def defaulted(rollout: Json) -> Json:
    """The same rollout of any kind with its defaults; the very same object where it lacks none."""
    spec = rollout.get("spec")
    plan = spec.get("rolloutPlan") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(plan, dict):
        return rollout
    made = _plan(plan, has_source=any(spec.get(each) for each in _SOURCES))
    return rollout if made is plan else {**rollout, "spec": {**spec, "rolloutPlan": made}}


def _plan(plan: Json, *, has_source: bool) -> Json:
    made = plan if plan.get("rolloutStrategy") not in (None, "") else {**plan, "rolloutStrategy": INCREASE_FIRST}
    size, count = plan.get("targetSize"), plan.get("numBatches")
    if not has_source or plan.get("rolloutBatches") is not None:
        return made
    if not isinstance(size, int) or not isinstance(count, int) or isinstance(size, bool) or isinstance(count, bool):
        return made
    if not 1 <= count <= MOST_BATCHES or size < 0:
        return made
    return {**made, "rolloutBatches": [{"replicas": each} for each in spread(size, count)]}
