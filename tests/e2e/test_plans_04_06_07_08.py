"""Acceptance scenarios 4 and 6 to 8: plans as they are written, reviewed while they roll (section 3.16)."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.plans.kinds import BATCH_READY, ROLLING, ROLLOUT_TRAITS
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.plan_admission import admit, refused, refused_change
from tests.e2e.plan_play import Play, a_pair, batches, begin, reference
from tests.e2e.plans import definitions, with_traits
from tests.e2e.zones import change

GATED = (ROLLING, BATCH_READY, 0)
PLAN = "spec.rolloutPlan"


def a_rollout(plan: Tree, **spec: Any) -> Tree:
    names = {"targetRef": reference("d2"), "sourceRef": [reference("d1")]}
    return {"metadata": {"name": "r"}, "spec": {**names, "rolloutPlan": plan, **spec}}


async def gated(site: Site, *sizes: int, **plan: Any) -> Play:
    """A rollout that waits after its first batch."""
    play = await begin(site)
    await admit(site)
    target, source = await a_pair(site)
    await play.roll(batches(*sizes, lastBatchToRollout=0, **plan), target, source)
    await play.until(lambda: play.at() == GATED)
    return play


async def denied(site: Site, plan: Tree) -> str:
    """What is said of a change of the plan that is not taken."""
    error = await refused_change(site, ROLLOUT_TRAITS, "r", {"spec": {"rolloutPlan": plan}})
    assert error.status == 422
    return str(error)


@with_traits(controllers=False)
async def test_scenario_4_both_names(site: Site) -> None:
    """Two names of one partition must agree."""
    await define(site, *definitions())
    await admit(site)

    error = await refused(site, ROLLOUT_TRAITS, a_rollout({"lastBatchToRollout": 1, "batchPartition": 2}))

    assert error.status == 422
    assert f"{PLAN}.batchPartition: Invalid value: 2: must be lastBatchToRollout, which is 1, or be absent" in str(
        error
    )
    made = await site.create(ROLLOUT_TRAITS, a_rollout({"lastBatchToRollout": 1, "batchPartition": 1}))
    assert made["spec"]["rolloutPlan"]["rolloutStrategy"] == "IncreaseFirst"


@with_traits()
async def test_scenario_6_strict_update(site: Site) -> None:
    """What pods already depend on stays while the rollout is active; what does not may change, and it ends."""
    play = await gated(site, 2, 2, 1)
    hook = {"type": "finalize-rollout", "name": "h", "url": "http://127.0.0.1:1/"}

    for field, value in (
        ("rolloutStrategy", "DecreaseFirst"),
        ("targetSize", 6),
        ("rolloutWebhooks", [hook]),
    ):
        assert f"{PLAN}.{field}: Forbidden: cannot be changed" in await denied(site, {field: value})
    first = [{"replicas": 1}, {"replicas": 3}, {"replicas": 1}]
    assert f"{PLAN}.rolloutBatches[0]: Forbidden" in await denied(site, {"rolloutBatches": first})

    metric = {"name": "request-success-rate", "metricsRange": {"min": 99}, "dryRun": True}
    await play.plan({"revertOnDelete": True, "canaryMetric": [metric]})
    await play.plan({"canaryMetric": None})
    await play.plan({"lastBatchToRollout": 1})
    await play.until(lambda: play.at() == (ROLLING, BATCH_READY, 1))
    assert "may only rise while the rollout is active" in await denied(site, {"lastBatchToRollout": 0})
    await play.plan({"lastBatchToRollout": 2})
    await play.ends()

    assert play.sizes_of("d2") == [0, 2, 4, 5]


@with_traits()
async def test_scenario_7_batches_behind_the_partition(site: Site) -> None:
    """Batches that nobody has begun may be others, as long as their sum is right."""
    play = await gated(site, 2, 2, 1)

    said = await denied(site, batches(2, 1, 1))
    await play.plan(batches(2, 1, 2))
    await play.plan({"lastBatchToRollout": 2})
    await play.ends()

    assert "total batch size = 4, totalReplicas size = 5" in said
    assert play.sizes_of("d2") == [0, 2, 3, 5]


@with_traits(controllers=False)
async def test_scenario_8_num_batches_default(site: Site) -> None:
    """Batches are written down where size, number and source are known, and as given otherwise."""
    await define(site, *definitions())
    await admit(site)

    made = await site.create(ROLLOUT_TRAITS, a_rollout({"targetSize": 8, "numBatches": 5}))
    scaled = await site.create(
        ROLLOUT_TRAITS, {**a_rollout({"targetSize": 8, "numBatches": 5}, sourceRef=[]), "metadata": {"name": "s"}}
    )

    sizes = [each["replicas"] for each in made["spec"]["rolloutPlan"]["rolloutBatches"]]
    assert sizes == [1, 1, 2, 2, 2]
    assert made["spec"]["rolloutPlan"]["rolloutStrategy"] == "IncreaseFirst"
    assert "rolloutBatches" not in scaled["spec"]["rolloutPlan"]


@with_traits(controllers=False)
async def test_batches_that_were_written_for_another_size_are_written_anew(site: Site) -> None:
    """The manifest lists none, so that applying it again keeps those that are stored."""
    await define(site, *definitions())
    await admit(site)
    await site.create(ROLLOUT_TRAITS, a_rollout({"targetSize": 8, "numBatches": 5}))

    larger = await change(site, ROLLOUT_TRAITS, "r", {"spec": {"rolloutPlan": {"targetSize": 12}}})
    fewer = await change(site, ROLLOUT_TRAITS, "r", {"spec": {"rolloutPlan": {"numBatches": 3}}})

    assert [each["replicas"] for each in larger["spec"]["rolloutPlan"]["rolloutBatches"]] == [2, 2, 2, 3, 3]
    assert [each["replicas"] for each in fewer["spec"]["rolloutPlan"]["rolloutBatches"]] == [4, 4, 4]
