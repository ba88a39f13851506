"""AppRollouts (B-1 to B-4): from one ApplicationRevision to another, and back."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_REVISIONS,
    CLONE_SETS,
    COMPONENTS,
    CONFIGURATIONS,
    Json,
)
from kubeloop.objects.apps import CONTROLLER_REVISIONS, DEPLOYMENTS
from kubeloop.objects.meta import Resource
from tests.contracts.plans.decide.applications.app_rollouts import (
    PLAN,
    gated,
    kept,
    revised,
    rolled,
    running,
    state,
    taken_on,
    until,
)
from tests.contracts.plans.decide.applications.test_revision_rollouts import sizes
from tests.contracts.plans.decide.applications.world import World, component


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
