"""Rollouts and ApplicationConfigurations of one component (C-6 and C-7): the workload is the Rollout's alone."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.plans.kinds import (
    APPLICATIONS,
    CLONE_SETS,
    COMPONENTS,
    CONFIGURATIONS,
    ROLLOUTS,
    TRAIT_DEFINITIONS,
    Json,
)
from kubeloop.objects.apps import DEPLOYMENTS
from tests.contracts.plans.decide.applications.test_revision_rollouts import a_component, sizes
from tests.contracts.plans.decide.applications.world import World, an_application, component, lived, outside

BATCHES: Json = {"rolloutBatches": [{"replicas": 1}, {}]}
DEFINITION: Json = {"definitionRef": {"name": "rollouts.standard.oam.dev"}, "schematic": {"cue": {"template": "no"}}}


def a_rollout(**plan: Any) -> Json:
    return {"apiVersion": ROLLOUTS.api_version, "kind": ROLLOUTS.kind, "spec": {"rolloutPlan": plan}}


def configured(world: World, *traits: Json, **names: str) -> None:
    named = names or {"componentName": "web"}
    listed = {"traits": [{"trait": each} for each in traits]} if traits else {}
    world.apply(CONFIGURATIONS, "shop", {"components": [{**named, **listed}]})


def revised(world: World, image: str, kind: str = "Deployment", api: str = "apps/v1", **more: Any) -> None:
    world.apply(COMPONENTS, "web", a_component(image, kind, api, **more))


def rolled_by_trait(**plan: Any) -> World:
    """The component `web` with a Rollout as its trait."""
    world = World()
    revised(world, "web:1")
    configured(world, a_rollout(targetSize=3, **plan))
    world.play()
    return world


def recorded(world: World, name: str = "shop") -> list[tuple[str, str]]:
    found = world.status(CONFIGURATIONS, name)["workloads"]
    return [(each["workloadRef"]["name"], each["componentRevisionName"]) for each in found]


def ended(world: World, name: str = "web") -> str:
    found: str = world.status(ROLLOUTS, name).get("rollingState", "")
    return found


def test_the_workload_is_left_to_the_rollout() -> None:
    world = rolled_by_trait()

    spec = world.get(ROLLOUTS, "web")["spec"]
    assert (spec["targetRevisionName"], spec["componentName"]) == ("web-v1", "web")
    assert "sourceRevisionName" not in spec
    assert world.controller(ROLLOUTS, "web") == "shop"
    assert (ended(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 3})
    assert world.owners(DEPLOYMENTS, "web-v1") == ["shop"]
    assert world.controller(DEPLOYMENTS, "web-v1") == ""
    assert recorded(world) == [("web-v1", "web-v1")]


def test_each_revision_of_the_component_is_rolled() -> None:
    world = rolled_by_trait(**BATCHES)
    seen: list[dict[str, int]] = []
    world.watchers.append(lambda each: seen.append(sizes(each)))
    for number in (2, 3):
        revised(world, f"web:{number}")
        world.play()

        spec = world.get(ROLLOUTS, "web")["spec"]
        assert (spec["targetRevisionName"], spec["sourceRevisionName"]) == (f"web-v{number}", f"web-v{number - 1}")
        assert (ended(world), sizes(world)) == ("rolloutSucceed", {f"web-v{number}": 3})
        assert recorded(world) == [(f"web-v{number}", f"web-v{number}")]
    assert min(sum(each.values()) for each in seen) >= 3
    assert not any("web" in each for each in seen)


def test_pods_of_a_rollout_that_was_deleted_before_anybody_looked_get_no_others_beside_them() -> None:
    """The workload that the configuration had recorded went with the success of the Rollout (C-5)."""
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", replicas=3)))
    world.play()
    changed = {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}
    world.change(COMPONENTS, "web", workload={"spec": changed})
    world.run(COMPONENTS, "web")
    names = {"targetRevisionName": "web-v2", "sourceRevisionName": "web-v1"}
    world.apply(ROLLOUTS, "r", {**names, "rolloutPlan": BATCHES})
    for _ in range(100):
        world.run(ROLLOUTS, "r")
        world.settle()
        if ended(world, "r") == "rolloutSucceed":
            break
    assert sizes(world) == {"web-v2": 3}

    world.delete(ROLLOUTS, "r")
    world.play()

    assert sizes(world) == {"web-v2": 3}
    assert recorded(world, "shop-v1")[0][0] == "web-v2"


def test_what_a_rollout_has_brought_is_not_changed_while_it_looks_for_its_next_target() -> None:
    """`web-v9` is not there, and the configuration describes `web:2`."""
    world = World()
    revised(world, "web:1")
    world.play()
    world.apply(ROLLOUTS, "r", {"targetRevisionName": "web-v1", "rolloutPlan": {"targetSize": 3}})
    world.play()
    revised(world, "web:2")
    configured(world)
    world.play()
    assert sizes(world) == {"web-v1": 3}
    world.change(ROLLOUTS, "r", targetRevisionName="web-v9")
    for _ in range(6):
        world.round()

    assert ended(world, "r") == "locatingTargetApp"
    (container,) = world.get(DEPLOYMENTS, "web-v1")["spec"]["template"]["spec"]["containers"]
    assert (sizes(world), container["image"]) == ({"web-v1": 3}, "web:1")


def test_what_is_updated_in_place_stays_one_workload() -> None:
    world = World()
    revised(world, "web:1", "CloneSet", CLONE_SETS.api_version)
    configured(world, a_rollout(targetSize=2))
    world.play()
    world.apply(CONFIGURATIONS, "shop", {"components": [{"componentName": "web", "traits": [{"trait": a_rollout()}]}]})
    revised(world, "web:2", "CloneSet", CLONE_SETS.api_version)
    world.play()

    assert ended(world) == "rolloutSucceed"
    assert world.names(CLONE_SETS) == ["web"]
    assert world.get(CLONE_SETS, "web")["status"]["updatedReplicas"] == 2
    assert world.get(ROLLOUTS, "web")["spec"]["sourceRevisionName"] == "web-v1"


@pytest.mark.parametrize("definition", [DEFINITION, {"manageWorkload": True}], ids=["by its kind", "as upstream's"])
def test_an_application_has_it_where_a_definition_of_the_cluster_says_so(definition: Json) -> None:
    world = World()
    world.apply(TRAIT_DEFINITIONS, "rollout", definition)
    trait = {"name": "rollout", "properties": {"targetSize": 2}}
    seen: list[int] = []
    for number in (1, 2):
        world.apply(APPLICATIONS, "shop", an_application(component(f"web:{number}", trait)))
        world.play()
        assert (ended(world), sizes(world)) == ("rolloutSucceed", {f"web-v{number}": 2})
        world.watchers.append(lambda each: seen.append(sum(sizes(each).values())))

    assert min(seen) >= 2
    assert world.controller(ROLLOUTS, "web") == "shop-v2"
    assert world.owners(DEPLOYMENTS, "web-v2") == ["shop-v2"]
    assert world.status(APPLICATIONS, "shop")["status"] == "running"
    assert world.annotations(CONFIGURATIONS, "shop-v1")["app.oam.dev/app-revision"] == "true"


def test_an_application_goes_back_to_the_revision_that_its_trait_names() -> None:
    world = World()
    world.apply(TRAIT_DEFINITIONS, "rollout", DEFINITION)
    for image, properties in (("web:1", {}), ("web:2", {}), ("web:2", {"targetRevision": "web-v1"})):
        trait = {"name": "rollout", "properties": {"targetSize": 2, **properties}}
        world.apply(APPLICATIONS, "shop", an_application(component(image, trait)))
        world.play()

    assert (ended(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 2})
    assert recorded(world, "shop-v3") == [("web-v1", "web-v1")]
    assert "targetRevision" not in world.get(ROLLOUTS, "web")["spec"]["rolloutPlan"]
    assert world.annotations(CONFIGURATIONS, "shop-v2")["app.oam.dev/app-revision"] == "true"


def test_another_definition_of_the_name_changes_nothing() -> None:
    world = World()
    world.apply(TRAIT_DEFINITIONS, "rollout", {"definitionRef": {"name": "rollouttraits.standard.oam.dev"}})
    trait = {"name": "rollout", "properties": {"targetSize": 2}}
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", trait)))
    world.play()

    assert world.names(ROLLOUTS) == []
    assert sizes(world) == {"web-v1": 2}


def test_a_component_that_did_not_change_keeps_its_workload_when_its_application_does() -> None:
    """The workload belongs to the newest configuration, or it would go with the oldest."""
    world = World()
    world.apply(TRAIT_DEFINITIONS, "rollout", DEFINITION)
    trait = {"name": "rollout", "properties": {"targetSize": 2}}
    for image in ("db:1", "db:2"):
        world.apply(APPLICATIONS, "shop", an_application(component("web:1", trait), component(image, name="db")))
        world.play()

    assert world.owners(DEPLOYMENTS, "web-v1") == ["shop-v2"]


def test_a_trait_that_comes_later_takes_the_workload_that_is_there() -> None:
    world = World()
    revised(world, "web:1", replicas=2)
    configured(world)
    world.play()
    uid = world.get(DEPLOYMENTS, "web")["metadata"]["uid"]
    configured(world, a_rollout(targetSize=3))
    world.play()

    assert (ended(world), sizes(world)) == ("rolloutSucceed", {"web": 3})
    assert world.get(DEPLOYMENTS, "web")["metadata"]["uid"] == uid
    assert world.annotations(ROLLOUTS, "web")["trait.oam.dev/workload-name"] == "web"

    revised(world, "web:2")
    world.play()

    assert (ended(world), sizes(world)) == ("rolloutSucceed", {"web-v2": 3})


def test_a_trait_that_comes_with_a_new_revision_rolls_from_the_workload_that_is_there() -> None:
    world = World()
    revised(world, "web:1", replicas=2)
    configured(world, revisionName="web-v1")
    world.play()
    revised(world, "web:2")
    world.run(COMPONENTS, "web")
    seen: list[int] = []
    world.watchers.append(lambda each: seen.append(sum(sizes(each).values())))
    configured(world, a_rollout(**BATCHES))
    world.play()

    assert (ended(world), sizes(world)) == ("rolloutSucceed", {"web-v2": 2})
    assert min(seen) >= 2


def test_a_trait_that_goes_leaves_the_workload_to_its_configuration() -> None:
    world = rolled_by_trait()
    configured(world)
    world.play()

    assert not world.has(ROLLOUTS, "web")
    assert sizes(world) == {"web-v1": 3}
    assert world.controller(DEPLOYMENTS, "web-v1") == "shop"

    revised(world, "web:2")
    world.play()

    assert sizes(world) == {"web-v1": 3}
    (container,) = world.get(DEPLOYMENTS, "web-v1")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "web:2"


def test_a_trait_that_goes_half_way_lets_its_rollout_end_first() -> None:
    world = rolled_by_trait()
    revised(world, "web:2")
    configured(world, a_rollout(**BATCHES, batchPartition=0))
    world.play()
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}
    configured(world)
    world.play()

    assert sizes(world) == {"web-v1": 2, "web-v2": 1}
    said = world.condition(CONFIGURATIONS, "shop", "Synced")[1]
    assert said.startswith("the Rollout web is not described any more and is at work")

    world.change(ROLLOUTS, "web", rolloutPlan={"batchPartition": 1})
    world.play()

    assert not world.has(ROLLOUTS, "web")
    assert sizes(world) == {"web-v2": 3}
    assert world.controller(DEPLOYMENTS, "web-v2") == "shop"


def test_traits_that_conflict_with_it_are_refused() -> None:
    world = World()
    revised(world, "web:1")
    scaler = {"apiVersion": "core.oam.dev/v1alpha2", "kind": "ManualScalerTrait", "spec": {"replicaCount": 2}}
    configured(world, a_rollout(targetSize=3), scaler)
    world.play()

    status, said = world.condition(CONFIGURATIONS, "shop", "Synced")
    assert (status, "conflict" in said) == ("False", True)
    assert world.names(ROLLOUTS) == world.names(DEPLOYMENTS) == []


def run_by_a_configuration() -> World:
    """`web-v1` with two pods in the Deployment `web`, and `web-v2` of which nothing is there."""
    world = World()
    revised(world, "web:1", replicas=2)
    world.play()
    configured(world, revisionName="web-v1")
    world.play()
    revised(world, "web:2")
    world.play()
    assert sizes(world) == {"web": 2}
    return world


def stand_alone(world: World, source: str = "", **plan: Any) -> None:
    named = {"sourceRevisionName": source} if source else {}
    world.apply(ROLLOUTS, "r", {"targetRevisionName": "web-v2", "rolloutPlan": plan, **named})


def test_a_rollout_beside_a_configuration_takes_its_pods_and_is_let_be() -> None:
    world = run_by_a_configuration()
    seen: list[int] = []
    world.watchers.append(lambda each: seen.append(sum(sizes(each).values())))
    stand_alone(world, "web-v1", **BATCHES)
    world.play()

    assert (ended(world, "r"), sizes(world)) == ("rolloutSucceed", {"web-v2": 2})
    assert min(seen) >= 2
    assert recorded(world) == [("web-v2", "web-v2")]

    configured(world, componentName="web")
    world.play()
    assert sizes(world) == {"web-v2": 2}, "it makes none of its own"

    world.delete(ROLLOUTS, "r")
    world.play()

    assert sizes(world) == {"web-v2": 2}, "it goes on with what there is"
    assert world.controller(DEPLOYMENTS, "web-v2") == "shop"


@pytest.mark.parametrize("plan", [{"revertOnDelete": True}, {"targetSize": 1}], ids=["goes back", "never begins"])
def test_a_configuration_goes_on_with_its_own_workload_where_the_pods_are_there(plan: Json) -> None:
    world = run_by_a_configuration()
    stand_alone(world, "web-v1", **BATCHES, batchPartition=0, **plan)
    world.play()
    world.delete(ROLLOUTS, "r")
    world.play()

    assert sizes(world) == {"web": 2, "web-v2": 0}
    assert recorded(world) == [("web", "web-v1")]
    assert world.controller(DEPLOYMENTS, "web") == "shop"

    configured(world, revisionName="web-v2")
    world.play()

    assert sizes(world) == {"web": 2, "web-v2": 0}
    (container,) = world.get(DEPLOYMENTS, "web")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "web:2"


def test_what_a_rollout_went_back_from_is_not_applied_by_the_configuration() -> None:
    world = run_by_a_configuration()
    stand_alone(world, "web-v1", **BATCHES, batchPartition=0)
    world.play()
    world.apply(ROLLOUTS, "r", annotations={"fairlead.dev/rollout-action": "revert@2026-03-01T12:00:00Z"})
    world.play()
    configured(world, revisionName="web-v2")
    world.play()

    assert (ended(world, "r"), sizes(world)) == ("rolloutFailed", {"web": 2, "web-v2": 0})
    (container,) = world.get(DEPLOYMENTS, "web")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "web:1"


@pytest.mark.parametrize("plan", [{"targetSize": 2}, {}])
def test_a_rollout_that_would_leave_the_pods_of_a_configuration_is_refused(plan: Json) -> None:
    world = run_by_a_configuration()
    before = outside(world)
    stand_alone(world, **plan)
    world.play()

    assert ended(world, "r") == "rolloutFailed"
    said = (
        "the ApplicationConfiguration shop runs the component web as the Deployment web of web-v1, which is neither "
        "target nor source: name its revision as the source"
    )
    assert world.condition(ROLLOUTS, "r", "TargetAppLocating") == ("False", said)
    del world.objects[ROLLOUTS, "r"]
    assert outside(world) == before

    stand_alone(world, "web-v1")
    world.play()
    assert (ended(world, "r"), sizes(world)) == ("rolloutSucceed", {"web-v2": 2})


def test_a_process_that_dies_after_every_write_comes_to_the_same_end() -> None:
    world, other = rolled_by_trait(**BATCHES), rolled_by_trait(**BATCHES)
    revised(other, "web:2")
    other.play()
    revised(world, "web:2")
    lives = lived(world)

    assert lives > 10
    assert (ended(world), sizes(world)) == ("rolloutSucceed", {"web-v2": 3})
    assert outside(world).keys() == outside(other).keys()
    assert recorded(world) == recorded(other)
