"""Every order in which pods of a small CloneSet become new and ready, with a pass that dies: I-2, I-3 and L-1."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide.batches import Batches, Span, batches_of
from fairlead.contracts.plans.decide.workloads import in_place
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Step, WorkloadChange, Writes
from fairlead.contracts.plans.kinds import RolloutBatch, RolloutPlan, RolloutStatus
from tests.contracts.plans.decide.workloads.objects import an_attempt, clone_set

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROLLING, CHECKING, FINISHING, ENDED = "rolling", "checking", "finishing", "ended"
NEXT = {ROLLING: CHECKING, CHECKING: FINISHING}


class World(Struct, frozen=True):
    partition: int
    updated: int
    ready: int
    phase: str = ROLLING
    batch: int = 0


class Case(Struct, frozen=True):
    sizes: tuple[int, ...]
    updated: int
    """Pods that are new before the attempt."""

    @property
    def total(self) -> int:
        return sum(self.sizes)

    @property
    def plan(self) -> RolloutPlan:
        return RolloutPlan(rollout_batches=tuple(map(RolloutBatch, self.sizes)))

    def batches(self) -> Batches:
        found = batches_of(self.plan, Span(self.total, self.total))
        assert isinstance(found, Batches)
        return found


def _cases() -> Iterator[Case]:
    for total in range(1, 5):
        for count in range(1, 4):
            for sizes in product(range(total), repeat=count - 1):
                if sum(sizes) < total:
                    yield from (Case((*sizes, total - sum(sizes)), updated) for updated in range(total + 1))


def _step(case: Case, world: World) -> Step:
    target = clone_set(case.total, updated=world.updated, ready=world.ready, claimed=True, partition=world.partition)
    goal = case.batches().goal(world.batch)
    status = RolloutStatus(current_batch=world.batch, upgraded_replicas=goal)
    attempt = an_attempt(target, (), case.plan, batches=case.batches(), status=status)
    match world.phase:
        case "rolling":
            return in_place.roll(attempt, NOON)
        case "checking":
            return in_place.check(attempt)
    return in_place.finish_batch(attempt)


def _passes(case: Case, world: World) -> Iterator[World]:
    if world.phase == ENDED:
        return
    step = _step(case, world)
    assert not isinstance(step, Fail), (case, world, step)
    match step:
        case Done():
            yield _next(case, world)
        case Writes((WorkloadChange() as change,), completes):
            found = replace(world, partition=change.body["spec"]["updateStrategy"]["partition"])
            assert found.partition < world.partition, "I-2"
            asked = case.total - found.partition
            assert asked <= max(case.batches().goal(world.batch), case.updated), "I-3"
            yield found
            assert completes
            yield _next(case, found)


def _next(case: Case, world: World) -> World:
    if world.phase in NEXT:
        return replace(world, phase=NEXT[world.phase])
    is_last = world.batch == case.batches().last
    return replace(world, phase=ENDED) if is_last else replace(world, phase=ROLLING, batch=world.batch + 1)


def _moves(case: Case, world: World) -> Iterator[World]:
    yield from _passes(case, world)
    if world.updated < case.total - world.partition:
        yield replace(world, updated=world.updated + 1)
    if world.ready < world.updated:
        yield replace(world, ready=world.ready + 1)
    if world.ready:
        yield replace(world, ready=world.ready - 1)


def test_all_orders_of_a_small_clone_set() -> None:
    for case in _cases():
        first = World(case.total - case.updated, case.updated, case.updated)
        seen, todo = {first}, [first]
        while todo:
            for world in _moves(case, todo.pop()):
                if world not in seen:
                    seen.add(world)
                    todo.append(world)

        ended = [each for each in seen if each.phase == ENDED]
        assert ended, case
        assert {each.partition for each in ended} == {0}
        for each in seen:
            goals = case.batches()
            began = goals.goal(each.batch - 1) if each.batch else 0
            assert case.total - each.partition >= min(began, case.total)
