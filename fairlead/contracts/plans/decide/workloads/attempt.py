"""Everything that a step on workloads reads: the plan, how far it is, and the live objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from fairlead.contracts.plans.decide.batches import Batches, tolerance
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Fail, Retry
from fairlead.contracts.plans.decide.workloads.live import Workload
from fairlead.contracts.plans.kinds import RolloutPlan, RolloutStatus, WorkloadReference
from kubeloop.objects.meta import Ref


class Owner(Struct, frozen=True):
    """The rollout that claims, and the namespace that guards."""

    ref: Ref
    namespace_uid: str
    yielding: frozenset[str] = frozenset()
    """Names of ApplicationConfigurations that stop controlling what this rollout claims."""


class Source(Struct, frozen=True):
    """A source that was named or recorded; `live` is None where it is not there."""

    reference: WorkloadReference
    live: Workload | None = None


class Attempt(Struct, frozen=True, kw_only=True):
    owner: Owner
    plan: RolloutPlan
    status: RolloutStatus
    target_ref: WorkloadReference
    target: Workload | None = None
    sources: tuple[Source, ...] = ()
    """In the order in which they shrink."""
    batches: Batches | None = None
    """None until the attempt is verified."""
    pods: tuple[Mapping[str, Any], ...] = ()
    """Of the target, where its kind needs them."""
    revisions: tuple[Mapping[str, Any], ...] = ()
    """ControllerRevisions of the target, where its kind needs them."""
    gone: frozenset[str] = frozenset()
    """UIDs of owners that are known to exist no more."""
    autoscalers: Mapping[str, str] = {}
    """By name of a workload, the HorizontalPodAutoscaler that aims at it."""

    @property
    def settled(self) -> Batches:
        """The batches of an attempt that was verified."""
        if self.batches is None:
            raise ValueError("an attempt has no batches before it is verified")
        return self.batches

    @property
    def batch(self) -> int:
        return self.status.current_batch

    @property
    def size(self) -> int:
        """What all pods come to in the end."""
        return self.settled.span.target

    @property
    def goal(self) -> int:
        return self.settled.goal(self.batch)

    @property
    def goal_before(self) -> int:
        return self.settled.goal(self.batch - 1) if self.batch else self.settled.span.start

    @property
    def tolerance(self) -> int:
        return tolerance(self.plan.batch(self.batch), self.settled.span)

    @property
    def interval(self) -> int:
        """Seconds between two instances of the batch; 0: they go together."""
        return max(0, self.plan.batch(self.batch).instance_interval)

    @property
    def live_sources(self) -> tuple[Workload, ...]:
        return tuple(each.live for each in self.sources if each.live is not None)

    @property
    def missing(self) -> Retry | None:
        """R-23: of the first workload that is not there."""
        if self.target is None:
            return missing(self.target_ref)
        gone = next((each.reference for each in self.sources if each.live is None), None)
        return None if gone is None else missing(gone)

    def named(self, workload: Workload) -> str:
        """With the autoscaler that may have changed it."""
        autoscaler = self.autoscalers.get(workload.name)
        return workload.shown + (f", at which the HorizontalPodAutoscaler {autoscaler} aims," if autoscaler else "")


def missing(reference: WorkloadReference) -> Retry:
    return Retry(Why.WORKLOAD_MISSING, f"the {reference.kind} {reference.name} is not there")


def stale(workload: Workload) -> Retry:
    return Retry(Why.STATUS_STALE, f"waiting for the controller of the {workload.shown} to observe its newest spec")


def observed_target(attempt: Attempt) -> Workload | Retry:
    """The target, where its status can be trusted."""
    if attempt.target is None:
        return missing(attempt.target_ref)
    return attempt.target if attempt.target.is_observed else stale(attempt.target)


def partition_fell(attempt: Attempt) -> Fail | None:
    """R-21(c): the last batch that may be rolled is one that came before the present one."""
    partition = attempt.plan.partition
    if partition is None or partition >= attempt.batch:
        return None
    text = f"the partition is {partition}, but batch {attempt.batch} is being rolled: raise it and start again"
    return Fail(Why.DRIFT, text)
