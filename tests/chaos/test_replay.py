"""A run is replayed by its seed: another process, with other hashes, makes the same requests at the same times."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from functools import cache
from hashlib import blake2b
from pathlib import Path

from msgspec import structs

from kubesim.faults import Fault
from kubesim.pods.behaviour import CRASH_AFTER
from tests.chaos.scaled import GroupPlan, Scaled
from tests.chaos.scaled_steps import Autoscale, Behave, EvictPods, Refer, ScaleBy, ScaledProgram
from tests.chaos.steps import (
    Compact,
    Cut,
    Deploy,
    EndWatches,
    Fail,
    Freeze,
    KillPod,
    Misbehave,
    Recreate,
    Restart,
    Scale,
    Step,
    Stop,
    Thaw,
    Wait,
)
from tests.chaos.world import World, play
from tests.chaos.zone_plans import Setting, ZonePlan

ZONES = tuple(ZonePlan(f"group-{g}", f"zone-{g}-{z}", 3, "2" if z == "a" else None) for g in range(2) for z in "abc")
STEPS: tuple[Step, ...] = (
    Wait(1.0),
    Fail(0, "delete", 1, Fault("lost-answer")),
    KillPod(4),
    Wait(3.0),
    Freeze(0, "pods"),
    Deploy(0, 3),
    Wait(5.0),
    Thaw(0, "pods"),
    Compact(),
    Misbehave(7, CRASH_AFTER),
    Scale(3, 4),
    Restart(0),
    Wait(15.0),
    Stop(0, 20.0),
    Recreate(1, "Background"),
    EndWatches(),
    Cut(0, 5.0),
    Wait(1.0),
)

SCALED = Scaled(
    ZONES,
    latency=0.02,
    lag=0.1,
    leased=True,
    operators=2,
    groups=(GroupPlan("group-0", "led", least="2m", budget="zone"), GroupPlan("group-1", "mirrored", delay="1m")),
)
SCALED_STEPS: tuple[Step, ...] = (
    Wait(5.0),
    ScaleBy(0, "put", 2),
    Refer(0, 1),
    EvictPods((1, 4, 7)),
    Wait(0.3),
    Behave(2, "slow"),
    Autoscale(3, (2, 4), 1.0),
    Fail(0, "write", 1, Fault("lost-answer")),
    Wait(70.0),
    Restart(0),
    EvictPods((2,)),
)


def test_the_same_seed_gives_the_same_run_in_every_process() -> None:
    first, second = digest_of(seed=5, hashes=1), digest_of(seed=5, hashes=2)

    assert first == second


def test_another_seed_gives_another_run() -> None:
    assert digest_of(seed=5, hashes=1) != digest_of(seed=6, hashes=1)


@cache
def digest_of(seed: int, hashes: int) -> str:
    """Of a run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, str(seed)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        env={**os.environ, "PYTHONHASHSEED": str(hashes)},
    )
    return done.stdout.strip()


def digest(seed: int) -> str:
    """Of a run of both worlds."""
    scaled = ScaledProgram(structs.replace(SCALED, seed=seed), SCALED_STEPS).play()
    assert scaled.referee.downscales
    assert scaled.referee.evictions
    return written(rolled(seed)) + written(scaled)


def written(world: World) -> str:
    """Digest of every request of operators and every write that was carried out, with their times."""
    entries = (f"{entry.at} {entry.user} {entry.event.revision} {entry.name}" for entry in world.cluster.history)
    assert len(world.requests) > 100
    return blake2b("\n".join([*world.requests, *entries]).encode(), digest_size=16).hexdigest()


def rolled(seed: int) -> World:
    setting = Setting(ZONES, seed=seed, latency=0.02, lag=0.1, leased=True, operators=2)

    async def scenario(world: World) -> None:
        world.deploy_all(2)
        world.start()
        await asyncio.sleep(0.1)
        for step in STEPS:
            await step.play(world)
        world.heal()
        await world.finish()

    return play(setting, scenario)


if __name__ == "__main__":
    print(digest(int(sys.argv[1])))
