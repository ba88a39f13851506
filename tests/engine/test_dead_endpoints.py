"""Rollouts whose endpoints do not answer hold up no other rollout, however many there are."""

from __future__ import annotations

import asyncio

from fairlead.contracts.zones.kinds import DELAY, DELAY_URL, MIRROR_API_VERSION, MIRROR_KIND, MIRROR_NAME
from fairlead.engine.manager import WORKERS
from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubeloop.objects.apps import STATEFULSETS
from tests.contracts.zones.test_scaling import TEMPLATES, a_template
from tests.engine.world import World, a_statefulset, play

DEAD = 4 * WORKERS
ANNOTATIONS = {
    MIRROR_API_VERSION: TEMPLATES.api_version,
    MIRROR_KIND: TEMPLATES.kind,
    MIRROR_NAME: "rt",
    DELAY: "10m",
    DELAY_URL: "http://pod:8080/prepare",
}


class DeadEnds:
    """Endpoints that take calls and never answer."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.most = 0

    async def __call__(self, call: Call) -> Reply:
        self.open.append(call.url)
        self.most = max(self.most, len(self.open))
        try:
            await asyncio.Event().wait()
        finally:
            self.open.remove(call.url)
        raise AssertionError("nobody answers here")


async def rolled_in(world: World, image: str) -> float:
    begun = clock.monotonic()
    await world.roll("healthy", image=image)
    await world.until(lambda: world.is_rolled("test", "healthy"), within=600)
    return clock.monotonic() - begun


def test_a_rollout_takes_no_longer_beside_many_that_wait_for_dead_endpoints() -> None:
    async def scenario(world: World) -> None:
        ends = DeadEnds()
        await a_template(world, 3)
        await world.zone("healthy", "healthy")
        async with world.operating():
            alone = await rolled_in(world, "v2")
            for number in range(DEAD):
                name = f"dead-{number}"
                tree = a_statefulset(name, name)
                tree["metadata"]["annotations"] = ANNOTATIONS
                for ordinal in range(3):
                    world.cluster.network.serve(f"{name}-{ordinal}.{name}.test.svc.cluster.local:8080", ends)
                await world.create(STATEFULSETS, "test", tree)
            await world.until(lambda: len(ends.open) >= 3 * WORKERS)

            beside = await rolled_in(world, "v3")

        assert beside <= alone + 2
        assert ends.most > 3 * WORKERS

    play(scenario)
