"""What happens to groups while a safety of theirs is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from kubeloop.objects.core import PODS
from kubesim.draws import Draws
from kubesim.faults import Fault
from kubesim.pods.behaviour import CRASH_AFTER, HOLD
from tests.chaos.leaderworker.facts import MOST_RESTARTS, PAUSED
from tests.chaos.leaderworker.steps import MEANS, PutForeign, ReplaceSet, ended
from tests.chaos.leaderworker.world import GroupedWorld, a_template
from tests.chaos.world import Process

Story = Callable[[GroupedWorld], Awaitable[None]]


def _process(world: GroupedWorld) -> Process:
    process = world.replicas[0].process
    assert process is not None
    return process


async def _give(world: GroupedWorld, image: int, *, held: bool = False, **more: Any) -> None:
    """Another image; leaders are ready at once, and workers that are held become ready by `_release`."""
    templates = {"workerTemplate": a_template(image, **{HOLD: "true" if held else None}), **more}
    await world.edit("a", {"spec": {"leaderWorkerTemplate": templates}})


async def a_rollout(world: GroupedWorld) -> None:
    await _give(world, 2)
    await world.finish(300)


async def surge_groups_ready_first(world: GroupedWorld) -> None:
    """Workers become ready in another order than their groups were moved."""
    await _give(world, 2, held=True, leaderTemplate=a_template(2))
    await _released(world, 12)
    await ended(world)


async def a_second_rollout_in_the_middle(world: GroupedWorld) -> None:
    await _give(world, 2, held=True, leaderTemplate=a_template(2))
    await _released(world, 3)
    await _give(world, 3, held=True, leaderTemplate=a_template(3))
    await _released(world, 12)
    await ended(world)


async def an_edit_as_the_partition_falls(world: GroupedWorld) -> None:
    """Group 1 was just let go, and the StatefulSet controller has not taken it yet."""
    await _give(world, 2)
    await world.until(lambda: "a 1/4" in world.judge.numbers, 60, every=0.001)
    await _give(world, 3)
    await world.finish(300)


async def an_edit_whose_group_goes_unseen(world: GroupedWorld) -> None:
    await _give(world, 2)
    await world.until(lambda: "a 1/4" in world.judge.numbers, 60, every=0.001)
    _process(world).wire.faulty.freeze("pods")
    await _give(world, 3)
    await asyncio.sleep(3)
    await ended(world)


async def _released(world: GroupedWorld, times: int) -> None:
    """One group after the other, in an order of the seed."""
    draws = Draws(world.setting.seed, "order")
    for _ in range(times):
        await asyncio.sleep(6)
        held = [each for each in world.pods() if each.count("-") == 2 and _is_held(world, each)]
        if held:
            world.misbehave(held[draws.below(len(held))], None)


def _is_held(world: GroupedWorld, pod: str) -> bool:
    return HOLD in world.judge.record.objects["pods"][pod]["metadata"]["annotations"]


async def a_rollout_down_to_a_partition(world: GroupedWorld) -> None:
    await world.edit("a", {"spec": {"rolloutStrategy": {"rollingUpdateConfiguration": {"partition": 2}}}})
    await _give(world, 2)
    await asyncio.sleep(60)
    await ended(world)


async def a_pause(world: GroupedWorld) -> None:
    await _give(world, 2)
    await asyncio.sleep(3)
    await world.edit("a", {"metadata": {"annotations": {PAUSED: "true"}}})
    await asyncio.sleep(30)
    await ended(world)


async def a_partition_lowered_by_hand_meanwhile(world: GroupedWorld) -> None:
    """While the next step of the operator travels, somebody lowers the partition further."""
    await _give(world, 2)
    await world.until(lambda: "a 3/4" in world.judge.numbers, 60, every=0.01)
    await asyncio.sleep(0.5)
    _process(world).wire.plan.fail(MEANS["leaders"], 1, Fault("delay", 3.0))
    await world.until(lambda: _asked(world, "apply statefulsets/a "), 60, every=0.01)
    world.change("a", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
    await asyncio.sleep(30)
    await ended(world)


def _asked(world: GroupedWorld, what: str) -> bool:
    """Whether it is the last that an operator asked for."""
    asked = [line for line in world.judge._tail if " asks " in line]
    return bool(asked) and what in asked[-1]


async def a_leader_replaced_while_its_deletion_travels(world: GroupedWorld) -> None:
    _process(world).wire.plan.fail(MEANS["delete"], 1, Fault("delay", 3.0))
    world.misbehave("a-0-1", CRASH_AFTER)
    assert await world.until(lambda: _asked(world, "delete pods/a-0 "), 30, every=0.01)
    world.kill_pod("a-0", grace=0)
    await asyncio.sleep(30)
    await ended(world)


async def there_and_back(world: GroupedWorld) -> None:
    await _give(world, 2)
    await asyncio.sleep(3)
    await _give(world, 1)
    await world.finish(300)


async def there_and_back_unseen(world: GroupedWorld) -> None:
    """Pods are shown as they were before a group moved, and it is still on its way back."""
    await _give(world, 2)
    await world.finish(300)
    _process(world).wire.faulty.freeze("pods")
    await _give(world, 3)
    await asyncio.sleep(3)
    await _give(world, 2)
    await asyncio.sleep(5)
    await ended(world)


async def an_orphan_and_a_rollout(world: GroupedWorld) -> None:
    """Workers of a leader that is gone for good carry the old key."""
    world.remove(PODS, "a-3", "Orphan")
    await asyncio.sleep(1)
    await world.scale_set("a", 3)
    await asyncio.sleep(5)
    await _give(world, 2)
    await asyncio.sleep(60)
    await ended(world)


async def a_revision_of_nobody(world: GroupedWorld) -> None:
    await PutForeign("revision").play(world)
    await _give(world, 2)
    await asyncio.sleep(60)
    await ended(world)


async def a_set_replaced_beside_its_leaders(world: GroupedWorld) -> None:
    await ReplaceSet("Orphan", 1.0).play(world)
    await asyncio.sleep(10)
    world.kill_pod("a-0-1")
    await asyncio.sleep(10)
    await ended(world)


async def a_leader_deleted(world: GroupedWorld) -> None:
    """In the background: its workers die after the next leader was made."""
    world.remove(PODS, "a-0", "Background")
    await asyncio.sleep(30)
    await world.finish(300)


async def an_old_leader_deleted_in_a_rollout(world: GroupedWorld) -> None:
    await _give(world, 2, held=True, size=3)
    await asyncio.sleep(10)
    world.remove(PODS, "a-0", "Foreground")
    await asyncio.sleep(10)
    await ended(world)


async def another_policy_and_a_failure(world: GroupedWorld) -> None:
    """A group that has not moved yet goes by the policy of its revision."""
    await world.edit("a", {"spec": {"leaderWorkerTemplate": {"restartPolicy": "None"}}})
    await world.finish(300)
    await _give(world, 2, held=True, restartPolicy="RecreateGroupOnPodRestart")
    await asyncio.sleep(10)
    world.kill_pod("a-0-1")
    await asyncio.sleep(10)
    await ended(world)


async def a_failure_that_is_not_seen_to_be_mended(world: GroupedWorld) -> None:
    world.misbehave("a-0-1", CRASH_AFTER)
    assert await world.until(lambda: bool(world.judge.recreations), 30, every=0.001)
    _process(world).wire.faulty.freeze("pods")
    await asyncio.sleep(10)
    await ended(world)


async def a_group_that_always_fails(world: GroupedWorld) -> None:
    """Its operator dies after every deletion."""
    await world.edit("a", {"metadata": {"annotations": {MOST_RESTARTS: "2"}}})
    await _give(world, 2, workerTemplate=a_template(2, **{CRASH_AFTER: "1s"}))
    await asyncio.sleep(60)
    recreated = world.judge.recreations
    if any(recreated.count(name) > 2 for name in recreated):
        world.judge.broken("6.8", f"groups were recreated more than twice: {recreated}")
    await ended(world)


async def the_leader_stands_still(world: GroupedWorld) -> None:
    """It stops between two writes of a round, and goes on in the moment in which another one leads."""
    await world.until(lambda: world.leader() is not None, 60)
    first = world.leader()
    assert first is not None
    assert first.process is not None
    first.process.wire.plan.fail(MEANS["revision"], 1, Fault("delay", 0.4))
    await _give(world, 2)
    await asyncio.sleep(0.1)
    first.stop()
    await world.until(lambda: world.leader() not in (None, first), 120, every=0.001)
    first.go_on()
    await world.finish(900)


async def rest(world: GroupedWorld) -> None:
    await world.rest()
