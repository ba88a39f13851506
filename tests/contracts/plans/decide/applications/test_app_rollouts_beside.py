"""AppRollouts beside the Application itself, and beside others of its component (C-6, C-7)."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_REVISIONS,
    APPLICATIONS,
    CLONE_SETS,
    COMPONENTS,
    CONFIGURATIONS,
)
from kubeloop.objects.apps import DEPLOYMENTS
from tests.contracts.plans.decide.applications.app_rollouts import (
    KEPT,
    PLAN,
    revised,
    rolled,
    running,
    state,
    taken_on,
)
from tests.contracts.plans.decide.applications.test_revision_rollouts import sizes
from tests.contracts.plans.decide.applications.world import World, an_application, component


def test_what_an_application_runs_by_itself_is_where_a_rollout_comes_from() -> None:
    """`shop` makes its Deployment `web` until it is kept as revisions only; the pods go to `web-v2` from there."""
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", replicas=2)))
    world.play()
    assert sizes(world) == {"web": 2}
    revised(world, component("web:1", replicas=2))
    revised(world, component("web:2"))
    before, after = world.names(APPLICATION_REVISIONS)
    seen: list[int] = []
    world.watchers.append(lambda each: seen.append(sum(sizes(each).values())))
    rolled(world, after, before)
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web": 0, "web-v2": 2})
    assert min(seen) == 2


def test_of_several_rollouts_of_a_component_the_last_one_says_where_its_pods_are() -> None:
    """`r` brought `web-v1`, and `s` took its pods to `web-v2`, which the Application goes on with."""
    world = running()
    spec = {"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": PLAN}
    world.apply(APP_ROLLOUTS, "s", spec)
    world.play()
    world.apply(APPLICATIONS, "shop", annotations={})
    world.play()

    (configuration,) = world.names(CONFIGURATIONS)
    (recorded,) = world.status(CONFIGURATIONS, configuration)["workloads"]
    assert recorded["workloadRef"]["name"] == "web-v2"

    for each in ("r", "s"):
        world.delete(APP_ROLLOUTS, each)
        world.play()
    world.apply(APPLICATIONS, "shop", an_application(component("web:3")))
    world.play()

    assert sizes(world) == {"web-v1": 0, "web-v2": 3}
    template = world.get(DEPLOYMENTS, "web-v2")["spec"]["template"]
    assert template["spec"]["containers"][0]["image"] == "web:3"


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "not recorded"])
def test_a_rollout_whose_pods_a_later_one_took_counts_no_more_when_that_one_is_deleted(recorded: bool) -> None:
    """Else the Application would go on with a workload that has no pods, and never change the one that has them."""
    world = taken_on()
    if recorded:
        world.apply(APPLICATIONS, "shop", annotations={})
        world.play()
    world.delete(APP_ROLLOUTS, "s")
    world.play()
    world.apply(APPLICATIONS, "shop", an_application(component("web:3")), annotations={})
    world.play()

    (configuration,) = (each for each in world.names(CONFIGURATIONS) if each == max(world.names(CONFIGURATIONS)))
    (told,) = world.status(CONFIGURATIONS, configuration)["workloads"]
    assert told["workloadRef"]["name"] == "web-v2"
    assert sizes(world) == {"web-v1": 0, "web-v2": 3}
    (container,) = world.get(DEPLOYMENTS, "web-v2")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "web:3"


def test_of_the_rollouts_that_are_left_the_one_with_the_pods_has_the_workload() -> None:
    """`u` took the pods back to `web-v1`, which is that of `r`."""
    world = taken_on()
    spec = {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2", "rolloutPlan": PLAN}
    world.apply(APP_ROLLOUTS, "u", spec)
    world.play()
    world.delete(APP_ROLLOUTS, "u")
    world.apply(APPLICATIONS, "shop", an_application(component("web:3")), annotations={})
    world.play()

    assert sizes(world) == {"web-v1": 3, "web-v2": 0}
    (container,) = world.get(DEPLOYMENTS, "web-v1")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "web:1", "it is left to `r`"


def test_an_application_goes_on_with_the_workload_that_a_deleted_rollout_brought() -> None:
    """Nothing was recorded of it, because the Application was kept as revisions only."""
    world = running()
    world.delete(APP_ROLLOUTS, "r")
    world.play()
    world.apply(APPLICATIONS, "shop", annotations={})
    world.play()

    assert sizes(world) == {"web-v1": 3}
    (container,) = world.get(DEPLOYMENTS, "web-v1")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "web:2"
    assert world.controller(DEPLOYMENTS, "web-v1").startswith("shop-v")


def recorded_first() -> World:
    """The Application has recorded `web-v1`, of a rollout that is gone, and `s` is about to take its pods on."""
    world = running()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1")), annotations={})
    world.play()
    world.delete(APP_ROLLOUTS, "r")
    world.play()
    spec = {"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": PLAN}
    world.apply(APP_ROLLOUTS, "s", spec)
    return world


@pytest.mark.parametrize("end", ["rollingInBatches", "rolloutSucceed"])
def test_an_application_follows_pods_whose_rollout_was_deleted_before_it_looked(end: str) -> None:
    """Else it would change a workload without pods from then on, and never the one that has them."""
    world = recorded_first()
    for _ in range(100):
        world.run(APP_ROLLOUTS, "s")
        world.run(COMPONENTS, "web")
        world.settle()
        if world.status(APP_ROLLOUTS, "s").get("rollingState") == end and world.size("web-v1") == 0:
            break
    world.delete(APP_ROLLOUTS, "s")
    world.play()
    assert sizes(world) == {"web-v1": 0, "web-v2": 3}
    world.apply(APPLICATIONS, "shop", an_application(component("web:3")), annotations={})
    world.play()

    assert sizes(world) == {"web-v1": 0, "web-v2": 3}
    (container,) = world.get(DEPLOYMENTS, "web-v2")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "web:3"


def test_an_application_waits_for_a_rollout_that_goes_back() -> None:
    """For a while the workload that it has recorded has no pods."""
    world = recorded_first()
    world.change(APP_ROLLOUTS, "s", rolloutPlan={"revertOnDelete": True, "rolloutStrategy": "DecreaseFirst"})
    for _ in range(100):
        world.round()
        world.settle()
        if world.has(DEPLOYMENTS, "web-v2") and world.size("web-v1") == 0:
            break
    names: set[str] = set()

    def look(each: World) -> None:
        (told,) = each.status(CONFIGURATIONS, "shop-v2")["workloads"]
        names.add(told["workloadRef"]["name"])

    world.watchers.append(look)
    world.delete(APP_ROLLOUTS, "s")
    world.play()

    assert (sizes(world), names) == ({"web-v1": 3, "web-v2": 0}, {"web-v1"})


@pytest.mark.parametrize("kind", ["webservice", "clonesetservice"])
@pytest.mark.parametrize("source", ["shop-v1", "shop-v2"], ids=["rolled", "refused"])
def test_what_a_rollout_has_brought_is_not_changed_while_it_goes_on_to_another_target(source: str, kind: str) -> None:
    """The Application describes `web:3`, and would give it to all pods at once."""
    world = running(kind=kind)
    world.apply(APPLICATIONS, "shop", an_application(component("web:3", kind=kind)), annotations={})
    world.play()
    seen: set[str] = set()

    def look(each: World) -> None:
        for (resource, _), tree in each.objects.items():
            if resource in (DEPLOYMENTS, CLONE_SETS):
                seen.add(tree["spec"]["template"]["spec"]["containers"][0]["image"])

    world.watchers.append(look)
    rolled(world, "shop-v2", source)
    world.play()

    if source == "shop-v2":
        assert (state(world), seen) == ("rolloutFailed", {"web:1"})
    else:
        assert (state(world), seen) == ("rolloutSucceed", {"web:1", "web:2"})
    world.delete(APP_ROLLOUTS, "r")
    world.play()
    assert "web:3" in seen, "then it is the Application's"


def changed_in_place() -> World:
    """The rollout of `web-v1` is gone, and the Application went on with that workload as its second revision."""
    world = running()
    world.delete(APP_ROLLOUTS, "r")
    world.play()
    world.apply(APPLICATIONS, "shop", annotations={})
    world.play()
    world.apply(APPLICATIONS, "shop", an_application(component("web:3")), annotations=KEPT)
    world.play()
    assert world.get(DEPLOYMENTS, "web-v1")["metadata"]["labels"]["app.oam.dev/revision"] == "web-v2"
    return world


def test_a_source_is_where_its_pods_are_under_whatever_name() -> None:
    world = changed_in_place()
    rolled(world, "shop-v3", "shop-v2")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v3": 3})


def test_a_target_that_an_application_runs_is_taken_as_it_is() -> None:
    """Both would write what they know of it, in turn and without end."""
    world = changed_in_place()
    rolled(world, "shop-v2", plan={"targetSize": 5})
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 5})


def test_pods_that_have_the_place_of_the_target_are_not_changed_at_once() -> None:
    """The Application would change them back, and so on for ever."""
    world = changed_in_place()
    before = world.get(DEPLOYMENTS, "web-v1")["spec"]
    rolled(world, "shop-v1", "shop-v2")
    world.play()

    said = (
        "the Deployment web-v1 has pods of web-v2, and those of web-v1 would take its place: go to another revision "
        "first, or take its pods away"
    )
    assert (state(world), world.condition(APP_ROLLOUTS, "r", "TargetAppLocating")[1]) == ("rolloutFailed", said)
    assert world.get(DEPLOYMENTS, "web-v1")["spec"] == before

    for target, source in (("shop-v3", "shop-v2"), ("shop-v1", "shop-v3")):
        rolled(world, target, source)
        world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 3, "web-v3": 0})


def test_a_rollout_whose_workload_somebody_scaled_to_nothing_keeps_it() -> None:
    world = running()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1")), annotations={})
    world.play()
    world.change(DEPLOYMENTS, "web-v1", replicas=0)
    world.play()

    (configuration,) = world.names(CONFIGURATIONS)
    (told,) = world.status(CONFIGURATIONS, configuration)["workloads"]
    assert (told["workloadRef"]["name"], sizes(world)) == ("web-v1", {"web-v1": 0})
