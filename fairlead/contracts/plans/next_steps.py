"""What a rollout does next: what is written now, what the batch in work still has to pass, and what follows it."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.plans.decide.hooks import hooks_of
from fairlead.contracts.plans.decide.workloads import pair, reverts
from fairlead.contracts.plans.decide.workloads.live import Style
from fairlead.contracts.plans.kinds import (
    ABANDONED,
    BATCH_FINALIZING,
    BATCH_INITIALIZING,
    BATCH_READY,
    BATCH_ROLLING,
    BATCH_VERIFYING,
    DELETING,
    FAILING,
    FINALISING,
    FINALIZE_HOOK,
    INITIALIZE_HOOK,
    INITIALIZING,
    LOCATING,
    POST_BATCH_HOOK,
    PRE_BATCH_HOOK,
    ROLLING,
    TERMINAL,
    VERIFYING,
)
from fairlead.contracts.plans.lanes import metrics_of, weight_of
from fairlead.contracts.plans.shown import Shown
from fairlead.core.act import AnyWrite, Create, Delete, Does
from fairlead.core.decision import Move

_ORDER = (BATCH_INITIALIZING, BATCH_ROLLING, BATCH_VERIFYING, BATCH_FINALIZING, BATCH_READY)
"""The states of a batch as they follow one another."""


def coming(shown: Shown) -> Iterator[str]:
    verdict = shown.decision.verdict
    now = [each for write in (verdict.writes if isinstance(verdict, Move) else ()) if (each := _written(write))]
    yield from now
    then = "then " if now else ""
    for each in _later(shown):
        yield then + each
        then = "then "


def _written(write: AnyWrite) -> str:
    """Empty for what people need not know: a status that repeats it, a finalizer."""
    if isinstance(write, Create):
        return ""
    shown = f"{write.ref.resource.kind} {write.ref.name}"
    match write.does:
        case Does.CLAIM_WORKLOAD:
            return f"claim {shown}"
        case Does.RELEASE_WORKLOAD:
            return f"release {shown}"
        case Does.RESIZE_WORKLOAD | Does.ADVANCE_PARTITION | Does.RESTORE_WORKLOAD:
            what, _, before = write.change_from.rpartition(" ")
            return f"change the {what or 'fields'} of {shown} from {before} to {write.change_to.rpartition(' ')[2]}"
        case _ if isinstance(write, Delete):
            return f"delete {shown}, so that it is made again"
    return ""


def _later(shown: Shown) -> Iterator[str]:
    state = shown.status.rolling_state
    if state == LOCATING:
        yield "make the target as its revision describes it"
    if state in ("", LOCATING, VERIFYING):
        yield "verify the plan and the workloads"
    if state in ("", LOCATING, VERIFYING, INITIALIZING):
        yield f"{_asking(shown, None, INITIALIZE_HOOK)}claim the workloads"
        yield from _batch(shown, 0, BATCH_INITIALIZING)
    elif state == ROLLING:
        yield from _batch(shown, shown.status.current_batch, shown.status.batch_rolling_state)
    elif state == FINALISING:
        yield f"release the workloads{_asked(shown, FINALIZE_HOOK)}"
    elif state == FAILING:
        is_back = reverts.is_due_on_failure(shown.attempt)
        yield f"{'go back to the source, then ' if is_back else ''}release the workloads{_asked(shown, FINALIZE_HOOK)}"
    elif state == ABANDONED:
        yield "release the workloads, and begin again with those that the spec names now"
    elif state == DELETING:
        is_back = reverts.is_due_on_deletion(shown.attempt)
        yield f"{'go back to the source, then ' if is_back else ''}release the workloads and go"
    elif state not in TERMINAL:
        yield "end with a sentence: nobody knows its state"


def _batch(shown: Shown, place: int, state: str) -> Iterator[str]:
    """The rest of a batch in one sentence, then what comes after it."""
    batches = shown.batches
    if batches is None:
        return
    left = _ORDER[_ORDER.index(state) :] if state in _ORDER else ()
    steps: list[str] = []
    if BATCH_INITIALIZING in left and (hooks := _named(shown, place, PRE_BATCH_HOOK)):
        steps.append(f"ask {hooks}")
    if BATCH_ROLLING in left:
        steps.append(_goal(shown, place))
    if BATCH_VERIFYING in left:
        steps += _verified(shown, place)
    if BATCH_FINALIZING in left and (hooks := _named(shown, place, POST_BATCH_HOOK)):
        steps.append(f"ask {hooks}")
    if steps:
        yield f"batch {place}: {', '.join(steps)}"
    if place >= batches.last:
        yield f"release the workloads{_asked(shown, FINALIZE_HOOK)}: the rollout is complete"
    elif shown.is_gated:
        yield f"batch {place + 1}: {_goal(shown, place + 1)}, once somebody lets it go"
    elif shown.plan.partition is not None and shown.plan.partition <= place:
        yield f"wait at the gate after batch {place}"
    else:
        yield f"batch {place + 1}: {_goal(shown, place + 1)}"


def _goal(shown: Shown, place: int) -> str:
    batches, attempt = shown.batches, shown.attempt
    if batches is None:
        return ""
    goal = batches.goal(place)
    if shown.found.is_scale:
        return f"bring {attempt.target_ref.name} to {goal} {_pods(goal)}"
    if shown.found.kind.style is Style.PAIR and shown.is_verified and attempt.batches is not None:
        target, left = pair.target_size(attempt, goal), pair.source_size(attempt, goal)
        sources = ", ".join(each.reference.name for each in attempt.sources)
        return f"bring {attempt.target_ref.name} to {target} {_pods(target)} and {sources} to {left}"
    return f"have {goal} of {batches.span.target} pods of {attempt.target_ref.name} new"


def _verified(shown: Shown, place: int) -> Iterator[str]:
    batches, batch = shown.batches, shown.plan.batch(place)
    if batches is None:
        return
    yield "wait until its new pods are ready"
    weight = weight_of(shown, batches, place)
    if isinstance(weight, int):
        yield f"send {weight} % of the traffic to new pods"
    if checks := metrics_of(shown, place, is_last=place == batches.last):
        yield f"check {', '.join(each.name for each in checks)}"
    if batch.soak_seconds > 0:
        yield f"stay available for {batch.soak_seconds} s"


def _named(shown: Shown, place: int | None, kind: str) -> str:
    hooks = hooks_of(shown.plan, place, kind)
    return f"the hook{'s' * (len(hooks) > 1)} {', '.join(each.name for each in hooks)}" if hooks else ""


def _asking(shown: Shown, place: int | None, kind: str) -> str:
    hooks = _named(shown, place, kind)
    return f"ask {hooks}, then " if hooks else ""


def _asked(shown: Shown, kind: str) -> str:
    hooks = _named(shown, None, kind)
    return f", then ask {hooks}" if hooks else ""


def _pods(count: int) -> str:
    return "pod" if count == 1 else "pods"
