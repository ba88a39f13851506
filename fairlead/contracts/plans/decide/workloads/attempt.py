"""Everything that a step on workloads reads: the plan, how far it is, and the live objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from fairlead.contracts.plans.decide.batches import Batches, tolerance
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Fail, Retry
from fairlead.contracts.plans.decide.workloads.live import Workload
from fairlead.contracts.plans.kinds import COMPONENT_REVISION, Json, RolloutPlan, RolloutStatus, WorkloadReference
from kubeloop.objects.meta import Ref


class Claimant(Struct, frozen=True):
    """The rollout that claims, and the namespace that guards."""

    ref: Ref
    namespace_uid: str
    yielding: frozenset[str] = frozenset()
    """Names of ApplicationConfigurations that stop controlling what this rollout claims."""
    takes_over: bool = False
    """Whether all of them do: it brings its target itself."""


class SourceWorkload(Struct, frozen=True):
    """A source that was named or recorded; `live` is None where it is not there."""

    reference: WorkloadReference
    live: Workload | None = None


class Before(Struct, frozen=True):
    """What a target that is updated in place was before the rollout, as a component revision tells."""

    revision: str
    template: Json
    labels: dict[str, str]
    """Those of the workload that are about the revision."""


class Attempt(Struct, frozen=True, kw_only=True):
    owner: Claimant
    plan: RolloutPlan
    status: RolloutStatus
    target_ref: WorkloadReference
    target: Workload | None = None
    target_revision: str = ""
    """The component revision that the rollout names as its target; empty where it names a workload."""
    sources: tuple[SourceWorkload, ...] = ()
    """In the order in which they shrink."""
    batches: Batches | None = None
    """None until the attempt is verified."""
    pods: tuple[Mapping[str, Any], ...] = ()
    """Of the target, where its kind needs them."""
    revisions: tuple[Mapping[str, Any], ...] = ()
    """ControllerRevisions of the target, where its kind needs them."""
    gone: frozenset[str] = frozenset()
    """UIDs of owners that are known to exist no more."""
    before: Before | None = None
    """None where nobody knows the pod template of before."""
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
        """R-23: of the first workload that is not there, or of a target that does not stay."""
        if self.target is None:
            return missing(self.target_ref)
        gone = next((each.reference for each in self.sources if each.live is None), None)
        return leaving(self.target) if gone is None else missing(gone)

    def is_carried(self, workload: Workload) -> bool:
        """Whether an earlier attempt of this rollout has had it."""
        carried = self.status.carried
        return carried is not None and any(each.names_same(workload.reference) for each in carried.refs)

    def named(self, workload: Workload) -> str:
        """With the autoscaler that may have changed it."""
        autoscaler = self.autoscalers.get(workload.name)
        return workload.shown + (f", at which the HorizontalPodAutoscaler {autoscaler} aims," if autoscaler else "")


def missing(reference: WorkloadReference) -> Retry:
    return Retry(Why.WORKLOAD_MISSING, f"the {reference.kind} {reference.name} is not there")


def leaving(workload: Workload) -> Retry | None:
    """Of a target that is being deleted: pods would move to what goes, and the old ones would not be there any more.

    With a source that goes the target is the place to be.
    """
    return Retry(Why.WORKLOAD_MISSING, f"the {workload.shown} is being deleted") if workload.is_leaving else None


def stale(workload: Workload) -> Retry:
    return Retry(Why.STATUS_STALE, f"waiting for the controller of the {workload.shown} to observe its newest spec")


def hindrance(workload: Workload) -> str:
    """What keeps pods that are waited for from coming, as the workload itself tells it; empty where it tells nothing.

    A claim lets it go on, so it was somebody else who paused it again.
    """
    if workload.is_leaving:
        return "; it is being deleted"
    if workload.is_paused:
        return f"; somebody paused it: set {workload.kind.paths.paused} to false"
    return f"; its pods are not made: {workload.pods_refused}" if workload.pods_refused else ""


def unapplied(attempt: Attempt, workload: Workload) -> Retry | None:
    """Of a workload that its configuration has not brought to the revision yet, or that no cache shows so."""
    labels = workload.metadata.get("labels")
    found = labels.get(COMPONENT_REVISION) if isinstance(labels, dict) else None
    if not attempt.target_revision or found in (None, attempt.target_revision):
        return None
    text = f"waiting for the {workload.shown} to be of the revision {attempt.target_revision}: it is of {found}"
    return Retry(Why.APPLICATION_PENDING, text)


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
