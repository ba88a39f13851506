"""What the planner promises against every order of things (S1, S2, S3, L1, L3).

Exhaustively: all worlds that a rollout of up to four groups can reach, whatever the StatefulSet controller does first
and whichever group becomes ready. By Hypothesis: larger ones, with rounds that see an older view of the groups, and
with further revisions on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide import planner
from fairlead.contracts.leaderworker.decide.budgets import Budget
from fairlead.contracts.leaderworker.decide.planner import Leaders, Numbers, PlannedGroup
from tests.contracts.leaderworker.decide.statefulset_model import (
    World,
    at_rest,
    controller_steps,
    controller_turn,
    planned,
    readiness_steps,
)
from tests.examples import examples

SMALL = [
    (replicas, unavailable, surge, kept_below)
    for replicas in (1, 2, 3, 4)
    for unavailable, surge in product(range(replicas + 1), range(replicas + 1))
    for kept_below in (0, 1, replicas)
    if unavailable + surge > 0
]


def check(world: World) -> None:
    assert world.ready >= world.replicas - world.budget.unavailable, f"S1: {world}"
    assert world.leaders <= world.replicas + world.budget.surge, f"S2: {world}"
    moved = [each for each in world.groups[: world.kept_below] if each.lower() == world.template != "a"]
    assert not moved, f"S3, a group below the partition is moved: {world}"


def successors(world: World) -> Iterator[World]:
    after, _ = planned(world)
    if after.template == world.template:
        assert after.partition <= world.partition, f"S3, the partition rises: {world}"
    yield after
    yield from controller_steps(world)
    yield from readiness_steps(world)


def reachable(first: World) -> set[World]:
    found, todo = {first}, [first]
    while todo:
        for each in successors(todo.pop()):
            if each not in found:
                check(each)
                found.add(each)
                todo.append(each)
    return found


@pytest.mark.parametrize("is_gated", [False, True], ids=["one at a time", "MaxUnavailableStatefulSet"])
def test_every_order_of_a_small_rollout_keeps_the_budget_and_ends(is_gated: bool) -> None:
    """From wherever it has come to, a fair controller brings it to its end: one revision, no surge, nothing held."""
    for replicas, unavailable, surge, kept_below in SMALL:
        ends: dict[World, World] = {}
        for world in reached_in_a_rollout(replicas, unavailable, surge, kept_below):
            ended = settled(world, is_gated, ends)
            assert ended.is_finished, f"L1: {world} ends as {ended}"
            if not kept_below:
                assert ended.set_replicas == replicas, f"L3: {world} ends as {ended}"


@cache
def reached_in_a_rollout(replicas: int, unavailable: int, surge: int, kept_below: int) -> Iterable[World]:
    return reachable(replace(at_rest(replicas, unavailable, surge, kept_below), spec="b"))


def settled(world: World, is_gated: bool, ends: dict[World, World] | None = None) -> World:
    """Each in turn, and every group becomes ready, until nothing changes; `ends` are known, and added to."""
    known = {} if ends is None else ends
    passed: list[World] = []
    for _ in range(60):
        if world in known:
            known.update(dict.fromkeys(passed, known[world]))
            return known[world]
        passed.append(world)
        world, _ = planned(world)
        world = controller_turn(world, is_gated)
        world = replace(world, groups=world.groups.upper())
        if world == passed[-1]:
            known.update(dict.fromkeys(passed, world))
            return world
    raise AssertionError(f"no end: {world}")


class Rollout:
    """A rollout that Hypothesis drives: it draws what happens next."""

    def __init__(self, world: World, data: st.DataObject) -> None:
        self.world = world
        self.draw = data.draw
        self.views = [world.groups]
        """What the groups looked like: a round may see any of the last."""

    def run(self, steps: int, edits: bool) -> None:
        """With edits, rounds see what is there: no number tells that a view is older than the revision before."""
        for _ in range(steps):
            choices: list[Callable[[], World]] = [self.planner_round]
            choices += [lambda each=each: each for each in controller_steps(self.world)]  # type: ignore[misc]
            choices += [lambda each=each: each for each in readiness_steps(self.world)]  # type: ignore[misc]
            if edits:
                choices.append(self.edit)
            self.world = self.draw(st.sampled_from(choices))()
            self.views = [self.world.groups] if edits else [*self.views[-5:], self.world.groups]
            check_budget(self.world)

    def planner_round(self) -> World:
        view = self.draw(st.sampled_from(self.views))
        after, _ = planned(self.world, view)
        if after.template == self.world.template:
            assert after.partition <= self.world.partition, f"S3: {self.world}"
        return after

    def edit(self) -> World:
        return replace(self.world, spec=self.draw(st.sampled_from("abc")))


def check_budget(world: World) -> None:
    assert world.ready >= world.replicas - world.budget.unavailable, f"S1: {world}"
    assert world.leaders <= world.replicas + world.budget.surge, f"S2: {world}"


@st.composite
def resting(draw: st.DrawFn) -> World:
    replicas = draw(st.integers(1, 8))
    unavailable = draw(st.integers(0, replicas))
    surge = draw(st.integers(0 if unavailable else 1, replicas))
    return at_rest(replicas, unavailable, surge, draw(st.sampled_from((0, 0, 0, 1, replicas))))


@given(resting(), st.booleans(), st.data())
@examples(60)
def test_larger_rollouts_keep_the_budget_also_on_old_views(world: World, is_gated: bool, data: st.DataObject) -> None:
    rollout = Rollout(replace(world, spec="b"), data)

    rollout.run(data.draw(st.integers(0, 60)), edits=False)

    assert settled(rollout.world, is_gated).is_finished


@given(resting(), st.booleans(), st.data())
@examples(60)
def test_revisions_on_the_way_keep_the_budget(world: World, is_gated: bool, data: st.DataObject) -> None:
    rollout = Rollout(replace(world, spec="b"), data)

    rollout.run(data.draw(st.integers(0, 60)), edits=True)

    ended = settled(rollout.world, is_gated)
    assert ended.is_finished or ended.kept_below


def test_without_the_guard_the_budget_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 3.10 point 7 taken away: reclaiming drops surge groups that are the only ready ones."""
    monkeypatch.setattr(planner, "_reclaimable", lambda _seen, _leaders, _partition, replicas: replicas)

    with pytest.raises(AssertionError, match="S1"):
        reachable(replace(at_rest(4, 2, 3), spec="b"))


