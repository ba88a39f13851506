"""Applications whose components are updated in place, brought by a rollout, and taken back by one (T-2, D-7, V-3)."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.plans.kinds import (
    APPLICATION,
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    CLONE_SETS,
    COMPONENT_REVISION,
    CONFIGURATIONS,
    INACTIVE,
    ROLLOUT_TEMPLATE,
    ROLLOUT_TRAITS,
    Json,
)
from tests.contracts.plans.decide.applications.world import World, an_application, component, lived, outside

PLAN: Json = {"rolloutBatches": [{"replicas": 1}, {"replicas": 2}]}


def clones(image: str, *traits: Json, **settings: Any) -> Json:
    return component(image, *traits, kind="clonesetservice", **settings)


def handed(plan: Json) -> World:
    """`shop` runs three clones, and `next` waits for the rollout that begins."""
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(clones("web:1", replicas=3)))
    world.play()
    world.apply(APPLICATIONS, "next", an_application(clones("web:2")), annotations={ROLLOUT_TEMPLATE: "true"})
    spec = {"targetApplicationName": "next", "sourceApplicationName": "shop", "rolloutPlan": plan}
    world.apply(APPLICATION_DEPLOYMENTS, "d", spec)
    return world


def image(world: World) -> str:
    found: str = world.get(CLONE_SETS, "web")["spec"]["template"]["spec"]["containers"][0]["image"]
    return found


def state(world: World) -> str:
    found: str = world.status(APPLICATION_DEPLOYMENTS, "d").get("rollingState", "")
    return found


def partitions(world: World) -> list[int]:
    """Each partition of a claimed workload, once."""
    found: list[int] = []

    def look(each: World) -> None:
        if each.has(CLONE_SETS, "web") and each.controller(CLONE_SETS, "web") == "d":
            partition = each.get(CLONE_SETS, "web")["spec"]["updateStrategy"]["partition"]
            if found[-1:] != [partition]:
                found.append(partition)

    world.watchers.append(look)
    return found


def test_a_clone_set_passes_from_one_application_to_the_other() -> None:
    world = handed(PLAN)
    seen = partitions(world)
    uid = world.get(CLONE_SETS, "web")["metadata"]["uid"]

    world.play()

    assert (state(world), image(world), seen) == ("rolloutSucceed", "web:2", [3, 2, 0])
    found = world.get(CLONE_SETS, "web")
    assert (found["metadata"]["uid"], found["spec"]["replicas"]) == (uid, 3)
    assert found["metadata"]["labels"][APPLICATION] == "next"
    assert world.controller(CLONE_SETS, "web").startswith("next-v")
    assert world.annotations(APPLICATIONS, "shop")[INACTIVE] == "true"
    assert world.status(APPLICATIONS, "next")["status"] == "running"


def taken_back() -> World:
    world = handed({**PLAN, "revertOnDelete": True, "lastBatchToRollout": 0})
    world.play()
    assert (state(world), image(world)) == ("rollingInBatches", "web:2")
    world.delete(APPLICATION_DEPLOYMENTS, "d")
    return world


def check_taken_back(world: World) -> None:
    assert not world.has(APPLICATION_DEPLOYMENTS, "d")
    assert image(world) == "web:1"
    found = world.get(CLONE_SETS, "web")
    assert (found["metadata"]["labels"][APPLICATION], found["metadata"]["labels"][COMPONENT_REVISION]) == (
        "shop",
        "web-v1",
    )
    assert (found["spec"]["replicas"], found["spec"]["updateStrategy"]) == (3, {"paused": False, "partition": 0})
    assert world.controller(CLONE_SETS, "web") == "shop-v1"
    assert world.annotations(APPLICATIONS, "next")[INACTIVE] == "true"
    assert world.status(CONFIGURATIONS, "shop-v1")["rollingStatus"] == "RollingCompleted"
    assert world.status(APPLICATIONS, "shop")["status"] == "running"


def test_a_deletion_with_revert_gives_it_back_to_the_source() -> None:
    world = taken_back()
    world.play()
    check_taken_back(world)


def test_processes_that_die_after_each_write_of_it_come_to_the_same_end() -> None:
    undisturbed = taken_back()
    undisturbed.play()
    world = taken_back()

    assert lived(world) > 3

    check_taken_back(world)
    assert outside(world).keys() == outside(undisturbed).keys()


ROLLED: Json = {**PLAN, "targetSize": 3}


def test_a_failed_trait_goes_back_and_its_revision_is_not_applied_again() -> None:
    """T-5 and X-1: the next revision is rolled from the one that is there."""
    world = World()
    trait: Json = {"name": "rollout", "properties": ROLLED}
    world.apply(APPLICATIONS, "shop", an_application(clones("web:1", trait)))
    world.play()
    gated = {"name": "rollout", "properties": {**ROLLED, "onFailure": "revert", "lastBatchToRollout": 0}}
    world.apply(APPLICATIONS, "shop", an_application(clones("web:2", gated)))
    world.play()
    assert image(world) == "web:2"
    world.apply(ROLLOUT_TRAITS, "web", annotations={"fairlead.dev/rollout-action": "revert@2026-01-01T00:00:00Z"})
    world.play()

    assert world.status(ROLLOUT_TRAITS, "web")["rollingState"] == "rolloutFailed"
    assert image(world) == "web:1"

    world.apply(APPLICATIONS, "shop", an_application(clones("web:3", trait)))
    world.play()

    assert world.status(ROLLOUT_TRAITS, "web")["rollingState"] == "rolloutSucceed"
    assert image(world) == "web:3"
    assert [each["name"] for each in world.get(ROLLOUT_TRAITS, "web")["spec"]["sourceRef"]] == ["web-v1"]


def test_a_rollout_that_went_back_can_be_tried_again() -> None:
    world = World()
    trait: Json = {"name": "rollout", "properties": ROLLED}
    world.apply(APPLICATIONS, "shop", an_application(clones("web:1", trait)))
    world.play()
    gated = {"name": "rollout", "properties": {**ROLLED, "lastBatchToRollout": 0}}
    world.apply(APPLICATIONS, "shop", an_application(clones("web:2", gated)))
    world.play()
    world.apply(ROLLOUT_TRAITS, "web", annotations={"fairlead.dev/rollout-action": "revert@2026-01-01T00:00:00Z"})
    world.play()
    assert image(world) == "web:1"

    world.apply(ROLLOUT_TRAITS, "web", annotations={"fairlead.dev/rollout-action": "retry@2026-01-01T01:00:00Z"})
    world.play()

    assert image(world) == "web:2"
