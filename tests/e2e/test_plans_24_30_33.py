"""Acceptance scenarios 24, 30 and 33: operators that die, batches that soak, and pods that die at a gate."""

from __future__ import annotations

import asyncio
from datetime import datetime

from fairlead.contracts.plans.kinds import BATCH_READY, BATCH_VERIFYING, ROLLING, ROLLOUT_TRAITS, SUCCEEDED
from tests.e2e.clusters import Site
from tests.e2e.mortals import lives_until
from tests.e2e.plan_play import a_pair, batches, begin
from tests.e2e.plans import with_traits


@with_traits(long=True)
async def test_scenario_24_restart(site: Site) -> None:
    """The operator is killed after each of its writes: the end is the same, and sizes go the same way."""
    play = await begin(site)
    target, source = await a_pair(site)
    await play.kill()
    await play.roll(batches("10%", "40%", "50%"), target, source)

    lives = await lives_until(play, SUCCEEDED)

    assert lives > 10
    assert play.sizes_of("d2") == [0, 1, 3, 5]
    assert play.sizes_of("d1") == [5, 4, 2, 0]
    assert play.sums() == [5, 6, 5, 7, 5, 7, 5]
    assert play.owners("d1") == play.owners("d2") == []


@with_traits(long=True)
async def test_scenario_30_soak(site: Site) -> None:
    """A pod that flaps while its batch soaks makes the soak begin anew."""
    play = await begin(site)
    target, source = await a_pair(site)
    plan = {"rolloutBatches": [{"replicas": 1, "soakSeconds": 30}, {"replicas": 4}], "lastBatchToRollout": 0}
    await play.roll(plan, target, source)
    await play.until(lambda: play.at() == (ROLLING, BATCH_VERIFYING, 0) and "batchAvailableTime" in play.status())
    await asyncio.sleep(20)

    await play.hold(*play.pods("d2"))
    await play.until(lambda: "batchAvailableTime" not in play.status())
    await asyncio.sleep(2)
    await play.release(*play.pods("d2"))
    await play.until(lambda: "batchAvailableTime" in play.status())
    again = datetime.fromisoformat(play.status()["batchAvailableTime"])
    await play.until(lambda: play.at() == (ROLLING, BATCH_READY, 0))

    finished = next(
        event.object["status"]
        for event in site.history.of(ROLLOUT_TRAITS, "MODIFIED")
        if event.object.get("status", {}).get("batchRollingState") == "batchFinalizing"
    )
    (soaked,) = (each for each in finished["conditions"] if each["type"] == "BatchVerifying")
    took = datetime.fromisoformat(soaked["lastTransitionTime"]) - again
    assert 29 <= took.total_seconds() <= 31  # conditions have whole seconds


@with_traits(long=True)
async def test_scenario_33_no_approval_for_dead_pods(site: Site) -> None:
    """At the gate the new pods die: a raised partition moves nothing until they recover."""
    play = await begin(site)
    target, source = await a_pair(site)
    await play.roll(batches(2, 3, lastBatchToRollout=0), target, source)
    await play.until(lambda: play.at() == (ROLLING, BATCH_READY, 0))
    await play.hold(*play.pods("d2"))
    await play.until(lambda: play.ready("d2") == 0)

    await play.plan({"lastBatchToRollout": 1})
    await play.until(lambda: play.condition("BatchReady").get("status") == "False")
    await play.stays(10)
    assert (play.size("d1"), play.size("d2")) == (3, 2)
    await play.release(*play.pods("d2"))
    await play.ends()

    assert (play.size("d1"), play.size("d2")) == (0, 5)
