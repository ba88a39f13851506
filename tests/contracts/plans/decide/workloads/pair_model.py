"""A pair of Deployments with their controllers and a plan that is walked, small enough to look at every order.

A state is the whole world; `moves` are all that can happen next: a pass of the plan, one that dies after some of its
writes, a controller that catches up with its spec, a pod that becomes ready or is lost. Pods that are not ready go
first when a Deployment shrinks, as its controller has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide.batches import Batches, Span, batches_of
from fairlead.contracts.plans.decide.workloads import pair
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Retry, Step, WorkloadChange, Writes
from fairlead.contracts.plans.decide.workloads.attempt import Attempt
from fairlead.contracts.plans.decide.workloads.live import Workload
from fairlead.contracts.plans.kinds import Carried, RolloutPlan, RolloutStatus
from tests.contracts.plans.decide.workloads.objects import an_attempt, deployment, recorded

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROLLING, CHECKING, FINISHING, ENDED, FAILED = "rolling", "checking", "finishing", "ended", "failed"


class Sized(Struct, frozen=True):
    """A Deployment, as far as it counts here."""

    name: str
    spec: int
    pods: int
    ready: int
    is_observed: bool = True


class World(Struct, frozen=True):
    target: Sized
    sources: tuple[Sized, ...]
    phase: str = ROLLING
    batch: int = 0
    start: int = 0

    @property
    def total(self) -> int:
        return self.target.spec + sum(each.spec for each in self.sources)


class Case(Struct, frozen=True):
    plan: RolloutPlan
    target: int
    """Pods of the target before the attempt."""
    sources: tuple[int, ...]
    size: int

    def batches(self) -> Batches:
        found = batches_of(self.plan, Span(self.size, sum(self.sources)))
        assert isinstance(found, Batches)
        return found


class Breach(AssertionError):
    """A world that must not be."""


def started(case: Case) -> World:
    """The world at the end of `initializing`, its pods not there yet where the target grew."""
    target = deployment("t", 0, pods=case.target, paused=True)
    sources = _sources(tuple(Sized(f"s{place}", size, size, size) for place, size in enumerate(case.sources)), False)
    attempt = _attempt(case, target, sources, RolloutStatus(sources=recorded(*sources), carried=Carried((), case.size)))
    verified = pair.verify(replace(attempt, plan=replace(case.plan, target_size=case.size), batches=None))
    assert not isinstance(verified, Retry | Fail), verified
    step = pair.initialize(attempt, NOON)
    assert isinstance(step, Writes)
    assert step.start_target_size is not None
    size = step.start_target_size
    return World(
        Sized("t", size, case.target, case.target, is_observed=False),
        tuple(Sized(each.name, each.size, each.size, each.size) for each in sources),
        start=size,
    )


def moves(case: Case, world: World) -> Iterator[World]:
    yield from passes(case, world)
    for place, each in enumerate((world.target, *world.sources)):
        for other in _of_controller(each):
            yield _with(world, place, other)


def passes(case: Case, world: World) -> Iterator[World]:
    """One pass, whole; and, where it writes, ended after each of its writes before the status was stored."""
    if world.phase in (ENDED, FAILED):
        return
    step = _step(case, world)
    match step:
        case Fail():
            yield replace(world, phase=FAILED)
        case Done():
            yield _next(case, world)
        case Writes(changes, completes):
            found = world
            for change in changes:
                assert isinstance(change, WorkloadChange)
                before, found = found, _written(found, change)
                _judge(case, before, found)
                yield found
            yield _next(case, found) if completes else found
        case _:
            return


def _step(case: Case, world: World) -> Step:
    sources = _sources(world.sources, True)
    names = tuple(
        replace(each, original_replicas=size) for each, size in zip(recorded(*sources), case.sources, strict=True)
    )
    status = RolloutStatus(sources=names, start_target_size=world.start, current_batch=world.batch)
    attempt = _attempt(case, _deployment(world.target, True), sources, status)
    match world.phase:
        case "rolling":
            return pair.roll(attempt, NOON)
        case "checking":
            return pair.check(attempt)
    return pair.finish_batch(attempt)


def _attempt(case: Case, target: Workload, sources: tuple[Workload, ...], status: RolloutStatus) -> Attempt:
    return an_attempt(target, sources, case.plan, batches=case.batches(), status=status)


def _sources(sources: tuple[Sized, ...], claimed: bool) -> tuple[Workload, ...]:
    return tuple(_deployment(each, claimed) for each in sources)


def _deployment(sized: Sized, claimed: bool) -> Workload:
    found = deployment(sized.name, sized.spec, pods=sized.pods, ready=sized.ready, claimed=claimed)
    if not sized.is_observed:
        found.tree["metadata"]["generation"] = 2
    return found


def _next(case: Case, world: World) -> World:
    match world.phase:
        case "rolling":
            return replace(world, phase=CHECKING)
        case "checking":
            return replace(world, phase=FINISHING)
    if world.batch < case.batches().last:
        return replace(world, phase=ROLLING, batch=world.batch + 1)
    return replace(world, phase=ENDED)


def _written(world: World, change: WorkloadChange) -> World:
    size = change.body["spec"]["replicas"]
    for place, each in enumerate((world.target, *world.sources)):
        if each.name == change.ref.name:
            return _with(world, place, replace(each, spec=size, is_observed=False))
    raise AssertionError(change)


def _with(world: World, place: int, sized: Sized) -> World:
    if place == 0:
        return replace(world, target=sized)
    sources = [*world.sources]
    sources[place - 1] = sized
    return replace(world, sources=tuple(sources))


def _of_controller(each: Sized) -> Iterator[Sized]:
    """It makes or takes away pods to match its spec; a pod becomes ready, or stops being so."""
    if not each.is_observed or each.pods != each.spec:
        yield replace(each, is_observed=True, pods=each.spec, ready=min(each.ready, each.spec))
    if each.ready < each.pods:
        yield replace(each, ready=each.ready + 1)
    if each.ready > 0:
        yield replace(each, ready=each.ready - 1)


def _judge(case: Case, before: World, after: World) -> None:
    """I-1 to I-4 of one write."""
    batches = case.batches()
    most = max(case.size, case.target + sum(case.sources))
    room = batches.sizes[after.batch]
    if case.plan.is_decrease_first:
        low, high = case.size - room, most
    else:
        low, high = case.size, most + room
    if not low <= after.total <= high:
        raise Breach(f"I-1: {after.total} pods are asked for, {low} to {high} may be: {case} {before}")
    if after.target.spec < before.target.spec or any(
        new.spec > old.spec for old, new in zip(before.sources, after.sources, strict=True)
    ):
        raise Breach(f"I-2: {case} {before} {after}")
    if after.target.spec > max(batches.goal(after.batch), after.start):
        raise Breach(f"I-3: {case} {before} {after}")
    _judge_ready(case, before, after)


def _judge_ready(case: Case, before: World, after: World) -> None:
    """I-4: ready pods are taken only where all that are needed stay; those that were not ready count as ready."""
    if case.plan.is_decrease_first:
        return
    taken = sum(max(0, old.ready - new.spec) for old, new in zip(before.sources, after.sources, strict=True))
    left = after.target.ready + sum(min(each.spec, each.pods) for each in after.sources)
    tolerated = max(0, *(_tolerance(case, place) for place in range(len(case.batches().sizes))))
    if taken and left < case.size - tolerated:
        raise Breach(f"I-4: {case} {before} {after}")


def _tolerance(case: Case, place: int) -> int:
    found = case.plan.batch(place).max_unavailable
    return found if isinstance(found, int) else 0
