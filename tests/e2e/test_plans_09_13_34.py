"""Acceptance scenarios 9, 13 and 34: plans that do not fit, plans that are corrected, and workloads that are scaled."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import FAILED
from kubeloop.objects.apps import DEPLOYMENTS
from tests.e2e.clusters import Site
from tests.e2e.plan_play import NEW, Play, a_deployment, a_pair, batches, begin, reference
from tests.e2e.plans import with_traits

TOO_MUCH = batches(1, "20%", "50%", 2)
"""Of 6 pods nothing is left for the last batch."""


async def _refused(site: Site) -> Play:
    """Scenario 9."""
    play = await begin(site)
    target, source = await a_pair(site, 6)
    versions = {name: tree["metadata"]["resourceVersion"] for name, tree in site.history.objects(DEPLOYMENTS).items()}

    await play.roll(TOO_MUCH, target, source)
    await play.ends(FAILED)

    found = site.history.objects(DEPLOYMENTS)
    assert {name: tree["metadata"]["resourceVersion"] for name, tree in found.items()} == versions
    return play


@with_traits(long=True)
async def test_scenario_9_bad_sums(site: Site) -> None:
    """The plan is refused with both numbers, and no workload is touched."""
    play = await _refused(site)

    refused = play.condition("RolloutSpecVerifying")
    assert refused["status"] == "False"
    assert refused["message"].startswith("the rollout plan batch size mismatch, total batch size = ")
    assert refused["message"].endswith("totalReplicas size = 6")
    assert await play.tells("VerifyFailed") == [refused["message"]]


@with_traits(long=True)
async def test_scenario_34_corrected_plan(site: Site) -> None:
    """A plan that failed its verification is corrected under the same names, and rolls."""
    play = await _refused(site)

    await play.plan(batches(1, "20%", 3))
    await play.ends()

    assert play.sizes_of("d2") == [0, 1, 3, 6]
    assert await play.tells("Rollout Restarted")


@with_traits()
async def test_scenario_13_scale(site: Site) -> None:
    """Without a source the target goes to its size in batches."""
    play = await begin(site)
    await site.create(DEPLOYMENTS, a_deployment("d2", 2, NEW))
    await play.until(lambda: play.ready("d2") == 2)

    await play.roll(batches(1, "20%", "50%", 2, targetSize=12), reference("d2"))
    await play.ends()

    assert play.sizes_of("d2") == [2, 3, 5, 10, 12]
    assert play.owners("d2") == []
    assert await play.tells("Scale Finalized")


@with_traits(on=("sim",))
async def test_scenario_13_a_scale_without_a_size_fails(site: Site) -> None:
    play = await begin(site)
    await site.create(DEPLOYMENTS, a_deployment("d2", 2, NEW))

    await play.roll(batches(1), reference("d2"))
    await play.ends(FAILED)

    assert "targetSize" in play.condition("RolloutSpecVerifying")["message"]
    assert play.sizes_of("d2") == [2]
