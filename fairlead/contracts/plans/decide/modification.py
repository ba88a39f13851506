"""Another target, source or size than the attempt works on (R-12 and R-13)."""

from __future__ import annotations

from msgspec.structs import replace

from fairlead.contracts.plans.kinds import (
    DELETING,
    FAILED,
    NO_TARGET_SIZE,
    RolloutStatus,
    TraitSpec,
    WorkloadReference,
)


def is_modified(spec: TraitSpec, status: RolloutStatus, generation: int, *, follows_nodes: bool) -> bool:
    """`follows_nodes`: whether the cluster says how large the target is, so that `targetSize` counts only at first."""
    if status.rolling_state == DELETING:
        return False
    if status.last_target_ref is not None and not spec.target_ref.names_same(status.last_target_ref):
        return True
    if status.last_source_ref and not _are_same(spec.source_ref, status.last_source_ref):
        return True
    size, recorded = spec.rollout_plan.target_size, status.rollout_target_size
    if not follows_nodes and size is not None and recorded != NO_TARGET_SIZE and size != recorded:
        return True
    is_unverified = status.rolling_state == FAILED and not status.target_generation
    return is_unverified and generation > status.observed_generation


def recorded(status: RolloutStatus, spec: TraitSpec) -> RolloutStatus:
    """With the names that the next attempt works on."""
    return replace(status, last_target_ref=spec.target_ref, last_source_ref=spec.source_ref)


def _are_same(one: tuple[WorkloadReference, ...], other: tuple[WorkloadReference, ...]) -> bool:
    return len(one) == len(other) and all(map(WorkloadReference.names_same, one, other))
