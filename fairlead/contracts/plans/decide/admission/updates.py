"""What may change about a rollout (A-5 to A-9): everything with another target or source, else little by little.

Both objects are compared with their defaults, so that one which was stored before the webhooks were there may be
applied again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.plans.decide.admission.defaulting import defaulted
from fairlead.contracts.plans.decide.admission.validation import PLAN
from fairlead.contracts.plans.decide.batches import Mismatch, batches_of
from fairlead.contracts.plans.decide.reading import read, rollout_plan, rollout_status
from fairlead.contracts.plans.decide.states import known
from fairlead.contracts.plans.decide.workloads.handlers import recorded_span
from fairlead.contracts.plans.kinds import (
    FAILED,
    MOST_BATCHES,
    NO_TARGET_SIZE,
    TERMINAL,
    Json,
    RolloutPlan,
    RolloutStatus,
    TraitSpec,
)

FREE = frozenset({"canaryMetric", "paused", "revertOnDelete", "alerts", "progressDeadlineSeconds", "onFailure"})
STEPPED = frozenset({"lastBatchToRollout", "batchPartition", "rolloutBatches"})
ENDED = "a successful or failed rollout cannot be modified without changing the target or the source"


def refusals(new: Json, old: Json, *, is_renamed: bool, others: frozenset[str] = frozenset()) -> Iterator[str]:
    """`is_renamed`: it is about another target or source (A-8); `others` are fields beside the plan that changed, by
    their paths, and that no rollout in work may change."""
    status = known(rollout_status(old.get("status")))
    if not status.rolling_state or is_renamed:
        return
    changed = set(_changed(new, old))
    if status.rolling_state in TERMINAL:
        yield from _ended(status, changed | others)
        return
    fields = [*sorted(others), *(f"{PLAN}.{each}" for each in sorted(changed - FREE - STEPPED))]
    for field in fields:
        yield f"{field}: Forbidden: cannot be changed while the rollout is active"
    after, before = _plan(new), _plan(old)
    yield from _lowered(after, before)
    if "rolloutBatches" in changed:
        yield from _batches(after, before, status)


def trait_refusals(new: Json, old: Json) -> Iterator[str]:
    after, before = _spec(new), _spec(old)
    return refusals(new, old, is_renamed=has_other_names(after, before))


def has_other_names(after: TraitSpec, before: TraitSpec) -> bool:
    """A-8: another target, or other sources in whatever order they are shrunk."""
    if not after.target_ref.names_same(before.target_ref) or len(after.source_ref) != len(before.source_ref):
        return True
    pairs = zip(after.source_ref, before.source_ref, strict=True)
    return not all(one.names_same(other) for one, other in pairs)


def _spec(trait: Json) -> TraitSpec:
    return read(TraitSpec, trait.get("spec"), "spec")[0]


def _plan(rollout: Json) -> RolloutPlan:
    return rollout_plan(_plan_tree(rollout))[0]


def _ended(status: RolloutStatus, changed: set[str]) -> Iterator[str]:
    """A-9; another size starts the rollout again, and after a failed verification nothing is claimed."""
    is_unverified = status.rolling_state == FAILED and not status.target_generation
    if changed - FREE and not is_unverified and "targetSize" not in changed:
        yield f"{PLAN}: Forbidden: {ENDED}"


def _changed(new: Json, old: Json) -> Iterator[str]:
    after, before = _plan_tree(new), _plan_tree(old)
    for field in after.keys() | before.keys():
        if after.get(field) != before.get(field):
            yield field


def _plan_tree(rollout: Json) -> dict[str, Any]:
    spec = defaulted(rollout).get("spec")
    plan = spec.get("rolloutPlan") if isinstance(spec, dict) else None
    return plan if isinstance(plan, dict) else {}


def _lowered(after: RolloutPlan, before: RolloutPlan) -> Iterator[str]:
    """A-6: none is the last batch, so that naming one takes something back."""
    new, old = _partition(after), _partition(before)
    if new < old:
        name = "lastBatchToRollout" if after.last_batch_to_rollout is not None else "batchPartition"
        yield f"{PLAN}.{name}: Forbidden: may only rise while the rollout is active, from {old} on"


def _partition(plan: RolloutPlan) -> int:
    last = plan.batch_count - 1
    return last if plan.partition is None else min(plan.partition, last)


def _batches(after: RolloutPlan, before: RolloutPlan, status: RolloutStatus) -> Iterator[str]:
    """A-7."""
    kept = max(_partition(before), status.current_batch)
    for place in range(min(kept, MOST_BATCHES) + 1):
        is_gone = place >= after.batch_count and place < before.batch_count
        if is_gone or after.batch(place) != before.batch(place):
            yield f"{PLAN}.rolloutBatches[{place}]: Forbidden: batches up to {kept} may be rolled already"
    if status.rollout_target_size == NO_TARGET_SIZE:
        return
    found = batches_of(after, recorded_span(status))
    if isinstance(found, Mismatch):
        yield f"{PLAN}.rolloutBatches: Invalid value: {found.text}"
