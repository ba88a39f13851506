"""Acceptance scenario 12 with a crash at every single write: whatever was lost, the rollout ends the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from fairlead.kube.errors import TransportError
from fairlead.kube.request import Request
from tests.chaos.world import Process, Scenario, World, play, three_zones

PODS = [f"ingester-zone-{letter}-{ordinal}" for letter in "abc" for ordinal in range(3)]
ZONES = [f"ingester-zone-{letter}" for letter in "abc"]

Fate = Callable[[World, Process], Awaitable[None]]


async def rollout(world: World) -> None:
    world.deploy_all(2)
    world.start()
    await world.finish(600)


async def killed(world: World, process: Process) -> None:
    """At once; its Deployment starts another."""
    (replica,) = [each for each in world.replicas if each.process is process]
    process.wire.is_dead = True
    asyncio.get_running_loop().call_soon(replica.kill)
    await asyncio.Event().wait()


async def answer_lost(_world: World, _process: Process) -> None:
    raise TransportError("the answer was lost")


@pytest.mark.parametrize(
    ("fate", "before", "leased"),
    [
        pytest.param(killed, True, False, id="killed before it is sent"),
        pytest.param(killed, False, False, id="killed after it is carried out"),
        pytest.param(answer_lost, False, False, id="answer lost"),
        pytest.param(killed, False, True, id="killed after it is carried out, with a lease"),
    ],
)
def test_a_crash_at_any_write_changes_nothing_of_the_end(fate: Fate, before: bool, leased: bool) -> None:
    """Every pod is deleted once, zone after zone; no invariant is broken, by the truth alone."""
    writes = play(three_zones(strict=True, leased=leased), rollout).processes[0].wire.writes
    assert writes >= len(PODS) + len(ZONES)

    for number in range(1, writes + 1):
        struck: list[Request] = []

        async def strike(world: World, process: Process, request: Request, struck: list[Request] = struck) -> None:
            struck.append(request)
            await fate(world, process)

        setting = three_zones(strict=True, leased=leased, seed=number)
        world = play(setting, with_crash(strike, number, before=before))

        assert len(struck) == 1, f"at write {number}"
        assert world.judge.deletions == PODS, f"at write {number}: {struck[0].doing}"
        assert world.judge.completions == ZONES, f"at write {number}: {struck[0].doing}"


def with_crash(strike: Callable[[World, Process, Request], Awaitable[None]], number: int, *, before: bool) -> Scenario:
    """A rollout in which something happens to the first operator at its write of that number."""

    async def scenario(world: World) -> None:
        def first_only(process: Process) -> None:
            async def at(request: Request, this: int) -> None:
                if this == number:
                    await strike(world, process, request)

            if len(world.processes) == 1 and before:
                process.wire.at_write = at
            elif len(world.processes) == 1:
                process.wire.after_write = at

        world.each_process = first_only
        await rollout(world)

    return scenario
