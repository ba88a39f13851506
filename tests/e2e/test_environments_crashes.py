"""Environments whose operator, API server or database fails in the middle: every step can be repeated."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.contracts.environments.kinds import MATERIALIZES
from fairlead.contracts.environments.stand_in.environmentd import PROMOTE
from tests.chaos.machine import SOAKS, soaked
from tests.e2e.environments import HASH_V, Scene, V, W, manifest, on_clusters
from tests.e2e.history import Tree

SIM = ("sim",)
STRIDE = 1 if SOAKS else 25
"""Calls from one death to the next; every effect is struck in `tests/chaos/environments`, here reads are as well."""


def numbered(number: int) -> Tree:
    return manifest({**V, "podLabels": {"number": str(number)}})


@soaked
@pytest.mark.parametrize("after", [True, False], ids=["after it was carried out", "before it was sent"])
@pytest.mark.parametrize("strategy", ["WaitUntilReady", "ImmediatelyPromoteCausingDowntime"])
@on_clusters(on=SIM)
async def test_a_rollout_completes_at_whichever_call_the_operator_dies(
    scene: Scene, strategy: str, after: bool
) -> None:
    """One rollout for every few calls, until a life is long enough for the whole of it."""
    await scene.apply(numbered(0))
    await scene.promoted(1)
    generation, calls, died = 1, -(STRIDE // 2) * after, True
    while died:
        generation, calls = generation + 1, calls + STRIDE
        tree = numbered(generation)
        tree["spec"]["rolloutStrategy"] = strategy
        scene.operator.die_at(calls, after=after)
        await scene.apply(tree)

        died = await died_or_promoted(scene, generation)
        if died:
            await scene.operator.kill()
            await scene.operator.start()
        await scene.promoted(generation)

    assert calls > 15
    assert list(dict.fromkeys(scene.stubs.promoted)) == list(range(1, generation + 1))


async def died_or_promoted(scene: Scene, generation: int) -> bool:
    async def is_decided() -> bool:
        status = await scene.status()
        is_over = status["activeGeneration"] == generation and (await scene.condition())["reason"] == "Applied"
        return scene.operator.is_dead or is_over

    await scene.until(is_decided)
    return scene.operator.is_dead


FAULTS = {
    "every third write conflicts": [f"write * #{number}: 409" for number in range(3, 60, 3)],
    "every third write is lost on its way": [f"write * #{number}: drop" for number in range(3, 60, 3)],
    "every third write is carried out without an answer": [
        f"write * #{number}: lost-answer" for number in range(3, 60, 3)
    ],
    "every third write fails": [f"write * #{number}: 500" for number in range(3, 60, 3)],
    "watches of environments lag": ["watch materializes: lag 3s"],
    "watches of StatefulSets lag": ["watch statefulsets: lag 3s"],
    "watches break": ["watch *: break 2s"],
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
@on_clusters(on=SIM, begins=False)
async def test_rollouts_complete_though_the_api_server_fails_now_and_then(scene: Scene, faults: list[str]) -> None:
    scene.operator.faults = faults
    await scene.operator.start()
    await scene.site.history.follow(MATERIALIZES)

    await scene.apply(manifest(V))
    await scene.promoted(1, within=1800)
    await scene.apply(manifest(W))
    status = await scene.promoted(2, within=1800)

    await scene.site.history.caught_up()
    assert scene.requested() == [HASH_V, status["requestedRolloutHash"]]
    assert list(dict.fromkeys(scene.stubs.promoted)) == [1, 2]


BEHAVIOURS = {
    "it restarts when it is told to take over": {"fail": "restart-on-promote"},
    "taking over takes a minute": {"promote_takes": "1m"},
    "catching up takes minutes": {"catch_up": "10m"},
    "every answer takes seconds": {"fail": "slow=3s"},
}


@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
@on_clusters(on=SIM)
async def test_rollouts_complete_however_environmentd_behaves(scene: Scene, behaviour: dict[str, str]) -> None:
    scene.stubs.tell(2, **behaviour)
    await scene.apply(manifest(V))
    await scene.promoted(1)

    await scene.apply(manifest(W))

    await scene.promoted(2, within=1800)
    assert {each.generation for each in scene.stubs.calls(PROMOTE)} == {1, 2}


LASTING = {
    "its answers to the promotion are lost": {"fail": "promote=lost"},
    "it refuses to be promoted": {"fail": "promote=500"},
    "it says that it takes over and does not": {"fail": "lie"},
    "nobody learns how it stands": {"fail": "status=500"},
}


@pytest.mark.parametrize("behaviour", LASTING.values(), ids=LASTING)
@on_clusters(on=SIM)
async def test_a_promotion_is_tried_for_ever_and_the_active_generation_serves_meanwhile(
    scene: Scene, behaviour: dict[str, str]
) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.apply(manifest({**W, "rolloutStrategy": "ManuallyPromote"}))
    await scene.reason("ReadyToPromote")
    scene.stubs.tell(2, **behaviour)

    await scene.set_spec(forcePromote=(await scene.status())["requestedRolloutHash"])
    await scene.rest()
    await asyncio.sleep(1800)

    status = await scene.status()
    assert status["activeGeneration"] == 1
    assert await scene.exists(1)
    scene.stubs.tell(2, fail="")
    await scene.promoted(2, within=600)
