"""What the machine hardly ever comes across, or once came across: named programs, and causes that stay as they are."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from pathlib import Path

import pytest

from fairlead.contracts.environments.stand_in.rules import CATCH_UP, FAIL, PROMOTE_TAKES
from fairlead.engine.manager import RESYNC
from kubesim.faults import Fault
from kubesim.pods.behaviour import CRASH_AFTER, HOLD
from tests.chaos.environments.facts import IMAGES, MANUALLY
from tests.chaos.environments.steps import (
    Approve,
    Bend,
    Edit,
    EnvironmentProgram,
    FailEnvironment,
    OtherFlags,
    OverwriteDefinition,
    Recreate,
    Revert,
    Twin,
)
from tests.chaos.environments.world import AT_REST, OPS, EnvironmentSetting, EnvironmentWorld
from tests.chaos.machine import SOAKS, soaked
from tests.chaos.steps import Cut, DieAt, Freeze, Restart, Step, Stop, Wait
from tests.chaos.world import World, play

LEAP = f"materialize/environmentd:{IMAGES[3]}"
STEPS: tuple[Step, ...] = (
    Edit({"environmentdImageRef": f"materialize/environmentd:{IMAGES[1]}"}, "v1alpha1"),
    Wait(2.0),
    DieAt(0, 3, before=False),
    Edit({"authenticatorKind": "Password"}),
    Wait(8.0),
    Bend(1, FAIL, "promote=lost"),
    Freeze(0, "materializes"),
    Edit({"rolloutStrategy": MANUALLY}, "v1alpha1"),
    Wait(70.0),
    Approve("requested", "v1alpha1"),
    Stop(0, 30.0),
    Twin(True),
    Edit({"podLabels": {"team": "a"}}),
    Cut(0, 5.0),
    Twin(False),
    OverwriteDefinition(),
    FailEnvironment(0, "status", 1, Fault("lost-answer")),
    OtherFlags(0),
    Wait(20.0),
    Revert(0, "v1alpha1"),
    Restart(0),
    Wait(20.0),
)
PROGRAM = EnvironmentProgram(
    EnvironmentSetting((), seed=5, latency=0.02, lag=0.1, leased=True, operators=2, companions=True), STEPS
)
Cause = Callable[[EnvironmentWorld], Awaitable[object]]


def test_an_environment_that_is_deleted_before_its_operator_comes_is_let_go_and_made_again() -> None:
    setting = EnvironmentSetting((), leased=True)
    EnvironmentProgram(setting, (Restart(0), Recreate(0.0), Wait(1.0), Restart(0), Recreate(1.0))).play()


def test_fewer_companions_are_wanted_long_after_the_last_rollout() -> None:
    setting = EnvironmentSetting((), leased=True, companions=True)
    EnvironmentProgram(setting, (Wait(1000.0), Edit({"consoleReplicas": 1, "balancerdReplicas": 1}))).play()


def test_a_promotion_ends_although_a_twin_came_and_n_was_lost_and_the_next_rollout_waits_for_the_twin_to_go() -> None:
    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await world.begin_with_an_environment()
        await world.edit({"podAnnotations": {PROMOTE_TAKES: "60s"}})
        assert await world.until(lambda: world.fact.is_promoting, 60.0)

        await world.create_twin()
        world.delete_child(2, "statefulset")
        assert await world.until(lambda: world.fact.active == 2, 300.0)
        await world.edit({"podAnnotations": None})
        await world.rest(300)
        assert world.fact.active == 2
        await world.remove_environment(OPS, "twin")
        await world.finish(600)

        assert world.fact.active == 3

    play(EnvironmentSetting((), leased=True), scenario, of=EnvironmentWorld)


async def a_pod_that_is_never_ready(world: EnvironmentWorld) -> object:
    return await world.edit({"podAnnotations": {HOLD: "true"}})


async def a_pod_that_crashes(world: EnvironmentWorld) -> object:
    return await world.edit({"podAnnotations": {CRASH_AFTER: "500ms"}})


async def environmentd_that_never_catches_up(world: EnvironmentWorld) -> object:
    return await world.edit({"podAnnotations": {CATCH_UP: "never"}})


async def environmentd_that_never_leads(world: EnvironmentWorld) -> object:
    return await world.edit({"podAnnotations": {PROMOTE_TAKES: "never"}})


async def environmentd_that_lies(world: EnvironmentWorld) -> object:
    return await world.edit({"podAnnotations": {FAIL: "lie"}})


async def nobody_approves(world: EnvironmentWorld) -> object:
    return await world.edit({"rolloutStrategy": MANUALLY})


async def an_image_that_may_not_follow(world: EnvironmentWorld) -> object:
    return await world.edit({"environmentdImageRef": LEAP})


async def a_twin(world: EnvironmentWorld) -> object:
    await world.create_twin()
    return await world.edit({"podLabels": {"team": "a"}})


async def no_secret(world: EnvironmentWorld) -> object:
    return await world.edit({"backendSecretName": "missing"})


async def a_catch_up_that_cannot_be_skipped(world: EnvironmentWorld) -> object:
    """A failure of every pass."""
    await world.edit({"rolloutStrategy": MANUALLY, "podAnnotations": {FAIL: "skip-catchup=500"}})
    await world.until(lambda: world.fact.reason == "ReadyToPromote", 60.0)
    return await world.edit({"forcePromote": world.fact.requested})


CAUSES: dict[Cause, str] = {
    a_pod_that_is_never_ready: "Applying",
    a_pod_that_crashes: "Applying",
    environmentd_that_never_catches_up: "Applying",
    environmentd_that_never_leads: "Promoting",
    environmentd_that_lies: "Promoting",
    nobody_approves: "ReadyToPromote",
    an_image_that_may_not_follow: "FailedDeploy",
    a_twin: "Applied",
    no_secret: "Applied",
    a_catch_up_that_cannot_be_skipped: "FailedDeploy",
}


STAYS = AT_REST if SOAKS else 2.2 * RESYNC
"""Virtual seconds in which everything is looked at twice, and with `--soak` six times."""


@soaked
@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_that_stays_leaves_the_status_as_it_is(cause: Cause) -> None:
    """L7: whatever is waited for, nothing is written while it is, and the reason does not change."""

    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await world.begin_with_an_environment()
        await cause(world)
        await asyncio.sleep(120)
        assert world.fact.reason == CAUSES[cause]

        reasons = len(world.judge.reasons)
        await world.rest(STAYS)

        assert world.judge.reasons[reasons:] == []

    play(EnvironmentSetting((), leased=True, latency=0.02, lag=0.1), scenario, of=EnvironmentWorld)


def test_operators_own_no_field_of_the_spec_but_the_environment_id() -> None:
    """S12: whoever applies a manifest has no conflict with them."""

    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await world.begin_with_an_environment()
        await world.remove_environment()
        await world.until_let_go()
        await world.create_environment({"environmentId": None})
        assert await world.until(lambda: world.fact.active == 1 and world.fact.is_settled, 300.0)

        owned = [
            field
            for each in world.managed()
            if each["manager"] == "orchestratord"
            for field in each["fieldsV1"].get("f:spec", ())
        ]

        assert owned == ["f:environmentId"]

    play(EnvironmentSetting((), leased=True), scenario, of=EnvironmentWorld)


def test_a_run_is_replayed_by_its_seed_in_another_process() -> None:
    """Other hashes, the same requests at the same times."""
    command = (sys.executable, "-c", f"from {__name__} import fingerprint; print(fingerprint())")
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(__file__).parents[3])}
    other = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)

    assert other.stdout.strip() == fingerprint()


def fingerprint() -> str:
    return blake2b("\n".join(PROGRAM.play().requests).encode()).hexdigest()
