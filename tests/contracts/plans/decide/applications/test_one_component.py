"""A rollout is of one component (C-3): pods of another never go for it."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import APP_ROLLOUTS, COMPONENTS, ROLLOUTS, Json
from tests.contracts.plans.decide.applications import app_rollouts as snapshots
from tests.contracts.plans.decide.applications import test_revision_rollouts as revisions
from tests.contracts.plans.decide.applications.test_revision_rollouts import sizes
from tests.contracts.plans.decide.applications.world import World, component


def both(number: int) -> tuple[Json, Json]:
    return component(f"web:{number}"), component(f"db:{number}", name="db", kind="worker")


def test_a_rollout_that_is_given_a_revision_of_another_component_leaves_the_pods_of_the_first() -> None:
    world = revisions.two_revisions()
    world.apply(COMPONENTS, "db", revisions.a_component("db:1"))
    world.play()
    revisions.rolled(world, "db-v1")
    world.play()

    assert (revisions.state(world), sizes(world)) == ("rolloutFailed", {"web-v1": 3})
    assert world.condition(ROLLOUTS, "r", "TargetAppLocating")[1] == (
        "the Deployment web-v1 is of the component web, and the revision db-v1 of db: a rollout is of one component, "
        "so make another one for db"
    )


def test_an_app_rollout_that_is_turned_to_another_component_in_the_middle_leaves_the_pods_of_the_first() -> None:
    world = World()
    snapshots.revised(world, *both(1))
    snapshots.rolled(world, "shop-v1", plan={"targetSize": 3}, componentList=["web"])
    world.play()
    snapshots.revised(world, *both(2))
    snapshots.rolled(world, "shop-v2", "shop-v1", {**snapshots.PLAN, "batchPartition": 0}, componentList=["web"])
    snapshots.until(world, "rollingInBatches", "batchReady")
    snapshots.rolled(world, "shop-v1", plan={"targetSize": 3}, componentList=["db"])
    world.play()

    assert (snapshots.state(world), sizes(world)) == ("rolloutFailed", {"web-v1": 2, "web-v2": 1})
    assert "the Deployment web-v1 is of the component web" in world.condition(APP_ROLLOUTS, "r", "TargetAppLocating")[1]

    snapshots.rolled(world, "shop-v2", "shop-v1", componentList=["web"])
    world.play()

    assert (snapshots.state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 3})


def test_an_app_rollout_that_is_done_scales_the_component_that_it_names_now() -> None:
    world = World()
    snapshots.revised(world, *both(1))
    snapshots.rolled(world, "shop-v1", plan={"targetSize": 1}, componentList=["web"])
    world.play()
    snapshots.rolled(world, "shop-v1", plan={"targetSize": 2}, componentList=["db"])
    world.play()

    assert (snapshots.state(world), sizes(world)) == ("rolloutSucceed", {"db-v1": 2, "web-v1": 1})
