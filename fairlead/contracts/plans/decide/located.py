"""The attempt that a pass works on: its plan, its batches, and the live workloads that it names.

Before verification these are the workloads that the spec names, with those that an earlier attempt left behind first;
afterwards those that were recorded, whatever the spec says by then.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide import conditions
from fairlead.contracts.plans.decide.batches import Batches, Mismatch, batches_of
from fairlead.contracts.plans.decide.component_revisions import before, is_revision, resolved
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.workloads.answers import Fail
from fairlead.contracts.plans.decide.workloads.attempt import Attempt, Before, Claimant, SourceWorkload
from fairlead.contracts.plans.decide.workloads.claims import controlled, original_of
from fairlead.contracts.plans.decide.workloads.handlers import Handler, recorded_span, starts_as_scale
from fairlead.contracts.plans.decide.workloads.kind_table import kind_of, unsupported
from fairlead.contracts.plans.decide.workloads.live import Paths, Style, Workload, WorkloadKind, number_at
from fairlead.contracts.plans.decide.workloads.plugged import handler_of, plugged
from fairlead.contracts.plans.kinds import (
    LOCATING,
    STATE_CONDITIONS,
    SUCCEEDED,
    RolloutStatus,
    TraitSpec,
    WorkloadReference,
    each_once,
)

_ANY = WorkloadKind(Style.PAIR, Paths(paused=""))
"""How a workload is released whose kind is no longer known: its claim is in its metadata."""


class Located(Struct, frozen=True):
    attempt: Attempt
    handler: Handler
    kind: WorkloadKind
    is_scale: bool
    problem: str = ""
    """Why the kind of the target cannot be rolled."""
    mismatch: str = ""
    """Why the plan does not lead to the recorded size."""


def owner_of(seen: TraitSeen) -> Claimant:
    rollout = seen.rollout
    return Claimant(rollout.ref, seen.namespace_uid, rollout.configurations, takes_over=rollout.first_state == LOCATING)


def located(seen: TraitSeen, spec: TraitSpec, status: RolloutStatus) -> Located:
    target_ref = _workload(seen, status.last_target_ref or spec.target_ref)
    found = _kind(seen, target_ref)
    if f"{target_ref.kind}.{target_ref.group}" in seen.unserved:
        found = unsupported(target_ref)
    kind, problem = (found, "") if isinstance(found, WorkloadKind) else (_ANY, found)
    target = _live(seen, target_ref, kind)
    is_verified = status.target_generation != "" and status.effective_batches != ()
    names = _recorded_sources(status) if is_verified else _named_sources(seen, spec, status, target_ref, kind)
    sources = tuple(SourceWorkload(each, _live(seen, each, kind)) for each in names)
    attempt = Attempt(
        owner=owner_of(seen),
        plan=spec.rollout_plan,
        status=status,
        target_ref=target_ref,
        target=target,
        target_revision=_target_revision(spec, status, kind),
        sources=sources,
        pods=seen.pods,
        revisions=seen.revisions,
        gone=seen.gone,
        before=_before(seen, spec, status, target),
        autoscalers=seen.autoscalers,
    )
    if is_verified:
        return _verified(attempt, kind, problem)
    has_source = bool(attempt.live_sources) and not _is_scaled_down(attempt)
    is_scale = starts_as_scale(target, kind.style, has_source=has_source)
    return Located(attempt, handler_of(target_ref, kind, is_scale=is_scale), kind, is_scale, problem)


def _is_scaled_down(attempt: Attempt) -> bool:
    """After a success the target has all of the pods, and a smaller `targetSize` scales it: the sources that are still
    named have none to give, and the target of a pair never shrinks."""
    status, target, size = attempt.status, attempt.target, attempt.plan.target_size
    if target is None or size is None or size >= target.status_size:
        return False
    left = () if status.carried is None else status.carried.refs
    is_alone = all(each.names_same(attempt.target_ref) for each in left)
    is_empty = not any(each.size or each.status_size for each in attempt.live_sources)
    return is_alone and is_empty and conditions.is_true(status, STATE_CONDITIONS[SUCCEEDED])


def _before(seen: TraitSeen, spec: TraitSpec, status: RolloutStatus, target: Workload | None) -> Before | None:
    """What a target that is updated in place goes back to."""
    if target is None or target.kind.style is Style.PAIR:
        return None
    named, sources = status.last_target_ref or spec.target_ref, status.last_source_ref or spec.source_ref
    others = [each for each in sources if not each.names_same(named)]
    rollout = seen.rollout
    return before(target, others, rollout.source_application, rollout.metadata.namespace, seen.answers)


def _target_revision(spec: TraitSpec, status: RolloutStatus, kind: WorkloadKind) -> str:
    named = status.last_target_ref or spec.target_ref
    return named.name if is_revision(named) and kind.style is not Style.PAIR else ""


def _kind(seen: TraitSeen, reference: WorkloadReference) -> WorkloadKind | str:
    plugin = plugged(reference)
    if plugin is not None:
        return plugin.kind
    return kind_of(_as_served(seen, reference), {(each.group, each.kind): each.rollout for each in seen.extensions})


def _verified(attempt: Attempt, kind: WorkloadKind, problem: str) -> Located:
    """With the batches of the live plan; those of a DaemonSet are recorded, because nodes come and go."""
    status = attempt.status
    span = recorded_span(status)
    batches: Batches | Mismatch = Batches(span, status.effective_batches)
    if kind.style is not Style.NODES or not status.effective_batches:
        batches = batches_of(attempt.plan, span)
    handler = handler_of(attempt.target_ref, kind, is_scale=span.is_scale)
    if isinstance(batches, Mismatch):
        return Located(attempt, handler, kind, span.is_scale, problem, batches.text)
    return Located(replace(attempt, batches=batches), handler, kind, span.is_scale, problem)


def _recorded_sources(status: RolloutStatus) -> tuple[WorkloadReference, ...]:
    return tuple(each.ref for each in status.sources)


def _named_sources(
    seen: TraitSeen, spec: TraitSpec, status: RolloutStatus, target: WorkloadReference, kind: WorkloadKind
) -> tuple[WorkloadReference, ...]:
    """What an earlier attempt left comes first; each workload once, and never the target of a pair."""
    named = tuple(_workload(seen, each) for each in spec.source_ref)
    if kind.style is not Style.PAIR:
        return named
    left = () if status.carried is None else tuple(_workload(seen, each) for each in status.carried.refs)
    carried = [each for each in left if (live := _live(seen, each, kind)) is not None and _is_left(seen, live)]
    return each_once(each for each in (*carried, *named) if not each.names_same(target))


def _is_left(seen: TraitSeen, live: Workload) -> bool:
    """Whether it has pods, or had some before the first attempt, so that a revert gives them back to it (V-2)."""
    had = number_at(original_of(live), "replicas") or 0
    return live.size > 0 or (had > 0 and not isinstance(controlled(live, owner_of(seen), seen.gone), Fail))


def _workload(seen: TraitSeen, reference: WorkloadReference) -> WorkloadReference:
    """T-6: of a component revision, the workload that it stands for."""
    return resolved(reference, seen.rollout.metadata.namespace, seen.answers)


def _as_served(seen: TraitSeen, reference: WorkloadReference) -> WorkloadReference:
    """In the version that the workload is read in, which has its fields in places of its own."""
    live = seen.live(reference)
    return reference if live is None else replace(reference, api_version=live.resource.api_version)


def _live(seen: TraitSeen, reference: WorkloadReference, kind: WorkloadKind) -> Workload | None:
    found = seen.live(reference)
    return None if found is None else Workload(found.resource, found.tree, kind)
