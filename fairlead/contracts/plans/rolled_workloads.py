"""The workloads of a rollout with their sizes: those that pods leave, and the one that they go to."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.plans.decide.applications.deployments import is_application
from fairlead.contracts.plans.decide.workloads.live import Style, at
from fairlead.contracts.plans.decide.workloads.live import Workload as Live
from fairlead.contracts.plans.kinds import ABANDONED, DELETING, FAILED, FAILING, SUCCEEDED, WorkloadReference
from fairlead.contracts.plans.shown import Shown
from fairlead.core.explain import Workload

OVER = frozenset({SUCCEEDED, FAILING, FAILED, ABANDONED, DELETING})
"""States in which no batch brings pods any more."""


def workloads_of(shown: Shown) -> tuple[Workload, ...]:
    """Sources in the order in which they shrink, then the target; none while only Applications are named."""
    if is_application(shown.attempt.target_ref):
        return ()
    return (*_sources(shown), _target(shown))


def _sources(shown: Shown) -> Iterator[Workload]:
    if shown.found.kind.style is not Style.PAIR:
        return
    recorded = {each.ref.name: each.original_replicas for each in shown.status.sources}
    for each in shown.attempt.sources:
        before = recorded.get(each.reference.name)
        if before is None and each.live is not None:
            before = each.live.size
        yield _workload("source", each.reference, each.live, before=before, after=_end(shown, 0))


def _target(shown: Shown) -> Workload:
    attempt, batches = shown.attempt, shown.batches
    before = after = None
    if batches is not None:
        is_pair = shown.found.kind.style is Style.PAIR and not shown.found.is_scale
        before = shown.status.start_target_size if is_pair else batches.span.original
        after = batches.span.target
    return _workload("target", attempt.target_ref, attempt.target, before=before, after=_end(shown, after))


def _end(shown: Shown, size: int | None) -> int | None:
    """Nobody goes there any more once the attempt has come to its end, whatever somebody makes of the sizes then."""
    return None if shown.status.rolling_state in OVER else size


def _workload(
    role: str, reference: WorkloadReference, live: Live | None, *, before: int | None, after: int | None
) -> Workload:
    return Workload(
        role=role,
        object=f"{reference.kind.lower()}/{reference.name}",
        size=None if live is None else live.size if live.kind.paths.replicas else live.status_size,
        ready=0 if live is None else live.ready,
        before=before,
        after=after,
        images=() if live is None else tuple(_images(live)),
    )


def _images(live: Live) -> Iterator[str]:
    spec = at(live.template, "spec")
    for field in ("initContainers", "containers"):
        found = at(spec, field)
        for each in found if isinstance(found, list) else ():
            image = at(each, "image")
            if isinstance(image, str):
                yield image
