"""What a person can do about a wait of a rollout: sentences, and commands that can be copied."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from fairlead.contracts.plans.decide.conditions import cause_reason
from fairlead.contracts.plans.decide.hooks import hooks_of
from fairlead.contracts.plans.decide.stuck import selector_of
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.live import Style
from fairlead.contracts.plans.kinds import (
    BATCH_FINALIZING,
    BATCH_INITIALIZING,
    FINALIZE_HOOK,
    INITIALIZE_HOOK,
    INITIALIZING,
    POST_BATCH_HOOK,
    PRE_BATCH_HOOK,
)
from fairlead.contracts.plans.shown import Shown
from fairlead.core.reason import Reason


def advice_of(shown: Shown, reason: Reason) -> tuple[str, ...]:
    """The first first; empty where only waiting helps."""
    found = _ADVICE.get(reason)
    return () if found is None else tuple(found(shown))


def _gate(shown: Shown) -> Iterator[str]:
    yield f"let batch {shown.status.current_batch + 1} go: fairlead promote {shown.place}"
    yield f"let all batches go: fairlead promote {shown.place} --full"


def _pause(shown: Shown) -> Iterator[str]:
    yield f"let it go on: fairlead resume {shown.place}"


def _pods(shown: Shown) -> Iterator[str]:
    """The pods, by the selector of their workload."""
    if selector := _selector(shown):
        yield f"look at its pods: kubectl -n {shown.namespace} get pods -l {selector}"
    yield from _ways_out(shown)


def _stuck(shown: Shown) -> Iterator[str]:
    if selector := _selector(shown):
        yield f"see why: kubectl -n {shown.namespace} describe pods -l {selector}"
        yield f"see what it said: kubectl -n {shown.namespace} logs -l {selector} --all-containers --tail 20"
    yield from _ways_out(shown)


def _selector(shown: Shown) -> str:
    """As a shell takes it for one word: in an object of a custom kind anything may stand."""
    target = shown.attempt.target
    found = "" if target is None else selector_of(target)
    return shlex.quote(found) if found else ""


def _ways_out(shown: Shown) -> Iterator[str]:
    yield f"stop it as it stands: fairlead abort {shown.place}"
    yield f"stop it and go back: fairlead abort {shown.place} --revert"


def _missing(shown: Shown) -> Iterator[str]:
    attempt = shown.attempt
    gone = [attempt.target_ref] if attempt.target is None else []
    gone += [each.reference for each in attempt.sources if each.live is None and shown.is_verified]
    for each in gone[:1]:
        yield f"create the {each.kind} {each.name}, or name another one in its place"
    target = attempt.target
    if target is not None and target.is_leaving and not gone:
        named = f"{target.resource.kind.lower()} {target.name} -n {target.ref.namespace}"
        yield f"see whose finalizers keep it: kubectl get {named} -o jsonpath='{{.metadata.finalizers}}'"


def _hook(shown: Shown) -> Iterator[str]:
    status = shown.status
    kinds = {
        INITIALIZING: INITIALIZE_HOOK,
        BATCH_INITIALIZING: PRE_BATCH_HOOK,
        BATCH_FINALIZING: POST_BATCH_HOOK,
    }
    kind = kinds.get(status.rolling_state) or kinds.get(status.batch_rolling_state, FINALIZE_HOOK)
    batch = status.current_batch if kind in (PRE_BATCH_HOOK, POST_BATCH_HOOK) else None
    for hook in hooks_of(shown.plan, batch, kind):
        codes = ", ".join(map(str, hook.expected_status)) or "200, 201 or 202"
        yield f"the hook {hook.name} accepts by answering with {codes}; it is asked again every 5 s"


def _failed(shown: Shown) -> Iterator[str]:
    if not shown.is_verified:
        yield "correct the spec: any change of it starts the rollout again"
        yield f"verify it again as it is: fairlead retry {shown.place}"
        return
    yield f"try again from where it stands: fairlead retry {shown.place}"
    if shown.found.kind.style is Style.PAIR and not shown.found.is_scale and not shown.is_reverted:
        yield f"go back to the source: fairlead undo {shown.place}"
    if cause_reason(shown.status) == Why.DRIFT.word:
        yield "somebody else changes the workloads (a person, or an autoscaler): stop that first"


def _invalid(shown: Shown) -> Iterator[str]:
    yield f"correct the spec: kubectl -n {shown.namespace} edit {shown.noun} {shown.name}"


_ADVICE: dict[Reason, Callable[[Shown], Iterator[str]]] = {
    Reason.GATE_CLOSED: _gate,
    Reason.PAUSED: _pause,
    Reason.PODS_NOT_READY: _pods,
    Reason.POD_STUCK: _stuck,
    Reason.WORKLOAD_MISSING: _missing,
    Reason.HOOK_REFUSED: _hook,
    Reason.ROLLOUT_FAILED: _failed,
    Reason.ROLLOUT_REVERTED: _failed,
    Reason.SPEC_INVALID: _invalid,
}
