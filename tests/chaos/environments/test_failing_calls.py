"""A rollout in trouble goes on soon: while a third of all calls fail, and when what was missing is there again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from kubeloop import clock
from kubeloop.objects.core import SECRETS
from kubeloop.request import Request
from kubesim.draws import Draws
from kubesim.faults import Fault
from tests.chaos.environments.facts import IMAGES
from tests.chaos.environments.world import EnvironmentSetting, EnvironmentWorld
from tests.chaos.world import NAMESPACE, OTHERS, World, play

SEEDS = range(8)
FAULTS = (Fault("status", status=500), Fault("status", status=503), Fault("drop"))


def a_third(seed: int) -> Callable[[Request], Fault | None]:
    """Of all requests, each failing in one of the ways above."""
    draws = Draws(seed, "failing calls")
    return lambda _: FAULTS[draws.below(len(FAULTS))] if draws.below(3) == 0 else None


def rollout_takes(seed: int, *, failing: bool) -> float:
    """Seconds from an edit to the moment at which nothing is left to do."""
    took: list[float] = []

    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await world.begin_with_an_environment()
        (replica,) = world.replicas
        assert replica.process is not None
        if failing:
            replica.process.wire.plan.usual = a_third(seed)
        begun = clock.monotonic()
        await world.edit({"environmentdImageRef": f"materialize/environmentd:{IMAGES[1]}"})
        assert await world.until(lambda: not world.left(), 3600, every=0.1), world.left()
        took.append(clock.monotonic() - begun)
        assert bool(sum(each.wire.plan.struck for each in world.processes)) == failing

    setting = EnvironmentSetting((), seed=seed, latency=0.005, leased=True, catch_up=20.0, promote_takes=5.0)
    play(setting, scenario, of=EnvironmentWorld)
    return took[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rollout_takes_twice_its_time_at_most(seed: int) -> None:
    alone, failing = rollout_takes(seed, failing=False), rollout_takes(seed, failing=True)

    assert failing <= 2 * alone


def test_a_rollout_goes_on_when_its_secret_is_back() -> None:
    """However long it was missing, and however often that was looked at meanwhile."""

    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await world.begin_with_an_environment()
        world.cluster.verbs.delete(SECRETS, NAMESPACE, "backend", user=OTHERS)
        for number in range(7):
            await world.edit({"podLabels": {"number": str(number)}})
            await asyncio.sleep(0.03)
        await asyncio.sleep(900)
        assert world.fact.active == 1

        world.cluster.verbs.create(SECRETS, NAMESPACE, world.secret, user=OTHERS)

        assert await world.until(lambda: world.fact.reason != "Applied", 10.0), world.fact
        await world.finish(60)
        assert world.fact.active == 2

    play(EnvironmentSetting((), leased=True, latency=0.005), scenario, of=EnvironmentWorld)
