"""Acceptance scenarios of pairs of Deployments: rolled in batches, gated and paused."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import ORIGINAL, SUCCEEDED
from kubeloop.objects.apps import DEPLOYMENTS
from tests.e2e.clusters import Site
from tests.e2e.plan_play import a_pair, batches, begin
from tests.e2e.plans import with_traits


@with_traits()
async def test_scenario_1_happy_pair(site: Site) -> None:
    """Batches of 10 %, 40 % and the rest: the target grows first each time, and the source follows."""
    play = await begin(site)
    target, source = await a_pair(site)

    await play.roll(batches("10%", "40%", "50%"), target, source)
    await play.ends()

    assert play.sizes_of("d2") == [0, 1, 3, 5]
    assert play.sizes_of("d1") == [5, 4, 2, 0]
    sums = [each["d1"] + each["d2"] for each in play.sizes() if len(each) == 2]
    assert sums == [5, 6, 5, 7, 5, 7, 5]
    for name in ("d1", "d2"):
        assert play.owners(name) == []
        assert ORIGINAL not in play.object(DEPLOYMENTS, name)["metadata"]["annotations"]
    status = play.status()
    assert status["upgradedReplicas"] == status["upgradedReadyReplicas"] == status["rolloutTargetSize"] == 5
    assert play.states() == ["verifyingSpec", "initializing", "rollingInBatches", "finalising", SUCCEEDED]
    assert play.condition("RolloutSucceed")["status"] == "True"
    assert play.told("Rollout Finalized")
