"""Batches as lanes: how many of their pods are ready, and what each still has to pass."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET, UnsetType

from fairlead.contracts.plans.decide.batches import Batches
from fairlead.contracts.plans.decide.hooks import hooks_of
from fairlead.contracts.plans.kinds import (
    BATCH_FINALIZING,
    BATCH_HOOKS,
    BATCH_INITIALIZING,
    BATCH_READY,
    BATCH_REFUSED,
    BATCH_ROLLING,
    BATCH_VERIFYING,
    FAILED,
    FAILING,
    FINALISING,
    IN_RANGE,
    NO_DATA,
    OUT_OF_RANGE,
    ROLLING,
    SUCCEEDED,
    UNREADABLE,
    CanaryMetric,
    IntOrText,
)
from fairlead.contracts.plans.shown import Shown
from fairlead.core.decision import Hold
from fairlead.core.explain import Check, Lane
from fairlead.core.reason import Reason

IN_WORK = {
    BATCH_INITIALIZING: "Starting",
    BATCH_ROLLING: "Rolling",
    BATCH_VERIFYING: "Verifying",
    BATCH_REFUSED: "Refused",
    BATCH_FINALIZING: "Finishing",
    BATCH_READY: "Done",
}
"""The phase of the batch in work, by its state."""
OF_WAITS = {
    Reason.PAUSED: "Paused",
    Reason.BATCH_SOAKING: "Soaking",
    Reason.METRIC_PENDING: "Measuring",
    Reason.METRIC_UNKNOWN: "Measuring",
}
"""Where what is waited for says more."""
MEASURED = {IN_RANGE: "in range", OUT_OF_RANGE: "out of range", NO_DATA: "no data", UNREADABLE: "cannot be read"}


def lanes_of(shown: Shown) -> tuple[Lane, ...]:
    """In their order; none where nobody can tell their sizes yet."""
    batches = shown.batches
    return () if batches is None else tuple(_lane(shown, batches, place) for place in range(len(batches.sizes)))


def _lane(shown: Shown, batches: Batches, place: int) -> Lane:
    size = batches.sizes[place]
    return Lane(
        name=f"batch {place}",
        phase=phase_of_batch(shown, place),
        done=min(size, max(0, shown.moved - sum(batches.sizes[:place]))),
        total=size,
        goal=batches.goal(place),
        weight=weight_of(shown, batches, place),
        hooks=tuple(_hooks(shown, place)),
        checks=tuple(_checks(shown, place, is_last=place == batches.last)),
    )


def phase_of_batch(shown: Shown, place: int) -> str:
    status, current = shown.status, shown.status.current_batch
    match status.rolling_state:
        case state if state in (SUCCEEDED, FINALISING):
            return "Done"
        case _ if shown.is_reverted:
            return "Reverted"
        case state if state in (FAILED, FAILING):
            return "Done" if place < current else "Stopped" if place == current and shown.is_verified else "Skipped"
        case state if state != ROLLING:
            return "Pending"
    if place == current:
        return _in_work(shown)
    if place < current:
        return "Done"
    return "Gated" if shown.is_gated and place == current + 1 else "Pending"


def _in_work(shown: Shown) -> str:
    verdict = shown.decision.verdict
    state = IN_WORK.get(shown.status.batch_rolling_state, "Pending")
    is_done = shown.status.batch_rolling_state == BATCH_READY
    return OF_WAITS.get(verdict.reason, state) if isinstance(verdict, Hold) and not is_done else state


def weight_of(shown: Shown, batches: Batches, place: int) -> int | UnsetType:
    """Only where the plan routes traffic."""
    routing = shown.plan.traffic_routing
    if routing is None or routing.provider in ("", "none"):
        return UNSET
    if place >= batches.last:
        return 100
    own = shown.plan.batch(place).traffic_weight
    size = batches.span.target
    if own is not None:
        return min(100, max(0, own))
    return 100 * batches.goal(place) // size if size else 0


def _hooks(shown: Shown, place: int) -> Iterator[str]:
    """Those of the plan first, as they are called."""
    for kind in BATCH_HOOKS:
        for hook in hooks_of(shown.plan, place, kind):
            yield f"{hook.name} ({kind.removesuffix('-rollout')})"


def metrics_of(shown: Shown, place: int, *, is_last: bool) -> tuple[CanaryMetric, ...]:
    """Those of the plan are checked with the last batch."""
    return (*shown.plan.batch(place).canary_metric, *(shown.plan.canary_metric if is_last else ()))


def _checks(shown: Shown, place: int, *, is_last: bool) -> Iterator[Check]:
    """With what was measured last; only the batch in work is measured."""
    is_measured = place == shown.status.current_batch
    records = {each.name: each for each in shown.status.metrics} if is_measured else {}
    for metric in metrics_of(shown, place, is_last=is_last):
        record, bounds = records.get(metric.name), metric.metrics_range
        yield Check(
            name=metric.name,
            low=_bound(None if bounds is None else bounds.min),
            high=_bound(None if bounds is None else bounds.max),
            value="" if record is None else record.value,
            at=None if record is None else record.time,
            outcome="" if record is None else MEASURED.get(record.outcome, record.outcome),
            decides=not metric.dry_run,
        )


def _bound(value: IntOrText | None) -> str:
    return "" if value is None else str(value)
