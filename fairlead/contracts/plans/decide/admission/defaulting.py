"""Defaults that the mutating webhook writes (A-1): the strategy, and the batches where what they follow from is given.

What is of another kind than it should be is left for the validation to name. The tree that is given is not changed.
Batches that were written so once are written anew with another size or number: whoever applies a manifest that never
listed any keeps those that are stored.
"""

from __future__ import annotations

from fairlead.contracts.plans.decide.applications.trees import mapping
from fairlead.contracts.plans.decide.batches import spread
from fairlead.contracts.plans.kinds import INCREASE_FIRST, MOST_BATCHES, Json

FILLED = "rolloutBatches"
_SOURCES = ("sourceRef", "sourceApplicationName", "sourceRevisionName", "sourceAppRevisionName")
"""Where the kinds of rollouts name what they come from."""


def defaulted(rollout: Json, before: Json | None = None) -> Json:
    """The same rollout of any kind with its defaults; the very same object where it lacks none.

    `before` is what is stored of it, where it is changed.
    """
    spec = rollout.get("spec")
    plan = spec.get("rolloutPlan") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(plan, dict):
        return rollout
    given = _unfilled(plan) if before is not None and _is_outdated(plan, before) else plan
    made = _plan(given, has_source=any(spec.get(each) for each in _SOURCES))
    return rollout if made is plan else {**rollout, "spec": {**spec, "rolloutPlan": made}}


def _is_outdated(plan: Json, before: Json) -> bool:
    """Whether its batches are those that were written for what was stored, and no longer follow from what is asked."""
    stored = mapping(mapping(before.get("spec")).get("rolloutPlan"))
    filled = _plan(_unfilled(stored), has_source=True).get(FILLED)
    is_kept = filled is not None and plan.get(FILLED) == stored.get(FILLED) == filled
    return is_kept and isinstance(plan.get("numBatches"), int) and _basis(plan) != _basis(stored)


def _unfilled(plan: Json) -> Json:
    return {key: value for key, value in plan.items() if key != FILLED}


def _basis(plan: Json) -> tuple[object, object]:
    return plan.get("targetSize"), plan.get("numBatches")


def _plan(plan: Json, *, has_source: bool) -> Json:
    made = plan if plan.get("rolloutStrategy") not in (None, "") else {**plan, "rolloutStrategy": INCREASE_FIRST}
    size, count = plan.get("targetSize"), plan.get("numBatches")
    if not has_source or plan.get(FILLED) is not None:
        return made
    if not isinstance(size, int) or not isinstance(count, int) or isinstance(size, bool) or isinstance(count, bool):
        return made
    if not 1 <= count <= MOST_BATCHES or size < 0:
        return made
    return {**made, FILLED: [{"replicas": each} for each in spread(size, count)]}
