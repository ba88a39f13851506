"""Two operators and one lease: whatever becomes of the leader, the other goes on, and never do both write."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeloop.election import LostLease
from kubeloop.request import Request, place_of
from kubesim.faults import Fault
from tests.chaos.world import Process, Replica, World, play
from tests.chaos.zone_plans import three_zones

SEEDS = range(6)
Event = Callable[[World, Replica], Awaitable[None]]


async def killed(_world: World, leader: Replica) -> None:
    leader.kill()


async def renewals_fail(_world: World, leader: Replica) -> None:
    assert leader.process is not None
    for _ in range(20):
        leader.process.wire.plan.fail(is_a_renewal, 1, Fault("status", status=500))


async def renewals_get_no_answer(_world: World, leader: Replica) -> None:
    assert leader.process is not None
    for _ in range(20):
        leader.process.wire.plan.fail(is_a_renewal, 1, Fault("timeout"))


async def cut_off(_world: World, leader: Replica) -> None:
    leader.cut()


async def stopped_and_let_go_on(world: World, leader: Replica) -> None:
    leader.stop()
    await asyncio.sleep(20)
    leader.go_on()


def is_a_renewal(request: Request) -> bool:
    return request.method != "GET" and place_of(request.path).plural == "leases"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("event", [killed, renewals_fail, renewals_get_no_answer, cut_off, stopped_and_let_go_on])
def test_the_other_takes_over_and_the_former_leader_writes_nothing(event: Event, seed: int) -> None:
    """At any moment of a rollout; judged by the truth alone, and every write by who holds the lease."""

    async def scenario(world: World) -> None:
        world.start()
        await asyncio.sleep(5)
        leader = world.leader()
        assert leader is not None
        former = leader.process
        assert former is not None
        world.deploy_all(2)
        await asyncio.sleep(1.0 + seed * 0.7)

        await event(world, leader)

        assert await world.until(lambda: world.judge.holder not in ("", former.name), 60.0)
        taken_over = len(world.cluster.history)
        await world.finish(600)
        assert writes_of(world, former, taken_over) == []
        if event not in (killed, cut_off):
            assert isinstance(former.ended, LostLease)

    setting = three_zones(strict=True, leased=True, operators=2, seed=seed, latency=0.02, lag=0.2)
    world = play(setting, scenario)

    assert len(world.judge.deletions) == 9
    assert len(world.judge.completions) == 3


def test_a_leader_that_ends_in_order_leaves_the_lease_at_once() -> None:
    async def scenario(world: World) -> None:
        world.start()
        await asyncio.sleep(5)
        leader = world.leader()
        assert leader is not None
        assert leader.process is not None
        assert leader.process.manager is not None

        leader.process.manager.stop()

        assert await world.until(lambda: world.leader() not in (None, leader), 5.0)

    play(three_zones(strict=True, leased=True, operators=2), scenario)


def writes_of(world: World, process: Process, since: int) -> list[str]:
    entries = world.cluster.history.entries[since:]
    return [f"{entry.verb} {entry.resource.plural}/{entry.name}" for entry in entries if entry.user == process.name]
