"""What happens to rollouts while a safety of theirs is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from fairlead.contracts.plans.kinds import ROLLOUT_TRAITS
from kubeloop.objects.apps import DEPLOYMENTS
from kubesim.faults import Fault
from tests.chaos.plans.app_world import AppRolledWorld
from tests.chaos.plans.facts import ACTION, BATCH_READY, ENDED, INITIALIZING, ROLLING, SUCCEEDED
from tests.chaos.plans.outside import BAD
from tests.chaos.plans.steps import MEANS, DeleteRollout
from tests.chaos.plans.world import RolledWorld
from tests.chaos.world import Process

Story = Callable[[RolledWorld], Awaitable[None]]


def _process(world: RolledWorld) -> Process:
    process = world.replicas[0].process
    assert process is not None
    return process


async def _comes(world: RolledWorld, *states: str, batch_state: str = "", seconds: float = 120.0) -> None:
    def is_there() -> bool:
        fact = world.judge.record.rollout("r")
        return fact is not None and fact.state in states and batch_state in ("", fact.batch_state)

    assert await world.until(is_there, seconds, every=0.01), world.left()


async def a_rollout(world: RolledWorld) -> None:
    world.roll()
    await world.finish(300)


async def a_source_scaled_while_a_write_travels(world: RolledWorld) -> None:
    world.roll(lastBatchToRollout=0)
    await _comes(world, ROLLING, batch_state=BATCH_READY)
    _process(world).wire.plan.fail(MEANS["workload"], 1, Fault("delay", 2.0))
    world.edit({"rolloutPlan": {"lastBatchToRollout": None}})
    await asyncio.sleep(1)
    world.patch(DEPLOYMENTS, "d2", {"spec": {"replicas": 9}})
    await _comes(world, *ENDED)


async def a_gate_closed_while_a_status_travels(world: RolledWorld) -> None:
    world.roll(lastBatchToRollout=0)
    await _comes(world, ROLLING, batch_state=BATCH_READY)
    _process(world).wire.plan.fail(MEANS["status"], 1, Fault("delay", 2.0))
    world.edit({"rolloutPlan": {"lastBatchToRollout": 1}})
    await asyncio.sleep(1)
    world.edit({"rolloutPlan": {"lastBatchToRollout": 0}})
    await asyncio.sleep(30)
    world.heal()
    await world.finish(300)


async def a_template_just_written(world: RolledWorld) -> None:
    """The controller is away, so that the status still counts the pods of the template before as new."""
    world.roll()
    await _comes(world, SUCCEEDED)
    world.remove(ROLLOUT_TRAITS, "r")
    await world.stop_clone_sets()
    await asyncio.sleep(5)
    world.freeze()
    world.roll(targetSize=world.setting.size)
    await asyncio.sleep(10)
    world.start_clone_sets()
    await world.finish(300)


async def a_template_seen_late(world: RolledWorld) -> None:
    """The rollout is verified on the workload as it was before its newest template."""
    world.roll()
    await _comes(world, SUCCEEDED)
    world.remove(ROLLOUT_TRAITS, "r")
    await asyncio.sleep(5)
    _process(world).wire.faulty.freeze("clonesets")
    world.freeze()
    world.roll(targetSize=world.setting.size)
    await _comes(world, INITIALIZING)
    _process(world).wire.faulty.thaw("clonesets")
    await world.finish(300)


async def two_rollouts(world: RolledWorld) -> None:
    world.roll(lastBatchToRollout=0)
    await _comes(world, ROLLING, batch_state=BATCH_READY)
    world.roll("s")
    await asyncio.sleep(30)
    world.heal()
    await world.finish(300)


async def a_target_scaled_at_the_gate(world: RolledWorld) -> None:
    world.roll(lastBatchToRollout=0)
    await _comes(world, ROLLING, batch_state=BATCH_READY)
    world.patch(DEPLOYMENTS, "d2", {"spec": {"replicas": 9}})
    await asyncio.sleep(5)
    world.edit({"rolloutPlan": {"lastBatchToRollout": None}})
    await _comes(world, *ENDED)


async def a_gate(world: RolledWorld) -> None:
    world.roll(lastBatchToRollout=0)
    await asyncio.sleep(30)
    world.heal()
    await world.finish(300)


async def a_pause(world: RolledWorld) -> None:
    world.roll()
    await _comes(world, ROLLING)
    world.edit({"rolloutPlan": {"paused": True}})
    await asyncio.sleep(30)
    world.heal()
    await world.finish(300)


async def writes_that_fail(world: RolledWorld) -> None:
    world.roll(lastBatchToRollout=0)
    await _comes(world, ROLLING, batch_state=BATCH_READY)
    _process(world).wire.plan.fail(MEANS["workload"], 2, Fault("status", status=500))
    world.edit({"rolloutPlan": {"lastBatchToRollout": None}})
    await world.finish(300)


async def deleted_with_its_finalizer_taken_off(world: RolledWorld) -> None:
    world.roll(lastBatchToRollout=0)
    await _comes(world, ROLLING, batch_state=BATCH_READY)
    await DeleteRollout("Background", 20.0, stripped=True).play(world)
    world.heal()
    await world.finish(300)


async def bad_metrics(world: RolledWorld) -> None:
    world.metrics.says = ""
    world.roll()
    await asyncio.sleep(20)
    world.metrics.says = BAD
    await _comes(world, *ENDED)


async def hooks_that_refuse(world: RolledWorld) -> None:
    world.answer = 403
    world.roll()
    await asyncio.sleep(20)
    world.heal()
    await world.finish(300)


async def another_revision(world: RolledWorld) -> None:
    assert isinstance(world, AppRolledWorld)
    world.retarget(2, named=True)
    await world.finish(300)


async def a_third_revision_after_an_abort(world: RolledWorld) -> None:
    """`r` has stopped between the first two, and `s` knows of one of them."""
    assert isinstance(world, AppRolledWorld)
    world.edit({"rolloutPlan": {**world.plan(), "lastBatchToRollout": 0}})
    world.retarget(2, named=True)
    await _comes(world, ROLLING, batch_state=BATCH_READY)
    world.patch(world.rollouts, "r", {"metadata": {"annotations": {ACTION: "abort@2026-01-01T00:00:00Z"}}})
    await _comes(world, *ENDED)
    world.roll_between("s", 3, 2, rolloutBatches=[{}])
    assert await world.until(lambda: _state(world, "s") in ENDED, 300.0)


def _state(world: RolledWorld, name: str) -> str:
    fact = world.judge.record.rollout(name)
    return "" if fact is None else fact.state
