"""Two objects of one kind (section 3.7): the target grows as its sources shrink.

With `t` pods in the target and `s` in its sources at the start, the goal `g` means max(t, g) pods in the target and
min(s, T - g) in the sources: of 5, a goal of 2 is 2 and 3; where the target had 3 already, it is 3 and 3.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime

from fairlead.contracts.plans.decide.batches import Mismatch, Span, batches_of
from fairlead.contracts.plans.decide.notes import AUTOSCALER_ACTIVE, VERIFY_FAILED, Note
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import (
    Done,
    Fail,
    Purpose,
    Retry,
    Step,
    Verified,
    WorkloadChange,
    Writes,
)
from fairlead.contracts.plans.decide.workloads.attempt import Attempt, hindrance, leaving, partition_fell, stale
from fairlead.contracts.plans.decide.workloads.claims import claim, controlled, is_claimed, release
from fairlead.contracts.plans.decide.workloads.instances import may_go
from fairlead.contracts.plans.decide.workloads.live import Workload
from fairlead.contracts.plans.kinds import SourceSize

NO_PODS_PICKED = "podList names pods, and only those of a DaemonSet can be picked: use replicas"
NO_DIFFERENCE = "there is no difference between the source and target"


def verify(attempt: Attempt) -> Verified | Retry | Fail:
    target, sources = attempt.target, attempt.live_sources
    if target is None:
        return attempt.missing or Retry(Why.WORKLOAD_MISSING, "the target is not there")
    if any(each.pod_list for each in attempt.plan.rollout_batches or ()):
        return Fail(Why.SPEC_INVALID, NO_PODS_PICKED)
    for workload in (target, *sources):
        if problem := controlled(workload, attempt.owner, attempt.gone) or _unsettled(workload):
            return problem
    if problem := leaving(target):
        return problem
    original = sum(each.size for each in sources)
    size = _size(attempt, original, target.status_size)
    if isinstance(size, Fail):
        return size
    batches = batches_of(attempt.plan, Span(size, original))
    if isinstance(batches, Mismatch):
        return Fail(Why.BATCH_SUM, batches.text)
    return Verified(
        target_size=size,
        original_size=original,
        identifier=target.identifier,
        sizes=batches.sizes,
        sources=tuple(SourceSize(each.reference, each.size) for each in sources),
        notes=tuple(_warnings(attempt, target, sources)),
    )


def _unsettled(workload: Workload) -> Retry | None:
    if not workload.is_observed:
        return stale(workload)
    if workload.is_settled:
        return None
    text = f"the {workload.shown} is still scaling: it has {workload.status_size} of {workload.size} pods"
    return Retry(Why.WORKLOAD_SCALING, text)


def _size(attempt: Attempt, original: int, started: int) -> int | Fail:
    carried = attempt.status.carried
    wanted = attempt.plan.target_size
    if wanted is None and carried is None:
        return original + started
    least = original if carried is None else min(original, carried.target_size)
    size = wanted if wanted is not None else least if carried is None else carried.target_size
    if size < least:
        return Fail(Why.SPEC_INVALID, f"targetSize is {size}, but the sources have {least} pods")
    if size < started:
        said = "targetSize" if wanted is not None else "the size of the attempt before"
        return Fail(Why.SPEC_INVALID, f"{said} is {size}, but the target has {started} pods already")
    return size


def _warnings(attempt: Attempt, target: Workload, sources: Sequence[Workload]) -> Iterator[Note]:
    if any(each.template == target.template for each in sources):
        yield Note(VERIFY_FAILED, NO_DIFFERENCE, warning=True)
    yield from autoscaler_notes(attempt, (target, *sources))


def autoscaler_notes(attempt: Attempt, workloads: Sequence[Workload]) -> Iterator[Note]:
    for each in workloads:
        if autoscaler := attempt.autoscalers.get(each.name):
            text = (
                f"the HorizontalPodAutoscaler {autoscaler} aims at the {each.shown}: the rollout fails if it scales it"
            )
            yield Note(AUTOSCALER_ACTIVE, text, warning=True)


def initialize(attempt: Attempt, _now: datetime) -> Step:
    """Sources first: whoever dies in between has changed no size."""
    if attempt.missing or attempt.target is None:
        return attempt.missing or Done()
    target, sources = attempt.target, attempt.live_sources
    for workload in (*sources, target):
        if problem := controlled(workload, attempt.owner, attempt.gone):
            return problem
    if not is_claimed(target, attempt.owner) and (waits := _unsettled(target)):
        return waits
    start = _start(attempt, target)
    if isinstance(start, Fail):
        return start
    claims = [_claimed(attempt, each, {}) for each in sources]
    claims.append(_claimed(attempt, target, {target.kind.paths.replicas: start}))
    changes = tuple(each for each in claims if each is not None)
    return Writes(changes, completes=True, start_target_size=start) if changes else Done(start)


def _start(attempt: Attempt, target: Workload) -> int | Fail:
    """The size that the target starts from: never less than it has, and enough for all pods together."""
    original = sum(each.original_replicas for each in attempt.status.sources)
    now = sum(each.size for each in attempt.live_sources)
    if now != original:
        return Fail(Why.DRIFT, f"the sources have {now} pods; {original} were there when the plan was verified")
    if is_claimed(target, attempt.owner):
        return target.size
    if target.status_size > attempt.size:
        return Fail(Why.DRIFT, f"the {attempt.named(target)} has {target.status_size} pods, more than {attempt.size}")
    return max(target.status_size, attempt.size - original)


def _claimed(attempt: Attempt, workload: Workload, values: dict[str, object]) -> WorkloadChange | None:
    paths = workload.kind.paths
    unpaused = {paths.paused: False} if paths.paused and workload.is_paused else {}
    original = {"replicas": workload.size, **({"paused": workload.is_paused} if paths.paused else {})}
    is_first = not attempt.is_carried(workload)
    return claim(workload, attempt.owner, attempt.gone, {**values, **unpaused}, original, is_first=is_first)


def target_size(attempt: Attempt, goal: int) -> int:
    return max(attempt.status.start_target_size, goal)


def source_size(attempt: Attempt, goal: int) -> int:
    return min(_original(attempt), attempt.size - goal)


def _original(attempt: Attempt) -> int:
    return sum(each.original_replicas for each in attempt.status.sources)


def roll(attempt: Attempt, now: datetime) -> Step:
    """Both halves of the batch, a half a pass; what is done already is not written again."""
    if attempt.missing or attempt.target is None:
        return attempt.missing or Done()
    if problem := _drifted(attempt, attempt.target, is_rolling=True):
        return problem
    instance = _instance(attempt, attempt.target)
    halves = _decrease_first if attempt.plan.is_decrease_first else _increase_first
    return halves(attempt, attempt.target, instance, now)


def _instance(attempt: Attempt, target: Workload) -> int:
    """The goal that is gone for: that of the batch, or of its first instance that is not there yet."""
    if not attempt.interval:
        return attempt.goal
    total = sum(each.size for each in attempt.live_sources)

    def is_ahead(goal: int) -> bool:
        return target.size < target_size(attempt, goal) or total > source_size(attempt, goal)

    # The further the goal, the larger the target and the smaller the sources; a batch may be of a thousand million.
    goals = range(attempt.goal_before + 1, attempt.goal)
    place = bisect_left(goals, True, key=is_ahead)
    return goals[place] if place < len(goals) else attempt.goal


def _increase_first(attempt: Attempt, target: Workload, goal: int, now: datetime) -> Step:
    wanted, left = target_size(attempt, goal), source_size(attempt, goal)
    total = sum(each.size for each in attempt.live_sources)
    if target.size >= wanted and total <= left:
        return Done()
    if waits := _waits(attempt, target, goal, now):
        return waits
    if target.size < wanted:
        return Writes((_resized(target, wanted),))
    if not target.is_observed:
        return stale(target)
    if target.ready + attempt.tolerance < goal:
        return _not_ready(attempt, target, goal)
    if relieved := tuple(_relieved(attempt.live_sources, attempt.size)):
        return Writes(relieved, left=attempt.size)
    return Writes(tuple(_shrunk(attempt.live_sources, left)), completes=goal == attempt.goal, left=left)


def _decrease_first(attempt: Attempt, target: Workload, goal: int, now: datetime) -> Step:
    wanted, left = target_size(attempt, goal), source_size(attempt, goal)
    total = sum(each.size for each in attempt.live_sources)
    if target.size >= wanted and total <= left:
        return Done()
    if waits := _waits(attempt, target, goal, now):
        return waits
    if total > left:
        is_all = target.size >= wanted and goal == attempt.goal
        return Writes(tuple(_shrunk(attempt.live_sources, left)), completes=is_all, left=left)
    if outdated := next((each for each in attempt.live_sources if not each.is_observed), None):
        return stale(outdated)
    there = sum(each.status_size for each in attempt.live_sources)
    if there > left:
        return _not_shrunk(attempt, there, left)
    return Writes((_resized(target, wanted),), completes=goal == attempt.goal)


def _waits(attempt: Attempt, target: Workload, goal: int, now: datetime) -> Step | None:
    """What keeps the next instance from going; None without an interval, and where the batch has no pod."""
    if not attempt.interval or goal <= attempt.goal_before:
        return None
    if not target.is_observed:
        return stale(target)
    return may_go(attempt, goal - 1, now, is_ready=target.ready + attempt.tolerance >= goal - 1)


def _not_ready(attempt: Attempt, target: Workload, goal: int) -> Retry:
    allowed = f" ({attempt.tolerance} may be missing)" if attempt.tolerance else ""
    text = f"{target.ready} of {goal} pods of the {target.shown} are ready{allowed}{hindrance(target)}"
    return Retry(Why.PODS_NOT_READY, text)


def _not_shrunk(attempt: Attempt, there: int, left: int) -> Retry:
    going = "".join(f"; the {each.shown} is being deleted" for each in attempt.live_sources if each.is_leaving)
    return Retry(Why.SOURCE_NOT_SHRUNK, f"the sources have {there} pods, and go to {left}{going}")


def _resized(workload: Workload, size: int) -> WorkloadChange:
    said = (f"replicas {workload.size}", f"replicas {size}")
    return workload.changed({workload.kind.paths.replicas: size}, Purpose.RESIZE, said)


def _shrunk(sources: Sequence[Workload], total: int) -> Iterator[WorkloadChange]:
    """The first to zero, then the next, until so many pods are left."""
    surplus = sum(each.size for each in sources) - total
    for each in sources:
        taken = min(each.size, max(0, surplus))
        surplus -= taken
        if taken:
            yield _resized(each, each.size - taken)


def _relieved(sources: Sequence[Workload], size: int) -> Iterator[WorkloadChange]:
    """I-4: of several sources with more pods than all should have, those that are not ready go before ready ones.

    With 5 ready pods, 2 of a third version that crash, and a size of 5, those 2: the order would take 2 ready ones.
    """
    surplus = sum(each.size for each in sources) - size
    for each in sources if len(sources) > 1 else ():
        taken = min(max(0, each.size - each.ready), max(0, surplus))
        surplus -= taken
        if taken:
            yield _resized(each, each.size - taken)


def _drifted(attempt: Attempt, target: Workload, *, is_rolling: bool) -> Fail | None:
    """R-21(a): sizes that this attempt did not write; nobody writes against whoever did."""
    for workload in (target, *attempt.live_sources):
        if not is_claimed(workload, attempt.owner):
            return Fail(Why.DRIFT, f"somebody took the claim off the {workload.shown}")
    goals = (attempt.goal_before, attempt.goal) if is_rolling else (attempt.goal,)
    wanted = sorted({target_size(attempt, goal) for goal in goals})
    if not _is_among(target.size, wanted, between=attempt.interval > 0):
        text = f"the {attempt.named(target)} has {target.size} replicas; expected: {_either(wanted)}"
        return Fail(Why.DRIFT, text)
    before = _original(attempt) if attempt.batch == 0 else source_size(attempt, attempt.goal_before)
    left = sorted({source_size(attempt, attempt.goal), *((before,) if is_rolling else ())})
    total = sum(each.size for each in attempt.live_sources)
    if not _is_among(total, left, between=attempt.interval > 0 or len(attempt.sources) > 1):
        named = ", ".join(attempt.named(each) for each in attempt.live_sources)
        return Fail(Why.DRIFT, f"the source {named} has {total} replicas; expected: {_either(left)}")
    return None


def _is_among(size: int, wanted: Sequence[int], *, between: bool) -> bool:
    return wanted[0] <= size <= wanted[-1] if between else size in wanted


def _either(sizes: Sequence[int]) -> str:
    return " or ".join(map(str, sizes))


def check(attempt: Attempt) -> Step:
    """Both sides: the sources have given their pods up, and enough pods of the target are ready."""
    if attempt.missing or attempt.target is None:
        return attempt.missing or Done()
    if problem := _drifted(attempt, attempt.target, is_rolling=False):
        return problem
    return available(attempt)


def available(attempt: Attempt) -> Step:
    target = attempt.target
    if attempt.missing or target is None:
        return attempt.missing or Done()
    if outdated := next((each for each in (target, *attempt.live_sources) if not each.is_observed), None):
        return stale(outdated)
    there = sum(each.status_size for each in attempt.live_sources)
    left = attempt.size - attempt.goal
    if attempt.sources and there > left:
        return _not_shrunk(attempt, there, left)
    if target.ready + attempt.tolerance < attempt.goal:
        return _not_ready(attempt, target, attempt.goal)
    return Done()


def finish_batch(attempt: Attempt) -> Step:
    if attempt.missing or attempt.target is None:
        return attempt.missing or Done()
    return partition_fell(attempt) or _drifted(attempt, attempt.target, is_rolling=False) or Done()


def finish(attempt: Attempt, *, succeeded: bool, keeps_original: bool) -> Step:
    """Everything is released; after a success the sources have no pods and stay."""
    changes = []
    for each in attempt.live_sources:
        emptied = {each.kind.paths.replicas: 0} if succeeded and each.size else {}
        changes.append(release(each, attempt.owner, emptied, keeps_original=keeps_original))
    if attempt.target is not None:
        changes.append(release(attempt.target, attempt.owner, {}, keeps_original=keeps_original))
    found = tuple(each for each in changes if each is not None)
    return Writes(found, completes=True) if found else Done()


def ready(attempt: Attempt) -> int:
    return 0 if attempt.target is None else attempt.target.ready
