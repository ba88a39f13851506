"""AppRollouts (B-1 to B-4): from one ApplicationRevision to another, and back."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_REVISIONS,
    APPLICATIONS,
    CLONE_SETS,
    COMPONENTS,
    CONFIGURATIONS,
    Json,
)
from fairlead.contracts.plans.settings import PlanSettings
from kubeloop.objects.apps import CONTROLLER_REVISIONS, DEPLOYMENTS
from kubeloop.objects.meta import Resource
from tests.contracts.plans.decide.applications.test_revision_rollouts import sizes
from tests.contracts.plans.decide.applications.test_revision_rollouts import until as comes_to
from tests.contracts.plans.decide.applications.world import World, an_application, component, lived, outside
from tests.contracts.plans.decide.test_reading import ODD

PLAN: Json = {"rolloutBatches": [{"replicas": 1}, {}]}
KEPT = {"app.oam.dev/revision-only": "true"}


def kept(*images: str, kind: str = "webservice", settings: PlanSettings | None = None) -> World:
    """The Application `shop`, kept as a revision for each of these images of its component `web`."""
    world = World(settings)
    for image in images:
        revised(world, component(image, kind=kind))
    return world


def revised(world: World, *components: Json, name: str = "shop") -> None:
    world.apply(APPLICATIONS, name, an_application(*components), annotations=KEPT)
    world.play()


def running(size: int = 3, kind: str = "webservice") -> World:
    """`shop-v1` with its pods, brought by the AppRollout `r`, and `shop-v2` of which nothing is there."""
    world = kept("web:1", kind=kind)
    rolled(world, "shop-v1", plan={"targetSize": size})
    world.play()
    revised(world, component("web:2", kind=kind))
    return world


def rolled(world: World, target: str, source: str = "", plan: Json | None = None, **more: Any) -> None:
    spec = {"targetAppRevisionName": target, "sourceAppRevisionName": source, "rolloutPlan": plan or PLAN, **more}
    world.apply(APP_ROLLOUTS, "r", {key: value for key, value in spec.items() if value != ""})


def state(world: World) -> str:
    found: str = world.status(APP_ROLLOUTS, "r").get("rollingState", "")
    return found


until = partial(comes_to, resource=APP_ROLLOUTS)


def gated(world: World, **plan: Any) -> None:
    rolled(world, "shop-v2", "shop-v1", plan={**PLAN, "batchPartition": 0, **plan})
    until(world, "rollingInBatches", "batchReady")
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}


def test_the_first_revision_is_made_without_pods_and_scaled() -> None:
    world = kept("web:1")
    assert world.names(COMPONENTS) == world.names(DEPLOYMENTS) == []
    rolled(world, "shop-v1", plan={"targetSize": 2})
    until(world, "verifyingSpec")

    made = world.get(DEPLOYMENTS, "web-v1")
    assert (made["spec"]["replicas"], made["spec"]["paused"]) == (0, True)
    labels = made["metadata"]["labels"]
    assert (labels["app.oam.dev/component"], labels["app.oam.dev/revision"]) == ("web", "web-v1")
    assert labels["app.oam.dev/name"] == "shop"
    assert world.owners(DEPLOYMENTS, "web-v1") == world.owners(COMPONENTS, "web") == ["shop"]
    assert world.controller(DEPLOYMENTS, "web-v1") == ""

    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 2})
    assert world.controller(DEPLOYMENTS, "web-v1") == ""
    assert world.names(CONFIGURATIONS) == []


def test_a_revision_follows_another_whose_workload_stays_without_pods() -> None:
    world = running()
    seen: list[dict[str, int]] = []
    states: list[str] = []
    world.watchers.append(lambda each: seen.append(sizes(each)))
    world.watchers.append(lambda each: states.append(state(each)))
    rolled(world, "shop-v2", "shop-v1")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 3})
    assert all(sum(each.values()) >= 3 for each in seen)
    assert list(dict.fromkeys(states))[:3] == ["locatingTargetApp", "verifyingSpec", "initializing"]
    status = world.status(APP_ROLLOUTS, "r")
    assert (status["lastTargetAppRevision"], status["LastSourceAppRevision"]) == ("shop-v2", "shop-v1")


def test_the_way_back_makes_no_new_component_revision() -> None:
    world = running()
    rolled(world, "shop-v2", "shop-v1")
    world.play()
    rolled(world, "shop-v1", "shop-v2")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 3, "web-v2": 0})
    assert world.names(CONTROLLER_REVISIONS) == ["web-v1", "web-v2"]


def test_a_turn_round_in_the_middle_brings_the_old_pods_back() -> None:
    world = running()
    gated(world)
    seen: list[int] = []
    states: list[str] = []
    world.watchers.append(lambda each: seen.append(sum(sizes(each).values())))
    world.watchers.append(lambda each: states.append(state(each)))
    rolled(world, "shop-v1", "shop-v2")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 3, "web-v2": 0})
    assert min(seen) >= 3
    assert "rolloutAbandoned" in states


def test_a_turn_round_before_any_pod_moved_succeeds_and_moves_none() -> None:
    world = running()
    rolled(world, "shop-v2", "shop-v1")
    until(world, "verifyingSpec")
    rolled(world, "shop-v1", "shop-v2")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 3, "web-v2": 0})


def test_a_third_revision_takes_the_pods_of_both_others() -> None:
    world = running()
    gated(world)
    revised(world, component("web:3"))
    rolled(world, "shop-v3", "shop-v2")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 0, "web-v3": 3})


def test_a_rollout_that_is_done_is_scaled_by_its_size_again_and_again() -> None:
    world = running()
    rolled(world, "shop-v2", "shop-v1")
    world.play()
    for size in (5, 1, 4):
        world.change(APP_ROLLOUTS, "r", rolloutPlan={"targetSize": size, "rolloutBatches": None})
        world.play()
        assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": size})


@pytest.mark.parametrize("is_done", [True, False], ids=["done", "in the middle"])
def test_another_target_without_a_source_comes_from_the_last_one(is_done: bool) -> None:
    """Otherwise the pods of both would stay side by side."""
    world = running()
    if not is_done:
        gated(world)
        revised(world, component("web:3"))
    target = "shop-v2" if is_done else "shop-v3"
    seen: list[int] = []
    world.watchers.append(lambda each: seen.append(sum(sizes(each).values())))
    rolled(world, target)
    world.play()

    new, old = ("web-v2", {"web-v1": 0}) if is_done else ("web-v3", {"web-v1": 0, "web-v2": 0})
    assert (state(world), sizes(world)) == ("rolloutSucceed", {**old, new: 3})
    assert min(seen) >= 3
    status = world.status(APP_ROLLOUTS, "r")
    assert status["lastTargetAppRevision"] == target
    assert status["LastSourceAppRevision"] == ("shop-v1" if is_done else "shop-v2")


def test_a_source_that_is_no_longer_named_changes_nothing() -> None:
    world = running()
    gated(world)
    world.change(APP_ROLLOUTS, "r", sourceAppRevisionName=None)
    world.play()

    assert world.status(APP_ROLLOUTS, "r")["batchRollingState"] == "batchReady"

    world.change(APP_ROLLOUTS, "r", rolloutPlan={"batchPartition": 1})
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 3})


def test_a_second_rollout_without_a_source_makes_nothing_beside_the_pods_of_the_first() -> None:
    world = running()
    spec = {"targetAppRevisionName": "shop-v2", "componentList": ["web"], "rolloutPlan": {"targetSize": 3}}
    world.apply(APP_ROLLOUTS, "s", spec)
    world.play()

    assert world.status(APP_ROLLOUTS, "s")["rollingState"] == "rolloutFailed"
    assert "the Deployment web-v1 of web-v1 has pods" in world.condition(APP_ROLLOUTS, "s", "TargetAppLocating")[1]
    assert sizes(world) == {"web-v1": 3}


def first_of(world: World, name: str, target: str, **plan: Any) -> None:
    world.apply(APP_ROLLOUTS, name, {"targetAppRevisionName": target, "rolloutPlan": {"targetSize": 3, **plan}})


def ended(world: World, name: str) -> tuple[str, str]:
    status = world.status(APP_ROLLOUTS, name)
    found = (each.get("message", "") for each in status["conditions"] if each["type"] == "TargetAppLocating")
    return status["rollingState"], next(found)


BESIDE = "whose pods would stay beside those of this rollout: let it end, or delete it first"


def test_a_rollout_that_is_about_to_give_pods_gets_none_of_another_revision_beside_them() -> None:
    """`r` has claimed its workload, and is paused before its first pod."""
    world = kept("web:1", "web:2")
    first_of(world, "r", "shop-v1", paused=True)
    world.play()
    assert sizes(world) == {"web-v1": 0}
    first_of(world, "s", "shop-v2")
    world.play()

    said = f"the AppRollout r is at work on the Deployment web-v1 of the same component, {BESIDE}"
    assert ended(world, "s") == ("rolloutFailed", said)
    assert sizes(world) == {"web-v1": 0}, "none is made"

    world.change(APP_ROLLOUTS, "r", rolloutPlan={"paused": False})
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 3})


@pytest.mark.parametrize("first", ["r", "s"])
def test_of_two_rollouts_that_begin_together_one_gives_way(first: str) -> None:
    """Neither saw the other before both had located their targets: the older one, `r`, waits for what `s` does."""
    world = kept("web:1", "web:2")
    first_of(world, "r", "shop-v1")
    world.apply(APP_ROLLOUTS, "r", creationTimestamp="2026-03-01T11:00:00Z")
    found = unseen(world)
    first_of(world, "s", "shop-v2")
    world.apply(APP_ROLLOUTS, "s", creationTimestamp="2026-03-01T11:00:01Z")
    unseen(world)
    world.objects |= found

    world.run(APP_ROLLOUTS, first)
    world.play()

    assert [ended(world, each)[0] for each in ("r", "s")] == ["rolloutSucceed", "rolloutFailed"]
    assert sizes(world) == {"web-v1": 3, "web-v2": 0}


def unseen(world: World) -> dict[tuple[Resource, str], Json]:
    """The one AppRollout has located its target, and is taken out of the world for a while."""
    (name,) = world.names(APP_ROLLOUTS)
    while world.status(APP_ROLLOUTS, name).get("lastTargetRef", {}).get("kind") != "Deployment":
        world.run(APP_ROLLOUTS, name)
        for each in world.names(COMPONENTS):
            world.run(COMPONENTS, each)
    key = (APP_ROLLOUTS, name)
    return {key: world.objects.pop(key)} if name == "r" else {}


def test_without_a_source_pods_are_taken_from_where_they_are() -> None:
    """`s` has taken the pods from `web-v1` to `web-v2`, of which `r` knows nothing."""
    world = running()
    spec = {"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": PLAN}
    world.apply(APP_ROLLOUTS, "s", spec)
    world.play()
    revised(world, component("web:3"))
    rolled(world, "shop-v3")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 0, "web-v3": 3})
    assert world.status(APP_ROLLOUTS, "r")["LastSourceAppRevision"] == "shop-v2", "which `fairlead undo` goes back to"


def test_where_no_revision_tells_where_the_pods_were_none_is_said() -> None:
    world = taken_on()
    revised(world, component("web:3"))
    del world.objects[APPLICATION_REVISIONS, "shop-v2"]
    rolled(world, "shop-v3")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 0, "web-v3": 3})
    assert "LastSourceAppRevision" not in world.status(APP_ROLLOUTS, "r")


def test_a_target_that_was_only_looked_for_is_no_place_where_pods_come_from() -> None:
    world = running()
    revised(world, component("web:3"))
    rolled(world, "shop-v2")
    for _ in range(3):
        world.run(APP_ROLLOUTS, "r")
    assert state(world) == "locatingTargetApp"
    rolled(world, "shop-v3")
    world.play()

    assert (state(world), sizes(world)["web-v1"], sizes(world)["web-v3"]) == ("rolloutSucceed", 0, 3)


def test_pods_of_two_revisions_that_are_neither_target_nor_source_are_not_left_beside_the_new_ones() -> None:
    """`s` was aborted half way, and nobody says which of both `r` is to come from."""
    world = running()
    revised(world, component("web:3"))
    spec = {"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": PLAN}
    world.apply(APP_ROLLOUTS, "s", {**spec, "rolloutPlan": {**PLAN, "batchPartition": 0}})
    world.play()
    world.apply(APP_ROLLOUTS, "s", annotations={"fairlead.dev/rollout-action": "abort@2026-03-01T12:00:00Z"})
    world.play()
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}
    rolled(world, "shop-v3", "shop-v2")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutFailed", {"web-v1": 2, "web-v2": 1})
    said = world.condition(APP_ROLLOUTS, "r", "TargetAppLocating")[1]
    assert said == (
        "the Deployment web-v1 of web-v1 has pods of the component web and is neither target nor source: name its "
        "revision as the source, or take its pods away first"
    )


@pytest.mark.parametrize("place", ["beside the plan", "in the plan"])
def test_deleted_with_a_revert_it_goes_back(place: str) -> None:
    world = running()
    gated(world, **({"revertOnDelete": True} if place == "in the plan" else {}))
    if place == "beside the plan":
        world.change(APP_ROLLOUTS, "r", revertOnDelete=True)
    world.delete(APP_ROLLOUTS, "r")
    world.play()

    assert not world.has(APP_ROLLOUTS, "r")
    assert sizes(world) == {"web-v1": 3, "web-v2": 0}


@pytest.mark.parametrize("strategy", ["IncreaseFirst", "DecreaseFirst"])
def test_the_new_pods_stay_where_the_old_ones_cannot_come_back(strategy: str) -> None:
    """Somebody deleted the source: without its Deployment no pods would be left at all."""
    world = running()
    gated(world, revertOnDelete=True, rolloutStrategy=strategy)
    del world.objects[DEPLOYMENTS, "web-v1"]
    world.delete(APP_ROLLOUTS, "r")
    world.play()

    assert not world.has(APP_ROLLOUTS, "r")
    assert sizes(world) == {"web-v2": 1}
    (said,) = (each for each in world.told if each.reason == "Rollout Reverted")
    assert said.warning
    assert said.text == "incomplete: the Deployment web-v1 is not there, so the pods of the Deployment web-v2 stay"


def test_deleted_without_a_revert_everything_stays_as_it_is() -> None:
    world = running()
    gated(world)
    world.delete(APP_ROLLOUTS, "r")
    world.play()

    assert not world.has(APP_ROLLOUTS, "r")
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}
    assert world.owners(DEPLOYMENTS, "web-v1") == world.owners(DEPLOYMENTS, "web-v2") == ["shop"]


@pytest.mark.parametrize(
    ("action", "ends", "after"),
    [
        ("abort", "rolloutFailed", {"web-v1": 2, "web-v2": 1}),
        ("revert", "rolloutFailed", {"web-v1": 3, "web-v2": 0}),
    ],
)
def test_what_a_person_asks_for_is_done(action: str, ends: str, after: dict[str, int]) -> None:
    world = running()
    gated(world)
    world.apply(APP_ROLLOUTS, "r", annotations={"fairlead.dev/rollout-action": f"{action}@2026-03-01T12:00:00Z"})
    world.play()

    assert (state(world), sizes(world)) == (ends, after)

    world.apply(APP_ROLLOUTS, "r", annotations={"fairlead.dev/rollout-action": "retry@2026-03-01T13:00:00Z"})
    world.change(APP_ROLLOUTS, "r", rolloutPlan={"batchPartition": 1})
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 3})


def test_what_is_updated_in_place_is_frozen_rolled_and_taken_back() -> None:
    world = running(kind="clonesetservice")
    before = world.get(CLONE_SETS, "web")
    rolled(world, "shop-v2", "shop-v1", plan={**PLAN, "batchPartition": 0, "revertOnDelete": True})
    until(world, "verifyingSpec")
    frozen = world.get(CLONE_SETS, "web")

    assert frozen["spec"]["updateStrategy"]["paused"] is True
    assert frozen["spec"]["replicas"] == before["spec"]["replicas"] == 3
    assert frozen["metadata"]["labels"]["app.oam.dev/revision"] == "web-v2"

    until(world, "rollingInBatches", "batchReady")
    world.delete(APP_ROLLOUTS, "r")
    world.play()

    assert not world.has(APP_ROLLOUTS, "r")
    assert world.get(CLONE_SETS, "web")["spec"]["template"] == before["spec"]["template"]


def test_new_pods_that_nobody_takes_back_are_not_called_as_they_were_before() -> None:
    """Only the component revision tells what the pods were, and somebody deleted it."""
    world = running(kind="clonesetservice")
    rolled(world, "shop-v2", "shop-v1", plan={**PLAN, "batchPartition": 0, "revertOnDelete": True})
    until(world, "rollingInBatches", "batchReady")
    del world.objects[CONTROLLER_REVISIONS, "web-v1"]
    world.delete(APP_ROLLOUTS, "r")
    world.play()

    assert not world.has(APP_ROLLOUTS, "r")
    (said,) = (each for each in world.told if each.reason == "Rollout Reverted")
    assert (said.warning, said.text) == (
        True,
        (
            "incomplete: the ControllerRevision web-v1 is gone or takes parameters, so that the pod template of before "
            "is not known: 1 pod of the CloneSet web stays new, put the template back to have it replaced"
        ),
    )
    live = world.get(CLONE_SETS, "web")
    assert live["spec"]["updateStrategy"]["partition"] == 3, "no more pods become new"
    assert world.controller(CLONE_SETS, "web") == ""


def test_what_another_rollout_holds_in_place_is_never_taken_for_the_target() -> None:
    """Otherwise `s` would verify, and roll, what `r` left there when it was aborted."""
    world = running(kind="clonesetservice")
    revised(world, component("web:3", kind="clonesetservice"))
    rolled(world, "shop-v2", "shop-v1", plan={**PLAN, "batchPartition": 0})
    until(world, "rollingInBatches", "batchReady")
    spec = {"targetAppRevisionName": "shop-v3", "sourceAppRevisionName": "shop-v2", "rolloutPlan": PLAN}
    world.apply(APP_ROLLOUTS, "s", spec)
    for _ in range(12):
        world.run(COMPONENTS, "web")
        world.run(APP_ROLLOUTS, "s")
        if world.status(APP_ROLLOUTS, "s").get("rollingState", "") not in ("", "locatingTargetApp"):
            break
    world.apply(APP_ROLLOUTS, "r", annotations={"fairlead.dev/rollout-action": "abort@2026-03-01T12:00:00Z"})
    for _ in range(4):
        world.run(APP_ROLLOUTS, "r")
    world.play()

    assert world.get(CLONE_SETS, "web")["metadata"]["labels"]["app.oam.dev/revision"] == "web-v2"
    assert world.status(APP_ROLLOUTS, "s")["rollingState"] == "rolloutFailed"
    said = world.condition(APP_ROLLOUTS, "s", "TargetAppLocating")[1]
    assert said == "the CloneSet web has a controller owner AppRollout r"


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


def taken_on() -> World:
    """`r` brought `web-v1`, and `s` took its pods to `web-v2`."""
    world = running()
    spec = {"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": PLAN}
    world.apply(APP_ROLLOUTS, "s", spec)
    world.play()
    assert sizes(world) == {"web-v1": 0, "web-v2": 3}
    return world


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


CART = component("web:1", name="web")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"targetAppRevisionName": ""}, "targetAppRevisionName is empty: name the ApplicationRevision to go to"),
        (
            {"sourceAppRevisionName": "shop-v2"},
            "the ApplicationRevision shop-v2 is both target and source: name another",
        ),
        (
            {"sourceAppRevisionName": "cart-v1"},
            (
                "the ApplicationRevision shop-v2 is of the Application shop, and cart-v1 of cart: name two of one "
                "Application"
            ),
        ),
        ({"componentList": ["db"]}, "the component db is not in the ApplicationRevisions shop-v2 and shop-v1"),
        (
            {"componentList": ["web", "db"]},
            "componentList names several components, and one is rolled at a time: name one",
        ),
        (
            {"targetAppRevisionName": "shop-v3"},
            "the component web is the same in the ApplicationRevisions shop-v3 and shop-v1: there is nothing to roll",
        ),
        (
            {"targetAppRevisionName": "shop-v4"},
            (
                "the ApplicationRevision shop-v4 holds no Component web with a workload: change its Application to "
                "have another"
            ),
        ),
        (
            {"targetAppRevisionName": "shop-v5"},
            (
                "the ApplicationRevision shop-v5 holds no Application with components: change its Application to "
                "have another"
            ),
        ),
        (
            {"targetAppRevisionName": "odd"},
            "the ApplicationRevision odd does not say which Application it is of: give it the label app.oam.dev/name",
        ),
        (
            {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2"},
            (
                "no revision of the component web holds what the ApplicationRevision shop-v2 describes, so that none "
                "of its pods are here: leave sourceAppRevisionName out"
            ),
        ),
        ({"targetAppRevisionName": 7}, "spec.targetAppRevisionName: Invalid value: 7: must be a text"),
    ],
)
def test_what_can_never_be_rolled_is_refused_in_a_sentence(spec: Json, said: str) -> None:
    world = running()
    revised(world, CART, name="cart")
    shop = world.get(APPLICATION_REVISIONS, "shop-v1")["spec"]
    label = {"app.oam.dev/name": "shop"}
    world.apply(APPLICATION_REVISIONS, "shop-v3", shop, labels=label)
    world.apply(APPLICATION_REVISIONS, "shop-v4", {**shop, "components": [{"raw": 3}, 4]}, labels=label)
    world.apply(APPLICATION_REVISIONS, "shop-v5", {"application": "rubbish"}, labels=label)
    world.apply(APPLICATION_REVISIONS, "odd", {"application": {"spec": shop["application"]["spec"]}})
    before = outside(world)
    given = {"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": PLAN, **spec}
    world.apply(APP_ROLLOUTS, "s", {key: value for key, value in given.items() if value is not None})
    world.play()

    assert world.status(APP_ROLLOUTS, "s")["rollingState"] == "rolloutFailed"
    assert world.condition(APP_ROLLOUTS, "s", "TargetAppLocating") == ("False", said)
    del world.objects[APP_ROLLOUTS, "s"]
    assert outside(world) == before, "nothing else was written"


NEVER = (
    "and never comes back, because the Application shop is at number 2: name another, or apply the Application as it "
    "was then and name the revision that is made of it"
)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            ("shop-v3", "shop-v1"),
            "the ApplicationRevision shop-v3 is not there: it is made when its Application changes",
        ),
        (("shop-v2", "shop-v1"), f"the ApplicationRevision shop-v1 is not there, {NEVER}"),
        (
            ("shop-v2", "cart-v1"),
            (
                "the ApplicationRevision cart-v1 is not there, and neither is the Application cart that it would be "
                "made of"
            ),
        ),
        (
            ("shop-v2", "shop"),
            (
                "the ApplicationRevision shop is not there, and none is made under that name: those of an Application "
                "are called <application>-v<N>"
            ),
        ),
    ],
)
def test_a_revision_that_is_not_there_is_waited_for_with_its_true_cause(names: tuple[str, str], said: str) -> None:
    world = running()
    before = sizes(world)
    del world.objects[APPLICATION_REVISIONS, "shop-v1"]
    rolled(world, *names)
    for _ in range(4):
        world.run(APP_ROLLOUTS, "r")

    assert state(world) == "locatingTargetApp"
    assert world.condition(APP_ROLLOUTS, "r", "TargetAppLocating") == ("False", said)
    assert sizes(world) == before


def test_an_application_that_is_not_kept_as_revisions_is_named() -> None:
    world = running()
    world.apply(APPLICATIONS, "shop", annotations={})
    world.play()
    rolled(world, "shop-v3", "shop-v1")
    for _ in range(4):
        world.run(APP_ROLLOUTS, "r")

    assert world.condition(APP_ROLLOUTS, "r", "TargetAppLocating")[1] == (
        "the ApplicationRevision shop-v3 is not there: annotate the Application shop with "
        'app.oam.dev/revision-only: "true" to have revisions of it'
    )


@pytest.mark.parametrize("is_first", [True, False], ids=["the first", "another"])
def test_what_the_api_server_refuses_is_told_and_tried_again(is_first: bool) -> None:
    """A policy of the cluster refuses the Deployment until somebody lifts it."""
    world = kept("web:1") if is_first else running()
    world.refuses = lambda resource, _: resource == DEPLOYMENTS
    target, source = ("shop-v1", "") if is_first else ("shop-v2", "shop-v1")
    rolled(world, target, source, plan={"targetSize": 3})
    for _ in range(6):
        world.round()

    made = "web-v1" if is_first else "web-v2"
    assert state(world) == "locatingTargetApp"
    assert world.condition(APP_ROLLOUTS, "r", "TargetAppLocating") == (
        "False",
        f"Deployment {made} was refused: it asks for it",
    )
    assert not world.has(DEPLOYMENTS, made)

    world.refuses = lambda _resource, _name: False
    world.play()

    assert state(world) == "rolloutSucceed"
    assert sizes(world)[made] == 3


def test_several_common_components_need_a_choice() -> None:
    world = World()
    both = [component("web:1"), component("db:1", name="db", kind="worker")]
    revised(world, *both)
    rolled(world, "shop-v1", plan={"targetSize": 1})
    world.play()

    said = world.condition(APP_ROLLOUTS, "r", "TargetAppLocating")[1]
    assert said == "the ApplicationRevision shop-v1 has the components web, db: name one in componentList"

    rolled(world, "shop-v1", plan={"targetSize": 1}, componentList=["db"])
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"db-v1": 1})


def test_applications_of_a_newer_release_are_waited_for() -> None:
    world = running()
    world.versions["applications.core.oam.dev"] = ("v1alpha2", "v1beta1")
    rolled(world, "shop-v2", "shop-v1")
    for _ in range(3):
        world.round()

    assert "has the version v1beta1" in world.condition(APP_ROLLOUTS, "r", "TargetAppLocating")[1]
    assert sizes(world) == {"web-v1": 3}


def test_a_process_that_dies_after_every_write_comes_to_the_same_end() -> None:
    for kind, resource in (("webservice", DEPLOYMENTS), ("clonesetservice", CLONE_SETS)):
        world, other = running(kind=kind), running(kind=kind)
        rolled(other, "shop-v2", "shop-v1")
        other.play()
        rolled(world, "shop-v2", "shop-v1")
        lives = lived(world)

        assert lives > 5
        assert state(world) == "rolloutSucceed"
        assert outside(world).keys() == outside(other).keys()
        for name in world.names(resource):
            assert world.get(resource, name)["spec"] == other.get(resource, name)["spec"]


def test_the_revisions_that_a_rollout_names_are_not_forgotten() -> None:
    world = kept("web:1", settings=PlanSettings(application_revision_limit=1, revision_limit=1))
    rolled(world, "shop-v1", plan={"targetSize": 1})
    world.play()
    for image in ("web:2", "web:3", "web:4"):
        revised(world, component(image))

    assert world.names(APPLICATION_REVISIONS) == ["shop-v1", "shop-v4"]
    assert world.names(CONTROLLER_REVISIONS) == ["web-v1"]


@given(
    spec=st.dictionaries(
        st.sampled_from(["targetAppRevisionName", "sourceAppRevisionName", "componentList", "rolloutPlan"]),
        ODD | st.just("shop-v1"),
    ),
    status=st.dictionaries(
        st.sampled_from(["rollingState", "lastTargetAppRevision", "LastSourceAppRevision", "lastTargetRef", "sources"]),
        ODD | st.just("locatingTargetApp"),
    ),
    snapshot=st.dictionaries(st.sampled_from(["application", "components"]), ODD),
)
def test_nothing_that_anybody_may_write_is_a_crash(spec: Json, status: Json, snapshot: Json) -> None:
    world = World()
    world.apply(APPLICATION_REVISIONS, "shop-v1", snapshot, labels={"app.oam.dev/name": "shop"})
    world.apply(APP_ROLLOUTS, "r", spec)
    world.objects[APP_ROLLOUTS, "r"]["status"] = status
    for _ in range(5):
        world.run(APP_ROLLOUTS, "r")
