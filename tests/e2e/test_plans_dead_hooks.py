"""Hooks that never answer hold up no other rollout (R-26), and nobody who wants something else of theirs (R-1)."""

from __future__ import annotations

import asyncio

from fairlead.contracts.plans.kinds import ACTION, FAILED, ROLLOUT_TRAITS
from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubeloop.objects.apps import DEPLOYMENTS
from tests.e2e.clusters import SimGround, Site
from tests.e2e.plan_play import NEW, OLD, Play, a_deployment, batches, begin, reference
from tests.e2e.plans import with_traits
from tests.e2e.zones import change

COUNT = 12
"""More than there are workers."""
PODS = 1


async def never(_: Call) -> Reply:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def create(play: Play, names: list[str], host: str, patience: str = "10s", **more: int) -> None:
    hook = {"type": "pre-batch-rollout", "name": "ask", "url": f"http://{host}/", "timeout": patience}
    for name in names:
        plan = batches(1, **more)
        for batch in plan["rolloutBatches"]:
            batch["batchRolloutWebhooks"] = [hook]
        await play.roll(plan, reference(f"{name}-2"), reference(f"{name}-1"), name=name)


async def pairs(play: Play, names: list[str]) -> None:
    for name in names:
        await play.site.create(DEPLOYMENTS, a_deployment(f"{name}-1", PODS, OLD))
        await play.site.create(DEPLOYMENTS, a_deployment(f"{name}-2", 0, NEW, paused=True))
    await play.until(lambda: all(play.ready(f"{name}-1") == PODS for name in names))


async def rolled(play: Play, names: list[str]) -> float:
    """Seconds until all of them have succeeded."""
    begun = clock.monotonic()
    await create(play, names, "sound.test")
    await play.until(lambda: all(play.state(name) == "rolloutSucceed" for name in names))
    return clock.monotonic() - begun


@with_traits(on=("sim",))
async def test_sound_rollouts_are_as_fast_beside_dead_hooks_as_alone(site: Site) -> None:
    assert isinstance(site.ground, SimGround)

    async def sound(_: Call) -> Reply:
        return Reply(200)

    site.ground.cluster.network.serve("sound.test", sound)
    site.ground.cluster.network.serve("dead.test", never)
    play = await begin(site, ready_after=0.5)
    first, second, dead = ([f"{word}{each}" for each in range(COUNT)] for word in ("alone", "beside", "dead"))
    await pairs(play, [*first, *second, *dead])

    alone = await rolled(play, first)
    await create(play, dead, "dead.test")
    await play.until(lambda: all(play.at(name)[1] == "batchInitializing" for name in dead))
    beside = await rolled(play, second)

    assert beside <= 1.1 * alone
    assert all(play.size(f"{name}-2") == 0 for name in dead)
    await play.until(lambda: all(play.condition("BatchInitializing", name) for name in dead), within=120)


HOUR = "1h"
SOON = 2.0


@with_traits(on=("sim",))
async def test_whoever_deletes_aborts_or_turns_round_does_not_wait_for_a_hook(site: Site) -> None:
    """The call is given up, and what was asked for happens at once; the other target gets a call of its own."""
    calls: list[Call] = []

    async def never_said(call: Call) -> Reply:
        calls.append(call)
        return await never(call)

    assert isinstance(site.ground, SimGround)
    site.ground.cluster.network.serve("dead.test", never_said)
    play = await begin(site)
    names = ["deleted", "aborted", "turned", "left"]
    await pairs(play, names)
    await create(play, names, "dead.test", patience=HOUR)
    await play.until(lambda: len(calls) == len(names))

    await play.delete("deleted")
    await change(site, ROLLOUT_TRAITS, "aborted", {"metadata": {"annotations": {ACTION: "abort@2026-03-01T00:00:00Z"}}})
    await play.change({"targetRef": reference("left-2")}, "turned")

    await play.until(lambda: not play.trait("deleted"), within=SOON)
    await play.ends(FAILED, "aborted", within=SOON)
    await play.until(lambda: play.status("turned").get("lastTargetRef", {}).get("name") == "left-2", within=SOON)
    assert play.at("left")[1] == "batchInitializing"
    assert len(calls) == len(names)


@with_traits(on=("sim",))
async def test_a_deadline_does_not_wait_for_a_hook(site: Site) -> None:
    """Four tries of an hour each would come after it."""
    assert isinstance(site.ground, SimGround)
    site.ground.cluster.network.serve("dead.test", never)
    play = await begin(site)
    await pairs(play, ["late"])
    begun = clock.monotonic()

    await create(play, ["late"], "dead.test", patience=HOUR, progressDeadlineSeconds=60)
    await play.ends(FAILED, "late", within=120)

    assert 60 <= clock.monotonic() - begun < 75
    said = play.condition("RolloutFailed", "late")["message"]
    assert said.startswith("no progress within 60 s: failed to invoke a webhook: ask at http://dead.test/")
