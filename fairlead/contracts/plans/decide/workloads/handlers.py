"""What can be asked of any kind of workload: one row of functions for each way in which pods become new."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from fairlead.contracts.plans.decide.batches import Span
from fairlead.contracts.plans.decide.workloads import in_place, nodes, pair, scale
from fairlead.contracts.plans.decide.workloads.answers import Fail, Retry, Step, Verified
from fairlead.contracts.plans.decide.workloads.attempt import Attempt
from fairlead.contracts.plans.decide.workloads.live import Style, Workload
from fairlead.contracts.plans.kinds import RolloutStatus


class Finish(Protocol):
    def __call__(self, attempt: Attempt, *, succeeded: bool, keeps_original: bool) -> Step: ...


class Handler(Struct, frozen=True):
    """Functions of an attempt; each is asked again in the next pass, so what is done already is not done twice."""

    verify: Callable[[Attempt], Verified | Retry | Fail]
    initialize: Callable[[Attempt, datetime], Step]
    roll: Callable[[Attempt, datetime], Step]
    check: Callable[[Attempt], Step]
    """Whether the batch is available, and nobody changed sizes meanwhile."""
    available: Callable[[Attempt], Step]
    """Whether the batch is available."""
    finish_batch: Callable[[Attempt], Step]
    finish: Finish
    """Releases everything; Done when nothing is left to release."""
    ready: Callable[[Attempt], int]
    """How many new pods are ready."""


def _of(module: object) -> Handler:
    return Handler(**{name: getattr(module, name) for name in Handler.__struct_fields__})


PAIR, IN_PLACE, NODES, SCALE = (_of(module) for module in (pair, in_place, nodes, scale))
_BY_STYLE = {Style.PAIR: PAIR, Style.PARTITION: IN_PLACE, Style.ORDINALS: IN_PLACE, Style.NODES: NODES}


def handler_for(style: Style, *, is_scale: bool) -> Handler:
    return SCALE if is_scale else _BY_STYLE[style]


def starts_as_scale(target: Workload | None, style: Style, *, has_source: bool) -> bool:
    """R-25: without a source, unless the pods of an in-place target are not all of its newest template."""
    if has_source or target is None:
        return not has_source
    return style is Style.PAIR or target.updated >= target.status_size


def recorded_span(status: RolloutStatus) -> Span:
    """What a verified attempt started as: in the meantime sources may be gone, and all pods be new (R-25).

    An upgrade of a pair has sources. One in place starts from its own size, and its batches share all pods; those of a
    scale share the distance.
    """
    target, original = status.rollout_target_size, status.rollout_original_size
    is_in_place = 0 < target == original == sum(status.effective_batches)
    return Span(target, original, is_scale=not (status.sources or is_in_place))
