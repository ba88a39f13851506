"""The table of section 3.10 row by row, its reference traces, and the numbers of the scenarios."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.budgets import Budget, budget
from fairlead.contracts.leaderworker.decide.planner import (
    Leaders,
    Numbers,
    Plan,
    PlannedGroup,
    Row,
    Stage,
    lowered,
    plan,
)
from fairlead.contracts.leaderworker.kinds import IntOrPercent, RollingUpdate
from tests.contracts.leaderworker.decide.statefulset_model import (
    World,
    applied,
    at_rest,
    controller_steps,
    numbers,
    planned,
)


@pytest.mark.parametrize(
    ("unavailable", "surge", "replicas", "expected"),
    [
        ("25%", "25%", 10, (2, 3)),
        ("25%", 0, 3, (1, 0)),
        ("25%", "1%", 3, (0, 1)),
        ("100%", "100%", 3, (3, 3)),
        (10, 0, 2, (10, 0)),
        (0, 10, 2, (0, 2)),
        (0, 0, 2, (1, 0)),
        (0, 0, 0, (0, 0)),
        ("25%", "25%", 0, (0, 0)),
    ],
)
def test_budgets_round_and_never_forbid_everything(
    unavailable: IntOrPercent, surge: IntOrPercent, replicas: int, expected: tuple[int, int]
) -> None:
    """Section 3.10 point 1: a surge never exceeds the groups, and one of both is more than nothing."""
    found = budget(RollingUpdate(unavailable, surge), replicas)

    assert (found.unavailable, found.surge, found.unreadable) == (*expected, ())


@pytest.mark.parametrize("value", ["many", "-1%", "", "5", "٣%", "1.5%", -1])
def test_a_budget_that_cannot_be_read_counts_as_the_default(value: IntOrPercent) -> None:
    found = budget(RollingUpdate(value, value), 4)

    assert (found.unavailable, found.surge) == (1, 0)
    assert [each.split()[0] for each in found.unreadable] == ["maxUnavailable", "maxSurge"]


@pytest.mark.parametrize(("unavailable", "surge", "told"), [(1, 0, 1), (2, 2, 4), (0, 0, 1)])
def test_the_leader_set_may_replace_budget_and_surge_at_once(unavailable: int, surge: int, told: int) -> None:
    assert Budget(unavailable, surge).max_unavailable_leaders == told


def rolled(world: World) -> World:
    """Every leader at or above the partition replaced, all that are missing made, all too many gone."""
    while steps := list(controller_steps(world)):
        world = steps[-1]
    return world


def traced(world: World) -> list[str]:
    """`partition/replicas` when the revision is selected, when that is first looked at again, and then each time that
    the highest group which is not ready becomes so."""
    selected, _ = planned(world)
    started, _ = planned(rolled(selected))
    moved = (selected.partition, selected.set_replicas) != (started.partition, started.set_replicas)
    lines = [selected, started] if moved else [selected]
    world = rolled(started)
    while (last := max((index for index, each in enumerate(world.groups) if each.islower()), default=-1)) >= 0:
        ready = world.groups[:last] + world.groups[last].upper() + world.groups[last + 1 :]
        world, _ = planned(replace(world, groups=ready))
        lines.append(world)
        world = rolled(world)
    return [f"{each.partition}/{each.set_replicas}" for each in lines]


@pytest.mark.parametrize(
    ("replicas", "unavailable", "surge", "kept_below", "expected"),
    [
        (4, 1, 0, 0, "4/4 3/4 2/4 1/4 0/4"),
        (4, 0, 1, 0, "4/5 3/5 2/5 1/5 0/5 0/4"),
        (4, 2, 2, 0, "4/6 2/6 1/6 0/6 0/6 0/4 0/4 0/4"),
        (4, 1, 4, 0, "4/7 3/7 2/7 1/7 0/7 0/6 0/5 0/4"),
        (1, 0, 1, 0, "1/2 0/2 0/1"),
        (1, 1, 1, 0, "1/1 0/1"),
        (3, 1, 1, 2, "3/4 2/4"),
    ],
)
def test_reference_traces(replicas: int, unavailable: int, surge: int, kept_below: int, expected: str) -> None:
    world = replace(at_rest(replicas, unavailable, surge, kept_below), spec="b")

    found = traced(world)

    lines = expected.split()
    assert found[: len(lines)] == lines
    assert set(found[len(lines) :]) <= {lines[-1]}


def test_the_trace_of_percentages_ends_with_two_reclaims() -> None:
    asked = budget(RollingUpdate("25%", "25%"), 10)
    found = traced(replace(at_rest(10, asked.unavailable, asked.surge), spec="b"))

    assert found[:2] == ["10/13", "8/13"]
    assert list(dict.fromkeys(found))[-3:] == ["0/13", "0/11", "0/10"]


def test_04_a_group_that_is_no_longer_ready_stops_the_rollout() -> None:
    world = replace(at_rest(4, 1, 0), spec="b")
    world, _ = planned(world)
    world, first = planned(world)
    world, second = planned(replace(world, groups="AAAB"))
    world, third = planned(replace(world, groups="AA.b"))
    _, fourth = planned(replace(world, groups="AABb"))

    assert [each.partition for each in (first, second, third, fourth)] == [3, 2, 2, 2]


def test_11_a_second_revision_starts_again_and_waits_for_the_group_that_is_away() -> None:
    world = replace(at_rest(4, 1, 0), groups="AbBB", template="b", spec="c", partition=1)

    world, selected = planned(world)
    assert (selected.partition, selected.replicas, selected.stage) == (4, 4, Stage.SELECTED)

    world, waiting = planned(world)
    assert (waiting.partition, waiting.stage, waiting.blocked_by) == (4, Stage.BLOCKED, (1,))

    world, moving = planned(replace(world, groups="ABBB"))
    assert (moving.partition, moving.stage) == (3, Stage.ROLLING)


def test_13_a_partition_holds_until_it_is_lowered() -> None:
    world = replace(at_rest(6, 1, 0, kept_below=4), spec="b")
    found = traced(world)
    assert found[-1] == "4/6"

    held = replace(world, template="b", groups="AAAABB", partition=4)
    assert plan(numbers(held)).stage is Stage.HELD

    assert traced(replace(held, kept_below=2))[-1] == "2/6"
    assert traced(replace(held, kept_below=0))[-1] == "0/6"


def test_24_old_groups_that_are_not_ready_are_never_traded_for_ready_ones() -> None:
    both_down = replace(at_rest(2, 1, 0), groups="aa", template="b", spec="b", partition=2)
    assert [plan(numbers(both_down)).partition, plan(numbers(replace(both_down, groups="aB"))).partition] == [1, 0]

    one_down = replace(at_rest(4, 2, 0), groups="AaAA", template="b", spec="b", partition=4)
    drawn = plan(numbers(one_down))
    assert (drawn.partition, drawn.stage) == (3, Stage.ROLLING)


def test_an_old_group_at_a_low_index_blocks_a_budget_of_one() -> None:
    """It is named, so that a person can see to it."""
    world = replace(at_rest(4, 1, 0), groups="aAAA", template="b", spec="b", partition=4)

    drawn = plan(numbers(world))

    assert (drawn.partition, drawn.stage, drawn.blocked_by) == (4, Stage.BLOCKED, (0,))


def test_the_guard_keeps_surge_groups_that_are_the_only_ready_ones() -> None:
    """The example of section 3.10 point 7."""
    world = World(4, Budget(2, 3), "AbBbbBB", 7, 1, recorded=4, template="b", spec="b")

    drawn = plan(numbers(world))

    assert (drawn.partition, drawn.replicas, drawn.is_guarded) == (0, 6, True)


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        (World(2, Budget(1, 0), "AABB", 4, 2, recorded=2, template="b", spec="b"), (2, 2)),
        (World(4, Budget(1, 0), "AAAABBB", 7, 4, recorded=4, template="b", spec="b"), (4, 4)),
        (World(3, Budget(1, 1), "AAABBB", 6, 3, recorded=3, template="b", spec="b"), (3, 4)),
    ],
    ids=["fewer are wanted", "a smaller surge", "both"],
)
def test_groups_that_are_about_to_go_give_no_room_to_others(world: World, expected: tuple[int, int]) -> None:
    """It was recorded before, under a pause for example, that fewer are wanted; and all that are wanted are old."""
    drawn = plan(numbers(world))

    assert (drawn.partition, drawn.replicas) == expected


def test_a_revision_in_mid_rollout_spares_a_surge_group_that_the_budget_needs() -> None:
    """Groups 2 is away; to replace surge group 4 as well would leave three of four."""
    world = World(4, Budget(0, 1), "AAbBB", 5, 2, recorded=4, template="b", spec="c")

    world, selected = planned(world)
    assert (selected.partition, selected.replicas) == (5, 5)

    world, waiting = planned(world)
    assert waiting.partition == 5

    _, moving = planned(replace(world, groups="AABBB"))
    assert moving.partition == 4


def a_rollout(**changes: object) -> Numbers:
    groups = tuple(PlannedGroup(True, index >= 3) for index in range(4))
    return replace(Numbers(4, Budget(1, 0), Leaders(4, 3, 4), groups), **changes)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (a_rollout(leaders=None), (0, 4, Row.CREATE)),
        (a_rollout(leaders=None, kept_below=2), (2, 4, Row.CREATE)),
        (a_rollout(is_new_revision=True), (4, 4, Row.SELECT)),
        (a_rollout(is_new_revision=True, leaders=Leaders(2, 0, 2)), (2, 4, Row.SELECT)),
        (a_rollout(is_new_revision=True, leaders=Leaders(6, 0, 6)), (4, 4, Row.SELECT)),
        (a_rollout(leaders=Leaders(4, 0, 4)), (0, 4, Row.REST)),
        (a_rollout(leaders=Leaders(4, 0, 4), kept_below=9), (9, 4, Row.REST)),
        (a_rollout(leaders=Leaders(2, 1, 2)), (1, 4, Row.SCALE_UP)),
        (a_rollout(leaders=Leaders(6, 6, 6)), (4, 4, Row.RESCALE)),
        (a_rollout(leaders=Leaders(4, 3, None)), (3, 4, Row.RESCALE)),
        (a_rollout(), (2, 4, Row.ROLL)),
        (a_rollout(replicas=0, leaders=Leaders(0, 0, 0), groups=()), (0, 0, Row.REST)),
        (a_rollout(replicas=0, leaders=Leaders(4, 0, 4)), (0, 0, Row.RESCALE)),
    ],
)
def test_every_row(seen: Numbers, expected: tuple[int, int, Row]) -> None:
    drawn = plan(seen)

    assert (drawn.partition, drawn.replicas, drawn.row) == expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (a_rollout(), (3, 4, Stage.PAUSED)),
        (a_rollout(is_new_revision=True), (4, 4, Stage.PAUSED)),
        (a_rollout(is_new_revision=True, leaders=Leaders(5, 3, 4), budget=Budget(1, 1)), (5, 5, Stage.PAUSED)),
        (a_rollout(replicas=2), (3, 4, Stage.PAUSED)),
        (a_rollout(replicas=6), (3, 6, Stage.SCALING_FIRST)),
        (a_rollout(leaders=Leaders(4, 0, 4)), (0, 4, Stage.STEADY)),
    ],
)
def test_25_a_paused_rollout_moves_no_group_and_still_grows(seen: Numbers, expected: tuple[int, int, Stage]) -> None:
    drawn = plan(replace(seen, paused=True))

    assert (drawn.partition, drawn.replicas, drawn.stage) == expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (a_rollout(), (3, 4)),
        (a_rollout(replicas=2), (3, 4)),
        (a_rollout(replicas=6), (3, 6)),
        (a_rollout(is_new_revision=True), (4, 4)),
        (a_rollout(leaders=Leaders(6, 2, 4), groups=(PlannedGroup(True, True),) * 6), (2, 6)),
    ],
)
def test_no_group_moves_or_goes_before_the_controller_knows_where_it_stands(
    seen: Numbers, expected: tuple[int, int]
) -> None:
    """It may still replace a group as it was told before; new groups and another revision come all the same."""
    assert seen.leaders is not None

    drawn = plan(replace(seen, leaders=replace(seen.leaders, is_observed=False)))

    assert (drawn.partition, drawn.replicas) == expected
    assert drawn.blocked_by == ()


def test_a_pause_starts_no_surge() -> None:
    """Section 6.8: a revision is selected, and no pod comes or goes until the pause ends."""
    world = replace(at_rest(4, 0, 2), spec="b", paused=True)

    world, selected = planned(world)
    _, later = planned(world)

    assert [(each.partition, each.replicas) for each in (selected, later)] == [(4, 4), (4, 4)]


def test_a_revert_in_mid_rollout_finds_the_groups_that_never_moved_up_to_date() -> None:
    world = replace(at_rest(4, 1, 0), groups="AABB", template="b", spec="a", partition=2)

    world, _ = planned(world)
    _, drawn = planned(world)

    assert drawn.partition == 3
    assert drawn.waits_for == (3,)


def test_groups_that_are_not_there_count_as_neither_ready_nor_updated() -> None:
    drawn = plan(Numbers(3, Budget(1, 0), Leaders(3, 3, 3), ()))

    assert (drawn.partition, drawn.waits_for) == (2, (2,))


def test_the_step_never_moves_the_partition_up() -> None:
    groups = [PlannedGroup(True, False)] * 4

    assert lowered(groups, 1, 2) == 2


def test_a_plan_is_a_value() -> None:
    drawn = plan(a_rollout())

    assert drawn == Plan(2, 4, Row.ROLL, Stage.ROLLING, waits_for=(2,))
    assert applied(at_rest(4, 1, 0), drawn).partition == 2
