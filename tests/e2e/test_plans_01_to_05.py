"""Acceptance scenarios 1 to 3 and 5: pairs of Deployments: rolled in batches, gated and paused."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.kinds import BATCH_READY, ORIGINAL, ROLLING, SUCCEEDED
from kubeloop import clock
from kubeloop.objects.apps import DEPLOYMENTS
from tests.e2e.clusters import Site, long
from tests.e2e.plan_play import a_pair, batches, begin
from tests.e2e.plans import with_traits

GATED = (ROLLING, BATCH_READY, 0)


@with_traits()
async def test_scenario_1_happy_pair(site: Site) -> None:
    """Batches of 10 %, 40 % and the rest: the target grows first each time, and the source follows."""
    play = await begin(site)
    target, source = await a_pair(site)

    await play.roll(batches("10%", "40%", "50%"), target, source)
    await play.ends()

    assert play.sizes_of("d2") == [0, 1, 3, 5]
    assert play.sizes_of("d1") == [5, 4, 2, 0]
    assert play.sums() == [5, 6, 5, 7, 5, 7, 5]
    for name in ("d1", "d2"):
        assert play.owners(name) == []
        assert ORIGINAL not in play.object(DEPLOYMENTS, name)["metadata"]["annotations"]
    status = play.status()
    assert status["upgradedReplicas"] == status["upgradedReadyReplicas"] == status["rolloutTargetSize"] == 5
    assert play.states() == ["verifyingSpec", "initializing", ROLLING, "finalising", SUCCEEDED]
    assert play.condition("RolloutSucceed")["status"] == "True"
    assert await play.tells("Rollout Finalized")


@with_traits(long=True)
async def test_scenario_2_decrease_first(site: Site) -> None:
    """The source shrinks before the target grows, so there are never more pods than before."""
    play = await begin(site)
    target, source = await a_pair(site)

    await play.roll(batches("10%", "40%", "50%", rolloutStrategy="DecreaseFirst"), target, source)
    await play.ends()

    assert play.sizes_of("d2") == [0, 1, 3, 5]
    assert play.sizes_of("d1") == [5, 4, 2, 0]
    assert play.sums() == [5, 4, 5, 3, 5, 3, 5]


@pytest.mark.parametrize("field", ["lastBatchToRollout", long("batchPartition")])
@with_traits()
async def test_scenario_3_manual_gate(site: Site, field: str) -> None:
    """A partition lets its batch go and none after it, until somebody raises it."""
    play = await begin(site)
    target, source = await a_pair(site)
    await play.roll(batches(1, 2, 2, **{field: 0}), target, source)
    await play.until(lambda: play.at() == GATED)

    await play.stays(30)
    await play.plan({field: 2})
    await play.ends()

    assert play.sizes_of("d2") == [0, 1, 3, 5]


@with_traits()
async def test_scenario_5_pause(site: Site) -> None:
    """A plan that is paused in a batch freezes there, says so once, and goes on from there."""
    play = await begin(site, ready_after=0.4)
    target, source = await a_pair(site)
    await play.roll(batches(1, 2, 2), target, source)
    await play.until(lambda: play.at()[2] == 1 and play.size("d2") == 3)

    await play.plan({"paused": True})
    await play.until(lambda: play.condition("BatchPaused").get("status") == "True")
    await play.until(lambda: play.ready("d2") == 3)
    await play.stays(15)
    since = clock.now()
    await play.plan({"paused": False})
    await play.ends()

    assert play.sizes_of("d1") == [5, 4, 2, 0]
    ended = play.condition("BatchPaused")
    assert ended["status"] == "False"
    assert ended["lastTransitionTime"] >= since.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert len(await play.tells("Rollout paused")) == 1
