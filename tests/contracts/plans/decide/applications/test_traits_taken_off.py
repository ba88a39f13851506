"""Rollouts whose trait is taken off its component, put on again or called otherwise (T-7)."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.kinds import (
    APPLICATIONS,
    AUTOSCALERS,
    COMPONENTS,
    CONFIGURATIONS,
    ROLLOUT_TRAITS,
    Json,
)
from kubeloop.objects.apps import DEPLOYMENTS
from tests.contracts.plans.decide.applications.trait_rollouts import (
    PLAN,
    ROLLOUT,
    gated,
    rolled,
    sizes,
    state,
    workload,
)
from tests.contracts.plans.decide.applications.world import World, an_application, component


def test_a_rollout_that_was_taken_off_leaves_the_workload_where_it_is() -> None:
    world = rolled()

    world.apply(APPLICATIONS, "shop", an_application(component("web:2")))
    world.play()

    assert world.names(ROLLOUT_TRAITS) == []
    assert sizes(world) == {"web-v1": 3}
    pods = world.get(DEPLOYMENTS, "web-v1")["spec"]["template"]
    assert pods["spec"]["containers"][0]["image"] == "web:2"
    assert pods["metadata"]["labels"]["app.oam.dev/revision"] == "web-v1"


def half_way() -> World:
    """`web-v2` waits at the gate after its first batch, and then its trait is taken off."""
    world = rolled()
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", {**ROLLOUT, "properties": gated()})))
    world.play()
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}
    world.apply(APPLICATIONS, "shop", an_application(component("web:2")))
    world.play()
    return world


def synced(world: World) -> tuple[str, str]:
    return world.condition(CONFIGURATIONS, max(world.names(CONFIGURATIONS)), "Synced")


def test_a_rollout_that_is_taken_off_half_way_goes_on_to_its_end_before_it_goes() -> None:
    """Otherwise pods of both revisions would stay, and nobody would be there to move them."""
    world = half_way()
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}, "nobody opened the gate"
    assert synced(world) == (
        "False",
        (
            "the RolloutTrait web is not described any more and is at work: it goes when it has succeeded, and "
            "`fairlead abort web` ends it"
        ),
    )

    world.change(ROLLOUT_TRAITS, "web", rolloutPlan={"lastBatchToRollout": 1})
    world.play()

    assert world.names(ROLLOUT_TRAITS) == []
    assert sizes(world) == {"web-v1": 0, "web-v2": 3}
    assert synced(world)[0] == "True"
    assert world.controller(DEPLOYMENTS, "web-v2") == max(world.names(CONFIGURATIONS))


def test_a_change_that_comes_without_the_trait_waits_for_the_rollout_and_is_applied_where_it_went() -> None:
    world = half_way()
    world.apply(APPLICATIONS, "shop", an_application(component("web:3")))
    world.play()
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}

    world.change(ROLLOUT_TRAITS, "web", rolloutPlan={"lastBatchToRollout": 1})
    world.play()

    assert sizes(world) == {"web-v1": 0, "web-v2": 3}
    (container,) = world.get(DEPLOYMENTS, "web-v2")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "web:3"


def test_a_rollout_that_failed_half_way_is_kept_for_whoever_took_its_trait_off_to_decide() -> None:
    world = half_way()
    world.apply(ROLLOUT_TRAITS, "web", annotations={"fairlead.dev/rollout-action": "abort@2026-03-01T12:00:00Z"})
    world.play()

    assert (state(world), sizes(world)) == ("rolloutFailed", {"web-v1": 2, "web-v2": 1})
    assert synced(world) == (
        "False",
        (
            "the RolloutTrait web is not described any more and has failed: `fairlead retry web` takes all pods to the "
            "new revision, and `kubectl delete rollouttrait web` leaves them as they are"
        ),
    )

    world.delete(ROLLOUT_TRAITS, "web")
    world.play()

    assert world.names(ROLLOUT_TRAITS) == []
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}
    assert synced(world)[0] == "True"


def test_an_autoscaler_in_place_of_the_rollout_waits_for_its_end() -> None:
    """It would change sizes under the rollout, which fails then and leaves pods of both revisions."""
    world = half_way()
    scaled = {"name": "hpa", "properties": {"min": 2, "max": 9}}
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", scaled)))
    world.play()
    assert world.names(AUTOSCALERS) == []
    assert synced(world)[0] == "False"

    world.change(ROLLOUT_TRAITS, "web", rolloutPlan={"lastBatchToRollout": 1})
    world.play()

    assert (world.names(ROLLOUT_TRAITS), sizes(world)) == ([], {"web-v1": 0, "web-v2": 3})
    assert world.get(AUTOSCALERS, "web")["spec"]["scaleTargetRef"]["name"] == "web-v2"
    assert synced(world)[0] == "True"


def hand_written(world: World, image: str, *names: str, plan: Json = PLAN) -> None:
    """A configuration of the component `web` with RolloutTraits of these names."""
    world.apply(COMPONENTS, "web", workload(image))
    kind = {"apiVersion": "standard.oam.dev/v1alpha1", "kind": "RolloutTrait"}
    traits = [{"trait": {**kind, "metadata": {"name": each}, "spec": {"rolloutPlan": plan}}} for each in names]
    world.apply(CONFIGURATIONS, "mine", {"components": [{"componentName": "web", "traits": traits}]})
    world.play()


def told(world: World, *names: str) -> list[str]:
    return [world.status(ROLLOUT_TRAITS, each)["rollingState"] for each in names]


def test_a_rollout_under_another_name_waits_for_the_one_at_work() -> None:
    world = World()
    hand_written(world, "a", "one")
    hand_written(world, "b", "one", plan=gated())
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}

    hand_written(world, "c", "other")
    assert world.names(ROLLOUT_TRAITS) == ["one"], "the other would find the workloads held, and fail"
    world.change(ROLLOUT_TRAITS, "one", rolloutPlan={"lastBatchToRollout": 1})
    world.play()

    assert (world.names(ROLLOUT_TRAITS), told(world, "other")) == (["other"], ["rolloutSucceed"])
    assert sizes(world) == {"web-v1": 0, "web-v2": 0, "web-v3": 3}


def test_each_of_several_rollouts_that_are_taken_off_is_kept() -> None:
    world = World()
    hand_written(world, "a", "one")
    hand_written(world, "b", "one", plan=gated())
    world.apply(ROLLOUT_TRAITS, "one", annotations={"fairlead.dev/rollout-action": "abort@2026-03-01T12:00:00Z"})
    world.play()
    hand_written(world, "c", "other", plan=gated())
    assert told(world, "one", "other") == ["rolloutFailed", "rollingInBatches"]

    hand_written(world, "c")
    assert told(world, "one", "other") == ["rolloutFailed", "rollingInBatches"]
    world.change(ROLLOUT_TRAITS, "other", rolloutPlan={"lastBatchToRollout": 1})
    world.play()

    assert (world.names(ROLLOUT_TRAITS), sizes(world)) == (["one"], {"web-v1": 0, "web-v2": 0, "web-v3": 3})


def test_a_trait_that_is_put_on_again_takes_what_its_deleted_rollout_left() -> None:
    """The configuration remembers the earlier workload, whose pods would stay beside the new ones."""
    world = World()
    hand_written(world, "a", "web")
    hand_written(world, "b", "web", plan=gated())
    hand_written(world, "b")
    world.apply(ROLLOUT_TRAITS, "web", annotations={"fairlead.dev/rollout-action": "abort@2026-03-01T12:00:00Z"})
    world.play()
    world.delete(ROLLOUT_TRAITS, "web")
    world.play()
    assert (world.names(ROLLOUT_TRAITS), sizes(world)) == ([], {"web-v1": 2, "web-v2": 1})

    hand_written(world, "b", "web")

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 3})


def test_a_rollout_that_has_moved_no_pod_yet_goes_with_its_trait() -> None:
    world = rolled()
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", ROLLOUT)))
    while world.status(ROLLOUT_TRAITS, "web").get("rollingState") != "verifyingSpec":
        world.round()
    world.apply(APPLICATIONS, "shop", an_application(component("web:2")))
    world.run(APPLICATIONS, "shop")
    world.run(CONFIGURATIONS, max(world.names(CONFIGURATIONS)))
    world.play()

    assert (world.names(ROLLOUT_TRAITS), sizes(world)) == ([], {"web-v1": 3, "web-v2": 0})
    (container,) = world.get(DEPLOYMENTS, "web-v1")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "web:2"


@pytest.mark.parametrize("before", [ROLLOUT, None], ids=["put on again", "put on"])
def test_a_trait_for_a_revision_that_runs_already_makes_no_second_workload(before: Json | None) -> None:
    """The revision came without a rollout, under the name of the one before or of the component."""
    plan = {"rolloutBatches": [{"replicas": "40%"}, {}], "targetSize": 3}
    trait = {"name": "rollout", "properties": plan}
    world = World()
    for image, *traits in (("web:1", before), ("web:2", None)):
        described = component(image, *filter(None, traits), replicas=3)
        world.apply(APPLICATIONS, "shop", an_application(described))
        world.play()
    (name,) = world.names(DEPLOYMENTS)
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", trait, replicas=3)))
    world.play()
    assert (state(world), sizes(world)) == ("rolloutSucceed", {name: 3})

    world.apply(APPLICATIONS, "shop", an_application(component("web:3", trait, replicas=3)))
    world.play()
    assert (state(world), sizes(world)) == ("rolloutSucceed", {name: 0, "web-v3": 3})


def test_a_rollout_that_was_edited_after_its_end_goes_with_its_trait() -> None:
    world = rolled()
    kept = {**ROLLOUT, "properties": {**PLAN, "revertOnDelete": True}}
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", kept)))
    world.play()
    assert world.controller(DEPLOYMENTS, "web-v1") == "shop-v2", "nobody is at work on it"

    world.apply(APPLICATIONS, "shop", an_application(component("web:1")))
    world.play()

    assert world.names(ROLLOUT_TRAITS) == []
    assert synced(world)[0] == "True"


def test_a_rollout_that_never_began_goes_with_its_trait() -> None:
    world = rolled()
    broken = {**ROLLOUT, "properties": {**PLAN, "rolloutBatches": [{"replicas": 9}, {}]}}
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", broken)))
    world.play()
    assert state(world) == "rolloutFailed"

    world.apply(APPLICATIONS, "shop", an_application(component("web:2")))
    world.play()

    assert world.names(ROLLOUT_TRAITS) == []


def test_a_hand_written_configuration_lets_a_rollout_end_that_it_describes_no_more() -> None:
    world = World()
    for image, plan in (("a", PLAN), ("b", gated())):
        trait = {"apiVersion": "standard.oam.dev/v1alpha1", "kind": "RolloutTrait", "spec": {"rolloutPlan": plan}}
        world.apply(COMPONENTS, "web", workload(image))
        world.apply(CONFIGURATIONS, "mine", {"components": [{"componentName": "web", "traits": [{"trait": trait}]}]})
        world.play()
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}

    world.apply(CONFIGURATIONS, "mine", {"components": [{"componentName": "web"}]})
    world.play()
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}
    world.change(ROLLOUT_TRAITS, "web", rolloutPlan={"lastBatchToRollout": 1})
    world.play()

    assert world.names(ROLLOUT_TRAITS) == []
    assert sizes(world) == {"web-v1": 0, "web-v2": 3}
