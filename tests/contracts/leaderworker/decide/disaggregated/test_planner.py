"""The numbers of a rollout over several roles (section 6.7): its whole course, its limits, and that it always ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.disaggregated.planner import RoleCounts, RoleStep, is_complete, next_step

Numbers = tuple[int, ...]
SMALL = range(5)
RECORDED = msgspec.json.decode((Path(__file__).parent / "upstream_plans.json").read_bytes())
LIMITS = [(0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1)]
"""Surge and unavailable."""


def begun(initial: Numbers, target: Numbers, limits: Sequence[tuple[int, int]]) -> tuple[RoleCounts, ...]:
    return tuple(
        RoleCounts(before, before, 0, after, surge, unavailable)
        for before, after, (surge, unavailable) in zip(initial, target, limits, strict=True)
    )


def after(roles: Sequence[RoleCounts], step: RoleStep) -> tuple[RoleCounts, ...]:
    return tuple(replace(each, old=old, new=new) for each, old, new in zip(roles, step.old, step.new, strict=True))


def course(roles: tuple[RoleCounts, ...]) -> Iterator[tuple[RoleCounts, ...]]:
    """All that is come by, the begin and the end too."""
    yield roles
    for _ in range(4 * sum(max(each.initial, each.target) for each in roles) + 4):
        if (step := next_step(roles)) is None:
            return
        roles = after(roles, step)
        yield roles
    raise AssertionError(f"no end: {roles}")


def shown(several: Iterator[tuple[RoleCounts, ...]]) -> list[tuple[Numbers, Numbers]]:
    return [(tuple(each.old for each in roles), tuple(each.new for each in roles)) for roles in several]


def test_two_roles_of_four_and_two_with_a_surge_of_one() -> None:
    """Scenario 32, number by number."""
    assert shown(course(begun((4, 2), (4, 2), [(1, 0), (1, 0)]))) == [
        ((4, 2), (0, 0)),
        ((4, 2), (1, 1)),
        ((3, 2), (1, 1)),
        ((3, 2), (2, 1)),
        ((2, 1), (2, 1)),
        ((2, 1), (3, 2)),
        ((1, 1), (3, 2)),
        ((1, 1), (4, 2)),
        ((0, 0), (4, 2)),
    ]


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: str(each["roles"]))
def test_upstreams_planner_takes_the_same_course(recorded: dict[str, Any]) -> None:
    """`python -m tools.disaggregated_plans` compares some ten thousands."""
    before, target, *limits = zip(*recorded["roles"], strict=True)

    found = shown(course(begun(before, target, [*zip(*limits, strict=True)])))

    assert [[[*old], [*new]] for old, new in found] == recorded["course"]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        pytest.param([RoleCounts(2, 0, 3, 2)], None, id="all of the target and nothing old is done"),
        pytest.param([RoleCounts(2, 5, 0, 2)], ((2,), (0,)), id="more old ones than in the begin go first"),
        pytest.param(
            [RoleCounts(3, 2, 3, 3), RoleCounts(3, 3, 3, 3)],
            ((0, 0), (3, 3)),
            id="with all of the target there the old ones go",
        ),
        pytest.param([RoleCounts(0, 3, 0, 0)], ((0,), (0,)), id="nothing is wanted and nothing was noted"),
        pytest.param(
            [RoleCounts(2, 2, 0, 2), RoleCounts(3, 3, 0, 0)],
            ((2, 3), (1, 0)),
            id="a role that goes away has no limit to keep",
        ),
        pytest.param([RoleCounts(4, 4, 0, 4, 0, 2)], ((2,), (0,)), id="without a surge the old ones make room first"),
        pytest.param(
            [RoleCounts(2, 2, 0, 6, 2, 0)], ((2,), (2,)), id="a role that grows takes its new ones in batches"
        ),
        pytest.param(
            [RoleCounts(1, 1, 0, 1, 0, 1), RoleCounts(3, 2, 0, 3, 0, 1)],
            ((1, 2), (1, 1)),
            id="the last old one stays until all roles have enough",
        ),
        pytest.param(
            [RoleCounts(4, 1, 1, 4), RoleCounts(2, 0, 3, 1)],
            ((1, 0), (2, 3)),
            id="a role with more than is wanted now holds up no other",
        ),
        pytest.param(
            [RoleCounts(4, 0, 2, 4), RoleCounts(4, 3, 2, 4)],
            ((0, 2), (2, 2)),
            id="a role without old ones gets none back",
        ),
    ],
)
def test_one_step(roles: list[RoleCounts], expected: tuple[Numbers, Numbers] | None) -> None:
    step = next_step(roles)

    assert (None if step is None else (step.old, step.new)) == expected


def check(roles: Sequence[RoleCounts]) -> None:
    for each in roles:
        there = each.old + each.new
        kept = each.surge or 1  # the last old one of a role that may not surge stays for the sake of the others
        assert there <= max(each.initial, each.target + kept), f"too many: {roles}"
        if each.initial >= each.target:
            assert there >= each.target - each.unavailable, f"too few: {roles}"


def check_ready(before: Sequence[RoleCounts], now: Sequence[RoleCounts]) -> None:
    """What has come in a step is not ready yet."""
    for was, each in zip(before, now, strict=True):
        if each.initial >= each.target:
            assert each.old + was.new >= each.target - each.unavailable, f"too few are ready: {before} → {now}"


def test_every_small_rollout_of_two_roles_keeps_its_limits_and_ends() -> None:
    for initial, target, limits in product(
        product(SMALL, repeat=2), product(SMALL, repeat=2), product(LIMITS, repeat=2)
    ):
        came = begun(initial, target, limits)
        all_surge = all(surge for surge, _ in limits)
        for roles in course(came):
            check(roles)
            if all_surge:
                check_ready(came, roles)
            came = roles
        assert is_complete(came), f"{initial} to {target} with {limits} ends as {came}"


def test_from_every_small_state_it_ends() -> None:
    """Whoever changed the numbers on the way: what is noted, what is there and what is wanted need not fit."""
    for numbers in product(*[range(3)] * 8, (0, 1), (0, 1)):
        roles = tuple(
            replace(RoleCounts(*numbers[first : first + 4]), surge=surge, unavailable=1 - surge)
            for first, surge in zip((0, 4), numbers[8:], strict=True)
        )
        *_, last = course(roles)
        assert is_complete(last), f"{roles} ends as {last}"


ROLES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 40), st.sampled_from([*LIMITS, (5, 0), (7, 3), (0, 9)])),
    min_size=2,
    max_size=10,
)


@settings(deadline=None)
@given(ROLES)
def test_larger_rollouts_keep_their_limits_and_end(several: list[tuple[int, int, tuple[int, int]]]) -> None:
    initial, target, limits = zip(*several, strict=True)
    came = begun(initial, target, limits)
    for roles in course(came):
        check(roles)
        if all(surge for surge, _ in limits):
            check_ready(came, roles)
        came = roles
    assert is_complete(came)


@settings(deadline=None)
@given(ROLES, st.data())
def test_a_target_that_changes_on_the_way_is_reached_all_the_same(
    several: list[tuple[int, int, tuple[int, int]]], data: st.DataObject
) -> None:
    initial, target, limits = zip(*several, strict=True)
    roles = begun(initial, target, limits)
    for _ in range(data.draw(st.integers(0, 6))):
        step = next_step(roles)
        roles = roles if step is None else after(roles, step)
    roles = tuple(replace(each, target=data.draw(st.integers(0, 40))) for each in roles)
    *_, last = course(roles)
    assert is_complete(last)
