"""Every order in which pods of a small pair come and go, and a pass that dies at any point: I-1 to I-4, and the end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from msgspec.structs import replace

from fairlead.contracts.plans.decide.workloads import pair
from fairlead.contracts.plans.decide.workloads.answers import Step, Writes
from fairlead.contracts.plans.decide.workloads.attempt import Attempt
from fairlead.contracts.plans.kinds import RolloutBatch, RolloutPlan
from tests.contracts.plans.decide.workloads.pair_model import (
    ENDED,
    FAILED,
    Breach,
    Case,
    Sized,
    World,
    moves,
    passes,
    started,
)

STRATEGIES = ("IncreaseFirst", "DecreaseFirst")


def _sizes(total: int, count: int) -> Iterator[tuple[int, ...]]:
    """All batches that fit: any sizes, and a last one that is not empty."""
    for sizes in product(range(total), repeat=count - 1):
        if sum(sizes) < total:
            yield (*sizes, total - sum(sizes))


def _cases(largest: int, strategy: str, tolerated: int = 0) -> Iterator[Case]:
    """Every size that an earlier attempt can leave to target and source, together never less than the whole."""
    for total in range(1, largest + 1):
        for count in range(1, 4):
            for sizes in _sizes(total, count):
                batches = tuple(RolloutBatch(each, max_unavailable=tolerated) for each in sizes)
                plan = RolloutPlan(rollout_strategy=strategy, rollout_batches=batches)
                for target, source in product(range(total + 1), range(total + 2)):
                    yield Case(plan, target, (source,), total)


def explored(case: Case) -> set[World]:
    """All worlds that can be reached; a Breach where one must not be."""
    first = started(case)
    seen, todo = {first}, [first]
    while todo:
        for world in moves(case, todo.pop()):
            if world not in seen:
                seen.add(world)
                todo.append(world)
    return seen


def _settled(world: World) -> World:
    """All controllers have caught up, and all pods are ready."""

    def caught_up(each: Sized) -> Sized:
        return replace(each, pods=each.spec, ready=each.spec, is_observed=True)

    return replace(world, target=caught_up(world.target), sources=tuple(map(caught_up, world.sources)))


def _played(case: Case, world: World) -> World:
    """L-1: to the end, with pods that become ready."""
    for _ in range(60):
        if world.phase == ENDED:
            break
        *_, world = (world, *passes(case, _settled(world)))
    return world


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_orders_of_a_small_pair(strategy: str) -> None:
    for case in _cases(3, strategy):
        worlds = explored(case)

        assert not [each for each in worlds if each.phase == FAILED], case
        for each in worlds:
            if each.phase == ENDED:
                assert (each.target.spec, sum(source.spec for source in each.sources)) == (case.size, 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_orders_of_two_sources(strategy: str) -> None:
    """The third target in mid-rollout: both older workloads are sources, and the first is emptied first.

    Of those that are too many for the size, it may be the second that has some which are not ready.
    """
    plan = RolloutPlan(rollout_strategy=strategy, rollout_batches=(RolloutBatch(1), RolloutBatch(1)))
    for sources in ((1, 1), (0, 2), (2, 0), (2, 1), (1, 2)):
        worlds = explored(Case(plan, 0, sources, 2))

        assert all(each.phase != FAILED for each in worlds)
        for each in worlds:
            first, second = (source.spec for source in each.sources)
            assert first == 0 or second >= sources[1] - (max(0, sum(sources) - 2) if strategy == STRATEGIES[0] else 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pods_that_may_be_missing_do_not_hold_a_batch_up(strategy: str) -> None:
    for case in _cases(2, strategy, tolerated=1):
        assert not [each for each in explored(case) if each.phase == FAILED], case


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_reachable_world_can_still_end(strategy: str) -> None:
    """L-1 and L-4: from wherever a process died, the rollout comes to its end."""
    for case in _cases(2, strategy):
        for world in explored(case):
            ended = _played(case, world)
            assert ended.phase == ENDED, (case, world)
            assert (ended.target.spec, ended.total) == (case.size, case.size)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_larger_pairs_come_to_their_end(strategy: str) -> None:
    """Every plan of up to three batches and five pods, from every start, with pods that become ready at once."""
    for case in _cases(5, strategy):
        ended = _played(case, started(case))

        assert ended.phase == ENDED, case
        assert (ended.target.spec, ended.total) == (case.size, case.size)


def _case(strategy: str = "IncreaseFirst") -> Case:
    batches = (RolloutBatch(1), RolloutBatch(1))
    return Case(RolloutPlan(rollout_strategy=strategy, rollout_batches=batches), 0, (2,), 2)


def test_a_plan_that_does_not_wait_for_pods_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge is awake: without the wait for readiness I-4 breaks."""
    monkeypatch.setattr(pair, "_not_ready", lambda attempt, target, goal: _shrink(attempt, goal))

    with pytest.raises(Breach, match="I-4"):
        explored(_case())


def test_a_plan_that_takes_too_much_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    shrunk = pair._shrunk
    monkeypatch.setattr(pair, "_shrunk", lambda sources, _total: shrunk(sources, 0))

    with pytest.raises(Breach, match="I-1"):
        explored(_case())


def test_a_plan_that_goes_ahead_of_its_batch_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    resized = pair._resized
    monkeypatch.setattr(pair, "_resized", lambda workload, size: resized(workload, size + (workload.name == "t")))

    with pytest.raises(Breach, match="I-"):
        explored(_case())


def _shrink(attempt: Attempt, goal: int) -> Step:
    left = pair.source_size(attempt, goal)
    return Writes(tuple(pair._shrunk(attempt.live_sources, left)), completes=True)
