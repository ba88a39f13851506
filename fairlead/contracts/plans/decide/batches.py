"""Sizes and goals of batches (section 3.6), in whole pods; percentages are rounded up.

The sizes of all but the last batch are as the plan says; the last one takes the rest, so that whatever is lost or won
by rounding ends there: 20%, 40%, 30%, 10% of 10 pods are 2, 4, 3 and 1, with the goals 2, 6, 9 and 10.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

from fairlead.contracts.plans.kinds import MOST_BATCHES, IntOrText, RolloutBatch, RolloutPlan
from fairlead.core.integers import parse_integer
from fairlead.core.rounding import Rounding, scaled

_PERCENT = re.compile(r"[0-9]{1,9}%")


class Span(Struct, frozen=True):
    """From which size an attempt goes to which."""

    target: int
    original: int
    is_scale: bool = False
    """Whether the one workload there is grows or shrinks; else pods of one template follow those of another."""

    @property
    def distance(self) -> int:
        """How many pods the batches have to share (R-16)."""
        return abs(self.target - self.original) if self.is_scale else self.target

    @property
    def is_shrinking(self) -> bool:
        return self.is_scale and self.target < self.original

    @property
    def start(self) -> int:
        """The goal before the first batch."""
        return self.original if self.is_scale else 0

    def reached(self, moved: int) -> int:
        """The goal once so many pods have been moved."""
        return self.start - moved if self.is_shrinking else self.start + moved


class Batches(Struct, frozen=True):
    span: Span
    sizes: tuple[int, ...]

    @property
    def last(self) -> int:
        return len(self.sizes) - 1

    def goal(self, batch: int) -> int:
        """R-18: how many pods there are once the batch is rolled; before the first batch, how many there were."""
        if batch >= self.last:
            return self.span.target
        return self.span.reached(sum(self.sizes[: batch + 1]))


class Mismatch(Struct, frozen=True):
    """Why a plan cannot lead from the one size to the other."""

    text: str


def is_percent(value: IntOrText | None) -> bool:
    return isinstance(value, str) and _PERCENT.fullmatch(value) is not None


def pods_of(value: IntOrText | None, of: int) -> int | None:
    """The pods of a number or a percentage (R-16); None for what is neither."""
    match value:
        case None:
            return 0
        case int():
            return value if value >= 0 else None
        case str() if is_percent(value):
            return scaled(parse_integer(value.removesuffix("%")), of, Rounding.UP)
    return None


def tolerance(batch: RolloutBatch, span: Span) -> int:
    """How many pods may be missing when the batch counts as ready; what is neither number nor percentage allows none.

    A percentage is of all pods, or of those that a growing workload gets; one that shrinks misses none.
    """
    if span.is_shrinking:
        return 0
    return pods_of(batch.max_unavailable, span.distance) or 0


def spread(distance: int, count: int) -> tuple[int, ...]:
    """R-19: as even as whole pods allow, the larger ones last: 8 over 5 is 1, 1, 2, 2, 2."""
    each, left = divmod(distance, count)
    return tuple(each + (place >= count - left) for place in range(count))


def batches_of(plan: RolloutPlan, span: Span) -> Batches | Mismatch:
    """What the plan comes to; the verdict of R-17 where it does not lead to the target."""
    if not span.is_scale and span.target <= 0:
        return Mismatch(_mismatch(0, span.target))
    listed = plan.rollout_batches or ()
    count = len(listed) or plan.num_batches or 1
    if count > MOST_BATCHES:
        return Mismatch(f"the rollout plan has {count} batches: make them {MOST_BATCHES} or fewer")
    if not listed:
        return Batches(span, spread(span.distance, plan.batch_count))
    sizes = [_size(each, span) for each in listed[:-1]]
    wrong = next((place for place, size in enumerate(sizes) if size is None), None)
    if wrong is not None:
        return Mismatch(_no_size(wrong, listed[wrong]))
    moved = sum(size for size in sizes if size is not None)
    if problem := _too_much(moved, span):
        return Mismatch(problem)
    last = listed[-1]
    rest = span.distance - moved
    match last.replicas:
        case _ if last.pod_list:
            named: int | None = len(last.pod_list)
        case None:
            named = None
        case str() if is_percent(last.replicas):
            named = None
        case int() if last.replicas >= 0:
            named = last.replicas
        case _:
            return Mismatch(_no_size(len(listed) - 1, last))
    if named is not None and named != rest:
        return Mismatch(_uneven(moved + named, span))
    return Batches(span, (*(size for size in sizes if size is not None), rest))


class Rolled(Struct, frozen=True):
    """How far batches have come whose pods go with their nodes."""

    batches: int
    """So many of them have been rolled."""
    pods: int
    """So many pods are new, or come."""


def resized(before: Batches, done: int, plan: RolloutPlan, target: int, rolled: Rolled) -> Batches:
    """The same batches up to the one in work, and those after it for another target, which somebody else chose.

    Only workloads whose size is not ours to set (one pod per node) come to this. No goal goes past the target: with
    2, 2 of 4 nodes, one of them done, a fifth node makes them 2, 3. Nor does that of a batch that was rolled go past
    the pods that are new: with 2, 2 of 4 nodes, where the node of one of the first 2 goes, they are 1, 2.
    """
    span = Span(target, target)
    kept = (*_up_to(rolled.pods, before.sizes[: rolled.batches]), *before.sizes[rolled.batches : done + 1])
    later = before.last - done
    listed = plan.rollout_batches or ()
    left = max(0, target - sum(kept))
    if later <= 0:
        return Batches(span, _within((*kept[:-1], target), target))
    if len(listed) != len(before.sizes):
        return Batches(span, _within((*kept, *spread(left, later)), target))
    wanted = [_size(each, span) or 0 for each in listed[done + 1 : -1]]
    return Batches(span, _within((*kept, *wanted, target), target))


def _within(sizes: Sequence[int], target: int) -> tuple[int, ...]:
    """So that their sum is the target: each takes at most what is left, and the last all of it."""
    *kept, _ = _up_to(target, sizes)
    return (*kept, target - sum(kept))


def _up_to(most: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Each takes at most what is left of so many."""
    goals = [0, *(min(each, most) for each in accumulate(sizes))]
    return tuple(goal - before for before, goal in pairwise(goals))


def _size(batch: RolloutBatch, span: Span) -> int | None:
    return len(batch.pod_list) if batch.pod_list else pods_of(batch.replicas, span.distance)


def _too_much(moved: int, span: Span) -> str:
    """The batches before the last must leave it something, unless there is nothing to do."""
    if not span.is_scale:
        return _mismatch(moved, span.target) if moved >= span.target else ""
    reached = f"total batch size = {span.reached(moved)}, targetSize size = {span.target}"
    if span.distance == 0:
        return f"the rollout plan changed on no-op scale, {reached}" if moved else ""
    if moved < span.distance:
        return ""
    return f"the rollout plan {'reduced' if span.is_shrinking else 'increased'} too much, {reached}"


def _uneven(moved: int, span: Span) -> str:
    if not span.is_scale:
        return _mismatch(moved, span.target)
    reached = span.reached(moved)
    return f"the rollout plan batch size mismatch, total batch size = {reached}, targetSize size = {span.target}"


def _mismatch(total: int, target: int) -> str:
    return f"the rollout plan batch size mismatch, total batch size = {total}, totalReplicas size = {target}"


def _no_size(place: int, batch: RolloutBatch) -> str:
    return (
        f'rolloutBatches[{place}].replicas is "{batch.replicas}": write a number of pods that is not negative, '
        "or a percentage such as 20%"
    )
