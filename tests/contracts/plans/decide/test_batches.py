"""Sizes and goals of batches (R-16 to R-19): the contract's table, all small plans, and a naive second formulation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.plans.decide.batches import (
    Batches,
    Mismatch,
    Rolled,
    Span,
    batches_of,
    resized,
    spread,
    tolerance,
)
from fairlead.contracts.plans.kinds import IntOrText, RolloutBatch, RolloutPlan

FOUR: tuple[IntOrText, ...] = (1, "20%", "50%", 2)
PERCENT: tuple[IntOrText, ...] = ("20%", "40%", "30%", "10%")
SOME: tuple[IntOrText | None, ...] = (None, 0, 1, 2, "0%", "20%", "50%", "100%")


def _plan(*sizes: IntOrText | None, count: int | None = None) -> RolloutPlan:
    return RolloutPlan(rollout_batches=tuple(map(RolloutBatch, sizes)) or None, num_batches=count)


def _goals(found: Batches | Mismatch) -> list[int]:
    assert isinstance(found, Batches)
    return [found.goal(batch) for batch in range(len(found.sizes))]


@pytest.mark.parametrize(
    ("target", "plan", "goals"),
    [
        (10, PERCENT, [2, 6, 9, 10]),
        (10, FOUR, [1, 3, 8, 10]),
        (12, FOUR, [1, 4, 10, 12]),
        (13, FOUR, [1, 4, 11, 13]),
        (5, ("10%", "40%", "50%"), [1, 3, 5]),
        (3, ("50%", "50%"), [2, 3]),
    ],
)
def test_upgrades_of_the_table(target: int, plan: tuple[IntOrText, ...], goals: list[int]) -> None:
    assert _goals(batches_of(_plan(*plan), Span(target, target))) == goals


@pytest.mark.parametrize(
    ("target", "plan", "total"),
    [
        (20, FOUR, 17),
        (6, FOUR, 6),
        (1, ("50%", "50%"), 1),
        (10, ("140%", 1, "40%"), 15),
        (0, ("50%",), 0),
        (0, (), 0),
    ],
)
def test_upgrades_that_fail_name_both_numbers(target: int, plan: tuple[IntOrText, ...], total: int) -> None:
    expected = f"the rollout plan batch size mismatch, total batch size = {total}, totalReplicas size = {target}"

    assert batches_of(_plan(*plan), Span(target, target)) == Mismatch(expected)


@pytest.mark.parametrize(
    ("original", "target", "plan", "goals"),
    [
        (2, 12, FOUR, [3, 5, 10, 12]),
        (32, 20, FOUR, [31, 28, 22, 20]),
        (12, 12, PERCENT, [12, 12, 12, 12]),
        (0, 0, (), [0]),
    ],
)
def test_scales_of_the_table(original: int, target: int, plan: tuple[IntOrText, ...], goals: list[int]) -> None:
    assert _goals(batches_of(_plan(*plan), Span(target, original, True))) == goals


@pytest.mark.parametrize(
    ("original", "target", "plan", "text"),
    [
        (12, 15, PERCENT, "increased too much, total batch size = 16, targetSize size = 15"),
        (15, 12, PERCENT, "reduced too much, total batch size = 11, targetSize size = 12"),
        (3, 3, (1, None), "changed on no-op scale, total batch size = 4, targetSize size = 3"),
        (2, 5, (1, 1), "batch size mismatch, total batch size = 4, targetSize size = 5"),
        (5, 2, (1, 3), "batch size mismatch, total batch size = 1, targetSize size = 2"),
    ],
)
def test_scales_that_fail_say_how(original: int, target: int, plan: tuple[IntOrText, ...], text: str) -> None:
    assert batches_of(_plan(*plan), Span(target, original, True)) == Mismatch(f"the rollout plan {text}")


@pytest.mark.parametrize(
    ("pods", "count", "sizes"),
    [
        (8, 5, (1, 1, 2, 2, 2)),
        (9, 4, (2, 2, 2, 3)),
        (4, 5, (0, 1, 1, 1, 1)),
        (10, 3, (3, 3, 4)),
        (5, 1, (5,)),
    ],
)
def test_r_19_spreads_what_is_not_listed(pods: int, count: int, sizes: tuple[int, ...]) -> None:
    assert spread(pods, count) == sizes
    assert batches_of(_plan(count=count), Span(pods, pods)) == Batches(Span(pods, pods), sizes)
    assert batches_of(_plan(count=count), Span(pods, 0, True)) == Batches(Span(pods, 0, True), sizes)


def test_neither_batches_nor_a_number_is_one_batch_of_everything() -> None:
    assert _goals(batches_of(RolloutPlan(), Span(5, 5))) == [5]
    assert _goals(batches_of(RolloutPlan(rollout_batches=()), Span(5, 5))) == [5]


def test_the_last_batch_takes_the_rest_and_a_zero_there_must_fit() -> None:
    assert _goals(batches_of(_plan(2, None), Span(5, 5))) == [2, 5]
    assert isinstance(batches_of(_plan(2, 0), Span(5, 5)), Mismatch)
    assert isinstance(batches_of(_plan(0), Span(5, 5)), Mismatch)


@pytest.mark.parametrize("bad", ["20", "0.2", "-1%", "%", "1.5%", "", "٣%", -1])
@pytest.mark.parametrize("is_last", [False, True])
def test_what_is_neither_number_nor_percentage_is_named(bad: IntOrText, is_last: bool) -> None:
    plan = _plan(*((1, bad) if is_last else (bad, None)))

    found = batches_of(plan, Span(5, 5))

    assert isinstance(found, Mismatch)
    assert found.text.startswith(f'rolloutBatches[{int(is_last)}].replicas is "{bad}": ')


def test_a_list_of_pods_is_as_large_as_it_is_long() -> None:
    plan = RolloutPlan(rollout_batches=(RolloutBatch(pod_list=("a", "b")), RolloutBatch()))

    assert _goals(batches_of(plan, Span(5, 5))) == [2, 5]
    assert isinstance(batches_of(RolloutPlan(rollout_batches=(RolloutBatch(pod_list=("a",)),)), Span(5, 5)), Mismatch)


@pytest.mark.parametrize(
    ("allowed", "span", "pods"),
    [
        (None, Span(10, 10), 0),
        (2, Span(10, 10), 2),
        ("15%", Span(10, 10), 2),
        ("50%", Span(12, 9, True), 2),
        ("50%", Span(9, 12, True), 0),
        ("many", Span(10, 10), 0),
        (-3, Span(10, 10), 0),
    ],
)
def test_what_may_be_missing_is_rounded_up(allowed: IntOrText | None, span: Span, pods: int) -> None:
    assert tolerance(RolloutBatch(max_unavailable=allowed), span) == pods


def _naive(sizes: tuple[IntOrText | None, ...], span: Span) -> list[int] | None:
    """The goals by walking the pods one by one; None where the plan does not fit."""
    distance = span.distance
    step = -1 if span.is_scale and span.target < span.original else 1
    at = span.original if span.is_scale else 0
    if not span.is_scale and span.target == 0:
        return None
    goals = []
    for place, size in enumerate(sizes):
        is_last = place == len(sizes) - 1
        if is_last and (size is None or isinstance(size, str)):
            wanted = abs(span.target - at)
            if (span.target - at) * step < 0 or (wanted == 0 and distance > 0):
                return None
        elif isinstance(size, str):
            wanted = ceil(int(size[:-1]) * distance / 100)
        else:
            wanted = size or 0
        if is_last and wanted == 0 and distance > 0:
            return None
        at += step * wanted
        goals.append(at)
    return goals if goals[-1] == span.target else None


def _spans() -> Iterator[Span]:
    for target in range(9):
        yield Span(target, target)
        for original in range(9):
            yield Span(target, original, True)


@pytest.mark.parametrize("span", [*_spans()], ids=str)
def test_all_small_plans_agree_with_the_naive_walk(span: Span) -> None:
    for count in range(1, 5):
        for sizes in product(SOME, repeat=count):
            found = batches_of(_plan(*sizes), span)
            expected = _naive(sizes, span)
            assert (None if isinstance(found, Mismatch) else _goals(found)) == expected, (span, sizes)
        assert _goals(batches_of(_plan(count=count), Span(9, 9)))[-1] == 9


SIZES = st.lists(
    st.one_of(st.none(), st.integers(0, 60), st.integers(0, 120).map("{}%".format)), min_size=1, max_size=6
)


@given(SIZES, st.integers(0, 200), st.integers(0, 200), st.booleans())
def test_any_plan_agrees_with_the_naive_walk(
    sizes: list[IntOrText | None], target: int, original: int, is_scale: bool
) -> None:
    span = Span(target, original, is_scale)

    found = batches_of(_plan(*sizes), span)

    assert (None if isinstance(found, Mismatch) else _goals(found)) == _naive(tuple(sizes), span)
    if isinstance(found, Batches):
        assert sum(found.sizes) == span.distance
        assert all(size >= 0 for size in found.sizes)


@given(SIZES, st.integers(1, 40), st.integers(1, 40), st.integers(0, 5))
def test_another_number_of_nodes_changes_only_what_is_left(
    sizes: list[IntOrText | None], before: int, after: int, done: int
) -> None:
    """The one exception to I-10: what was rolled stays, no goal goes past the target, and the last one is it."""
    plan = _plan(*sizes)
    found = batches_of(plan, Span(before, before))
    if isinstance(found, Mismatch) or done > found.last:
        return

    again = resized(found, done, plan, after, Rolled(done, after))

    goals = _goals(again)
    assert goals == sorted(goals)
    assert goals[-1] == after
    assert len(again.sizes) == len(found.sizes)
    if done < found.last:
        assert goals[: done + 1] == [min(found.goal(batch), after) for batch in range(done + 1)]


def test_a_fifth_node_is_in_the_last_batch() -> None:
    plan = _plan(2, 2)
    found = batches_of(plan, Span(4, 4))
    assert isinstance(found, Batches)

    assert resized(found, 0, plan, 5, Rolled(1, 3)).sizes == (2, 3)
    assert resized(found, 1, plan, 5, Rolled(2, 5)).sizes == (2, 3)
    assert resized(found, 0, plan, 1, Rolled(0, 0)).sizes == (1, 0)
    assert resized(Batches(Span(4, 4), (2, 2)), 0, _plan(count=2), 7, Rolled(1, 5)).sizes == (2, 5)


def test_a_batch_that_was_rolled_wants_no_pods_back_that_went_with_their_nodes() -> None:
    plan = _plan(2, 2, None)
    found = batches_of(plan, Span(6, 6))
    assert isinstance(found, Batches)

    assert resized(found, 0, plan, 5, Rolled(1, 1)).sizes == (1, 2, 2)
    assert resized(found, 1, plan, 5, Rolled(2, 3)).sizes == (2, 1, 2)
    assert resized(found, 1, plan, 3, Rolled(2, 1)).sizes == (1, 0, 2)
    assert resized(found, 1, plan, 5, Rolled(1, 1)).sizes == (1, 2, 2)


@pytest.mark.parametrize(
    "plan",
    [RolloutPlan(num_batches=2**31 - 1), RolloutPlan(rollout_batches=(RolloutBatch(replicas=0),) * 10_001)],
)
def test_more_batches_than_can_be_kept_are_no_plan(plan: RolloutPlan) -> None:
    """A number of them for each batch would not fit into memory."""
    found = batches_of(plan, Span(5, 5))

    count = len(plan.rollout_batches or ()) or plan.num_batches
    assert found == Mismatch(f"the rollout plan has {count} batches: make them 10000 or fewer")
    assert plan.batch_count <= 10_001
