"""The explain document of a rollout with a plan: its batches, the workloads between which pods move, what it waits for.

A function of what the pass was decided on and of its decision, so it can be made when somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from fairlead.contracts.plans.advice import advice_of
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import reverts
from fairlead.contracts.plans.decide.workloads.answers import Retry
from fairlead.contracts.plans.kinds import (
    ABANDONED,
    DELETING,
    FAILED,
    FAILING,
    FINALISING,
    INITIALIZING,
    LOCATING,
    ON_FAILURE_REVERT,
    PART,
    ROLLING,
    SUCCEEDED,
    TERMINAL,
    VERIFYING,
)
from fairlead.contracts.plans.lanes import lanes_of
from fairlead.contracts.plans.next_steps import coming
from fairlead.contracts.plans.rolled_workloads import workloads_of
from fairlead.contracts.plans.shown import Shown
from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import Block, Explain, Stands, key_of_wait
from fairlead.core.outcome import outcome_of
from fairlead.core.reason import Reason

PHASES = {
    "": "New",
    LOCATING: "Locating",
    VERIFYING: "Verifying",
    INITIALIZING: "Initializing",
    ROLLING: "Rolling",
    FINALISING: "Finishing",
    FAILING: "Failing",
    ABANDONED: "Abandoning",
    DELETING: "Leaving",
    SUCCEEDED: "Succeeded",
    FAILED: "Failed",
}


def explained(seen: TraitSeen, decision: Decision, now: datetime) -> Explain:
    return explain(Shown(seen=seen, decision=decision, at=now))


def explain(shown: Shown) -> Explain:
    """Where the rollout stands after this decision, and why."""
    verdict, batches = shown.decision.verdict, shown.batches
    return Explain(
        part=PART,
        noun=shown.noun,
        namespace=shown.namespace,
        rollout=shown.name,
        outcome=outcome_of(verdict.reason),
        ended=shown.status.rolling_state == FAILED and shown.decision.rule == "rest",
        stands=Stands(
            phase=phase_of(shown),
            done=shown.moved,
            total=_expected(shown) if batches is None else batches.span.distance,
            unit="pods",
            lanes=lanes_of(shown),
        ),
        next=() if verdict.reason.blocks else tuple(coming(shown)),
        blocked_by=tuple(_waits(shown)),
        notes=tuple(_notes(shown)),
        again=verdict.again,
        workloads=workloads_of(shown),
    )


def _expected(shown: Shown) -> int:
    """As many as there are, while nobody has worked out a size."""
    found = [each for each in (shown.attempt.target, *shown.attempt.live_sources) if each is not None]
    return max((each.status_size for each in found), default=0)


def phase_of(shown: Shown) -> str:
    if shown.seen.rollout.metadata.deletion_timestamp is not None:
        return "Leaving"
    reason = shown.decision.verdict.reason
    match shown.status.rolling_state:
        case state if state == FAILED:
            return "Reverted" if shown.is_reverted else "Failed"
        case state if state == FAILING and reverts.is_due_on_failure(shown.attempt):
            return "Reverting"
        case state if state not in TERMINAL and reason.blocks:
            return "Blocked"
        case state if state == ROLLING and reason is Reason.PAUSED:
            return "Paused"
        case state if state == ROLLING and reason is Reason.GATE_CLOSED:
            return "Gated"
        case state:
            return PHASES.get(state, "Blocked")


def _waits(shown: Shown) -> Iterator[Block]:
    verdict, rollout = shown.decision.verdict, shown.seen.rollout
    if not isinstance(verdict, Hold) or verdict.reason is Reason.COMPLETE:
        return
    about = str(rollout.ref)
    since = shown.waited_since
    reason = verdict.reason
    for each, detail in verdict.details or ((about, ""),):
        yield Block(
            rule=shown.decision.rule,
            reason=reason.word,
            object=each,
            text=_sentence(shown, reason, detail),
            clears=reason.clears,
            since=since or shown.since.get(key_of_wait(reason.word, each)),
            since_exact=since is not None,
            kind=reason.kind.value,
            advice=advice_of(shown, reason),
        )


def _sentence(shown: Shown, reason: Reason, detail: str) -> str:
    """The wait in one sentence; a batch is told from the others where it is about one."""
    status, batches = shown.status, shown.batches
    last = status.current_batch if batches is None else batches.last
    match reason:
        case Reason.GATE_CLOSED:
            said = f"{shown.name} waits at the gate after batch {status.current_batch}; the last one is batch {last}"
            return f"{said}; by now {lost.text}" if (lost := _lost(shown)) else said
        case Reason.PAUSED:
            return f"{shown.name} is paused at batch {status.current_batch}; the last one is batch {last}"
        case Reason.ROLLOUT_FAILED:
            return f"{shown.name} failed: {detail}" if detail else f"{shown.name} failed"
        case Reason.ROLLOUT_REVERTED:
            return f"{shown.name} is reverted: {detail}" if detail else f"{shown.name} is reverted"
        case _:
            return detail or f"waiting until {reason.clears}"


def _lost(shown: Shown) -> Retry | None:
    """What keeps a batch that was available from its approval, should its gate be opened now."""
    if shown.attempt.batches is None:
        return None
    found = shown.found.handler.available(shown.attempt)
    return found if isinstance(found, Retry) and found.why is not Why.STATUS_STALE else None


def _notes(shown: Shown) -> Iterator[str]:
    status, plan = shown.status, shown.plan
    if status.rolling_state == ROLLING:
        words = f"rollingState {status.rolling_state}, batchRollingState {status.batch_rolling_state}"
        yield f"the status says {words}, currentBatch {status.current_batch}; batches are counted from 0"
    elif status.rolling_state:
        yield f"the status says rollingState {status.rolling_state}"
    if status.rolling_state in TERMINAL:
        return
    if status.traffic_weight is not None:
        yield f"{status.traffic_weight} % of the traffic goes to the target"
    if plan.progress_deadline_seconds:
        yield f"a batch that makes no progress for {plan.progress_deadline_seconds} s fails the rollout"
    if plan.on_failure == ON_FAILURE_REVERT:
        yield "after a failure it goes back by itself, unless sizes were changed by somebody else"
    if plan.revert_on_delete:
        yield "when it is deleted before it succeeds, it goes back to the source first"
    for workload, autoscaler in sorted(shown.seen.autoscalers.items()):
        yield f"the HorizontalPodAutoscaler {autoscaler} aims at {workload}: the rollout fails if it scales it"
