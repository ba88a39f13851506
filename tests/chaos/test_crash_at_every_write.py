"""Acceptance scenario 12 with a crash at every single write (E-9): whatever was lost, the rollout ends the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeloop.errors import TransportError
from tests.chaos.machine import SOAKS, soaked
from tests.chaos.world import Process, Scenario, World, play
from tests.chaos.zone_plans import three_zones

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


@soaked
@pytest.mark.parametrize(
    ("fate", "before", "leased", "first"),
    [
        pytest.param(killed, True, False, 1, id="killed before it is sent"),
        pytest.param(killed, False, False, 2, id="killed after it is carried out"),
        pytest.param(answer_lost, False, False, 1, id="answer lost"),
        pytest.param(killed, False, True, 2, id="killed after it is carried out, with a lease"),
    ],
)
def test_a_crash_at_any_write_changes_nothing_of_the_end(fate: Fate, before: bool, leased: bool, first: int) -> None:
    """Every pod is deleted once, zone after zone; no invariant is broken, by the truth alone.

    Usually every second write is struck, and the others by another fate; each by each with `--soak`.
    """
    writes = play(three_zones(strict=True, leased=leased), rollout).processes[0].wire.effects
    assert writes >= len(PODS) + len(ZONES)

    for number in range(1, writes + 1) if SOAKS else range(first, writes + 1, 2):
        struck: list[str] = []

        async def strike(world: World, process: Process, what: str, struck: list[str] = struck) -> None:
            struck.append(what)
            await fate(world, process)

        setting = three_zones(strict=True, leased=leased, seed=number)
        world = play(setting, with_crash(strike, number, before=before))

        assert len(struck) == 1, f"at write {number}"
        assert world.judge.deletions == PODS, f"at write {number}: {struck[0]}"
        assert world.judge.completions == ZONES, f"at write {number}: {struck[0]}"


def with_crash(strike: Callable[[World, Process, str], Awaitable[None]], number: int, *, before: bool) -> Scenario:
    """A rollout in which something happens to the first operator at its write of that number."""

    async def scenario(world: World) -> None:
        def first_only(process: Process) -> None:
            async def at(what: str, this: int) -> None:
                if this == number:
                    await strike(world, process, what)

            if len(world.processes) == 1 and before:
                process.wire.at_effect = at
            elif len(world.processes) == 1:
                process.wire.after_effect = at

        world.each_process = first_only
        await rollout(world)

    return scenario