def test_without_sparing_surge_groups_a_second_revision_breaks_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "_spared", lambda _seen, _leaders, partition, _highest: partition)
    midway = reachable(replace(at_rest(2, 0, 1), spec="b"))

    with pytest.raises(AssertionError, match="S1"):
        check_second_revisions(midway, "c")


def test_every_second_revision_of_a_small_rollout_keeps_the_budget() -> None:
    """Selected anywhere on the way, and seen at once."""
    for replicas, unavailable, surge, _ in [each for each in SMALL if each[0] < 3 and each[3] == 0]:
        check_second_revisions(reachable(replace(at_rest(replicas, unavailable, surge), spec="b")), "ac")


def check_second_revisions(worlds: Iterable[World], specs: str) -> None:
    for world, spec in product(worlds, specs):
        reachable(replace(world, spec=spec))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_the_step_is_never_exceeded(states: list[tuple[bool, bool]], step: int, partition: int) -> None:
    """Of the groups that are ready, at most `step` less those that are away already become condemned."""
    groups = [planner.PlannedGroup(*each) for each in states]
    found = planner.lowered(groups, step, partition)

    condemned = sum(each.ready and not each.updated for each in groups[found:partition])
    away = sum(not each.ready for each in groups)
    assert condemned == 0 or condemned + away <= step + _away_in_line(groups, found)


def _away_in_line(groups: list[planner.PlannedGroup], partition: int) -> int:
    """Groups that are not ready and are replaced: they had nothing to lose."""
    return sum(not each.ready for each in groups[partition:])


def _stay(groups: Iterable[PlannedGroup], partition: int) -> int:
    return sum(each.ready and (each.updated or index < partition) for index, each in enumerate(groups))


@st.composite
def anything(draw: st.DrawFn) -> Numbers:
    """Whatever people have made of the numbers, also in the middle of a rollout."""
    wanted, leaders = draw(st.integers(0, 6)), draw(st.integers(0, 9))
    unavailable, surge = draw(st.integers(0, 4)), draw(st.integers(0, min(3, wanted)))
    groups = draw(st.lists(st.builds(PlannedGroup, st.booleans(), st.booleans()), min_size=leaders, max_size=leaders))
    return Numbers(
        replicas=wanted,
        budget=Budget(unavailable or int(not surge), surge),
        leaders=Leaders(
            leaders,
            draw(st.integers(0, leaders)),
            draw(st.sampled_from([wanted, wanted + 1, None])),
            is_observed=draw(st.booleans()),
        ),
        groups=tuple(groups),
        kept_below=draw(st.sampled_from([0, 0, 0, 1, 3, 9])),
        is_new_revision=draw(st.booleans()),
        paused=draw(st.booleans()),
    )


SCALED_DOWN_WITH_A_NEW_TEMPLATE = Numbers(
    replicas=1,
    budget=Budget(0, 1),
    leaders=Leaders(3, 2, 3),
    groups=(PlannedGroup(), PlannedGroup(ready=True), PlannedGroup(True, updated=True)),
    is_new_revision=True,
)
"""In one edit: group 1 alone is ready and stays, and group 2 goes."""


@given(anything())
@example(SCALED_DOWN_WITH_A_NEW_TEMPLATE)
@examples(1000)
def test_no_step_takes_ready_groups_that_the_budget_needs(seen: Numbers) -> None:
    """Those apart that are beyond what is wanted and its surge: they go, as somebody asked for."""
    leaders = seen.leaders
    assert leaders is not None
    drawn = planner.plan(seen)
    kept = seen.groups[: max(seen.replicas + seen.budget.surge, drawn.replicas)]
    before = sum(each.ready for each in kept) if seen.is_new_revision else _stay(kept, leaders.partition)

    after = _stay(seen.groups[: drawn.replicas], drawn.partition)

    assert after >= min(seen.replicas - seen.budget.unavailable, before)
