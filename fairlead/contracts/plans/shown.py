"""A rollout as people look at it: what its pass was decided on, what was decided, and what both come to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property

from msgspec import Struct

from fairlead.contracts.plans.decide import conditions, states
from fairlead.contracts.plans.decide.batches import Batches, Span
from fairlead.contracts.plans.decide.facts import completed
from fairlead.contracts.plans.decide.located import Located, located
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.workloads.answers import Verified
from fairlead.contracts.plans.decide.workloads.attempt import Attempt
from fairlead.contracts.plans.kinds import (
    BATCH_READY,
    FAILED,
    ROLLING,
    STATE_CONDITIONS,
    SUCCEEDED,
    TERMINAL,
    RolloutPlan,
    RolloutStatus,
    TraitSpec,
)
from fairlead.core.decision import Decision, Move


class Shown(Struct, frozen=True, dict=True, kw_only=True):
    seen: TraitSeen
    decision: Decision
    at: datetime
    since: Mapping[str, datetime] = {}
    """By `key_of_wait`: when a wait was first seen that no fact dates."""

    @property
    def name(self) -> str:
        return self.seen.rollout.metadata.name

    @property
    def namespace(self) -> str:
        return self.seen.rollout.metadata.namespace

    @property
    def noun(self) -> str:
        return self.seen.rollout.resource.kind.lower()

    @property
    def place(self) -> str:
        """Name and namespace as arguments of a command."""
        return f"{self.name} -n {self.namespace}"

    @cached_property
    def spec(self) -> TraitSpec:
        return self.seen.rollout.read_spec[0]

    @property
    def plan(self) -> RolloutPlan:
        return self.spec.rollout_plan

    @cached_property
    def status(self) -> RolloutStatus:
        """As it is stored; an attempt that has ended and is begun again with this decision is no longer told of."""
        stored = states.known(self.seen.rollout.read_status)
        is_leaving = self.seen.rollout.metadata.deletion_timestamp is not None
        if stored.rolling_state in TERMINAL and isinstance(self.decision.verdict, Move) and not is_leaving:
            return states.reset(stored, self.at, self.seen.rollout.first_state)
        return stored

    @cached_property
    def found(self) -> Located:
        """With what was asked for in the pass, such as how a custom kind is rolled."""
        known = completed(self.seen)
        return located(known if isinstance(known, TraitSeen) else self.seen, self.spec, self.status)

    @property
    def attempt(self) -> Attempt:
        return self.found.attempt

    @property
    def is_verified(self) -> bool:
        return self.status.target_generation != ""

    @cached_property
    def batches(self) -> Batches | None:
        """Those of the attempt; before it is verified, those that it would have; None where nobody can tell."""
        if self.attempt.batches is not None:
            return self.attempt.batches
        if self.is_verified or self.found.problem:
            return self._recorded
        verified = self.found.handler.verify(self.attempt)
        if not isinstance(verified, Verified):
            return None
        span = Span(verified.target_size, verified.original_size, is_scale=self.found.is_scale)
        return Batches(span, verified.sizes)

    @property
    def _recorded(self) -> Batches | None:
        """As the status has them, where the plan no longer leads to the recorded size."""
        status = self.status
        if not status.effective_batches or status.rollout_target_size < 0:
            return None
        span = Span(status.rollout_target_size, status.rollout_original_size, is_scale=self.found.is_scale)
        return Batches(span, status.effective_batches)

    @cached_property
    def moved(self) -> int:
        """How many of the pods that the batches share are where they should be, and ready."""
        batches, attempt = self.batches, self.attempt
        if batches is None or attempt.target is None:
            return 0
        span = batches.span
        if self.status.rolling_state == SUCCEEDED:
            return span.distance
        if not self.is_verified:
            return 0
        ready = self.found.handler.ready(attempt)
        if span.is_shrinking:
            ready = max(ready, attempt.target.status_size)
            return min(span.distance, max(0, span.original - ready))
        return min(span.distance, max(0, ready - span.start))

    @property
    def is_gated(self) -> bool:
        """Whether the batch in work is the last that may be rolled, and is done."""
        partition = self.plan.partition
        is_at_end = self.batches is not None and self.status.current_batch >= self.batches.last
        is_done = (self.status.rolling_state, self.status.batch_rolling_state) == (ROLLING, BATCH_READY)
        return is_done and partition is not None and partition <= self.status.current_batch and not is_at_end

    @property
    def is_reverted(self) -> bool:
        """Whether a failed attempt has taken everything back."""
        return states.is_reverted(self.status)

    @property
    def waited_since(self) -> datetime | None:
        """Since when the condition of the present state has said what it says; None where it says nothing."""
        status = self.status
        if status.rolling_state in (FAILED, SUCCEEDED):
            kind = STATE_CONDITIONS[status.rolling_state]
            return next((each.last_transition_time for each in status.conditions if each.type == kind), None)
        if status.paused_since is not None:
            return status.paused_since
        return conditions.said_since(status, conditions.condition_type(status))
