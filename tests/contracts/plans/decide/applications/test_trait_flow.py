"""A RolloutTrait of an ApplicationConfiguration brings each revision of its component (T-2 to T-5)."""

from __future__ import annotations

from functools import cache

import pytest

from fairlead.contracts.plans.kinds import (
    APPLICATIONS,
    CLONE_SETS,
    COMPONENTS,
    CONFIGURATIONS,
    ROLLOUT_TRAITS,
    Json,
)
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS
from tests.contracts.plans.decide.applications.trait_rollouts import (
    PLAN,
    ROLLOUT,
    gated,
    rolled,
    sizes,
    state,
    workload,
)
from tests.contracts.plans.decide.applications.world import Died, World, an_application, component, outside


def test_the_first_revision_is_made_without_pods_and_scaled_by_its_rollout() -> None:
    world = World()
    made: list[Json] = []
    world.watchers.append(lambda each: made.extend(each.objects[key] for key in each.objects if key[0] == DEPLOYMENTS))
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", ROLLOUT, replicas=9)))
    world.play()

    first = made[0]
    assert (first["spec"]["replicas"], first["spec"]["paused"]) == (0, True)
    assert first["metadata"]["name"] == "web-v1"
    assert [each.get("controller") for each in first["metadata"]["ownerReferences"]] == [False]
    assert first["spec"]["selector"]["matchLabels"]["app.oam.dev/revision"] == "web-v1"
    trait = world.get(ROLLOUT_TRAITS, "web")
    assert trait["spec"]["targetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web-v1"}
    assert "sourceRef" not in trait["spec"]
    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 3})
    assert world.controller(DEPLOYMENTS, "web-v1") == "shop-v1"


def test_the_next_revision_is_rolled_from_the_one_before() -> None:
    world = rolled()
    seen: list[dict[str, int]] = []
    world.watchers.append(lambda each: seen.append(sizes(each)))

    world.apply(APPLICATIONS, "shop", an_application(component("web:2", ROLLOUT)))
    world.play()

    trait = world.get(ROLLOUT_TRAITS, "web")["spec"]
    assert trait["targetRef"]["name"] == "web-v2"
    assert [each["name"] for each in trait["sourceRef"]] == ["web-v1"]
    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 3})
    assert all(sum(each.values()) >= 3 for each in seen)
    history = world.status(CONFIGURATIONS, "shop-v2")["historyWorkloads"]
    assert [each["workloadRef"]["name"] for each in history] == ["web-v1"]
    assert world.controller(DEPLOYMENTS, "web-v2") == "shop-v2"


def test_sources_are_set_aside_before_the_rollout_is_written() -> None:
    """The AC of a hand-written configuration stays the same: its own flag on the source goes first (T-3)."""
    world = World()
    world.apply(COMPONENTS, "web", workload("a"))
    trait = {"apiVersion": "standard.oam.dev/v1alpha1", "kind": "RolloutTrait", "spec": {"rolloutPlan": PLAN}}
    world.apply(CONFIGURATIONS, "mine", {"components": [{"componentName": "web", "traits": [{"trait": trait}]}]})
    world.play()
    assert world.controller(DEPLOYMENTS, "web-v1") == "mine"
    flags: list[str] = []
    world.watchers.append(
        lambda each: (
            flags.append(each.controller(DEPLOYMENTS, "web-v1"))
            if each.get(ROLLOUT_TRAITS, "web")["spec"]["targetRef"]["name"] == "web-v2"
            else None
        )
    )

    world.apply(COMPONENTS, "web", workload("b"))
    world.play()

    assert flags[0] == ""
    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 3})


def test_a_component_that_had_no_rollout_is_rolled_from_where_it_was() -> None:
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", replicas=3)))
    world.play()

    world.apply(APPLICATIONS, "shop", an_application(component("web:2", ROLLOUT)))
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web": 0, "web-v2": 3})


def test_another_revision_in_mid_rollout_turns_to_it() -> None:
    world = rolled()
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", {**ROLLOUT, "properties": gated()})))
    world.play()
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}

    world.apply(APPLICATIONS, "shop", an_application(component("web:3", ROLLOUT)))
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 0, "web-v3": 3})


@pytest.mark.parametrize("is_gone", [False, True], ids=["there", "deleted"])
def test_a_revert_after_all_pods_moved_twice_leaves_none_out(is_gone: bool) -> None:
    """The first workload has no pods any more when the third takes them from the second."""
    world = rolled()
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", ROLLOUT)))
    for _ in range(100):
        world.round()
        world.settle()
        if world.has(DEPLOYMENTS, "web-v2") and sizes(world) == {"web-v1": 0, "web-v2": 3}:
            break
    assert state(world) != "rolloutSucceed"
    world.apply(APPLICATIONS, "shop", an_application(component("web:3", {**ROLLOUT, "properties": gated()})))
    world.play()
    assert sizes(world) == {"web-v1": 0, "web-v2": 2, "web-v3": 1}
    if is_gone:
        del world.objects[DEPLOYMENTS, "web-v1"]
    seen: list[int] = []
    world.watchers.append(lambda each: seen.append(sum(sizes(each).values())))
    world.apply(ROLLOUT_TRAITS, "web", annotations={"fairlead.dev/rollout-action": "revert@2026-03-01T12:00:00Z"})
    world.play()

    kept = {"web-v2": 2, "web-v3": 1} if is_gone else {"web-v1": 3, "web-v2": 0, "web-v3": 0}
    assert (state(world), sizes(world)) == ("rolloutFailed", kept)
    assert min(seen) >= 3


def test_raising_the_partition_in_the_application_opens_the_gate_and_restarts_nothing() -> None:
    world = rolled()
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", {**ROLLOUT, "properties": gated()})))
    world.play()

    world.apply(APPLICATIONS, "shop", an_application(component("web:2", ROLLOUT)))
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 3})
    assert "Rollout Restarted" not in [each.reason for each in world.told][-8:]


def test_a_changed_clone_set_is_paused_in_the_write_of_its_template() -> None:
    """Its pods are old until its rollout says otherwise (T-2)."""
    world = World()
    clones = component("web:1", ROLLOUT, kind="clonesetservice", replicas=4)
    world.apply(APPLICATIONS, "shop", an_application(clones))
    world.play()
    assert world.names(CLONE_SETS) == ["web"]
    world.change(CLONE_SETS, "web", replicas=6, updateStrategy={"paused": False})
    seen: list[Json] = []
    world.watchers.append(lambda each: seen.append(each.get(CLONE_SETS, "web")["spec"]))

    clones = component("web:2", ROLLOUT, kind="clonesetservice", replicas=4)
    world.apply(APPLICATIONS, "shop", an_application(clones))
    for _ in range(6):
        for resource in (APPLICATIONS, COMPONENTS, CONFIGURATIONS):
            for name in world.names(resource):
                world.run(resource, name)

    new = [each for each in seen if each["template"]["spec"]["containers"][0]["image"] == "web:2"]
    assert all(each["updateStrategy"]["paused"] is True for each in new)
    assert {each["replicas"] for each in new} == {6}
    target = world.get(ROLLOUT_TRAITS, "web")["spec"]
    assert (target["targetRef"]["kind"], target["targetRef"]["name"]) == ("ControllerRevision", "web-v2")
    assert [each["name"] for each in target["sourceRef"]] == ["web-v1"]


def test_a_clone_set_is_rolled_from_revision_to_revision() -> None:
    """T-6: its RolloutTrait names component revisions, which both mean the one CloneSet."""
    world = World()
    for image, word in (("web:1", "Scale"), ("web:2", "Rollout"), ("web:3", "Rollout")):
        clones = component(image, ROLLOUT, kind="clonesetservice")
        world.apply(APPLICATIONS, "shop", an_application(clones))
        world.play()
        assert (state(world), world.names(CLONE_SETS)) == ("rolloutSucceed", ["web"])
        assert f"{word} Finalized" in [each.reason for each in world.told][-2:]

    spec = world.get(CLONE_SETS, "web")["spec"]
    assert (spec["replicas"], spec["updateStrategy"]["partition"]) == (3, 0)
    assert spec["template"]["spec"]["containers"][0]["image"] == "web:3"
    assert world.controller(CLONE_SETS, "web") == "shop-v3"
    target = world.get(ROLLOUT_TRAITS, "web")["spec"]
    assert (target["targetRef"]["name"], target["sourceRef"][0]["name"]) == ("web-v3", "web-v2")


def test_a_changed_stateful_set_keeps_every_pod_old_in_the_write_of_its_template() -> None:
    world = World()
    world.apply(COMPONENTS, "db", _stateful("a"))
    trait = {"apiVersion": "standard.oam.dev/v1alpha1", "kind": "RolloutTrait", "spec": {"rolloutPlan": PLAN}}
    world.apply(CONFIGURATIONS, "mine", {"components": [{"componentName": "db", "traits": [{"trait": trait}]}]})
    for _ in range(4):
        world.run(COMPONENTS, "db")
        world.run(CONFIGURATIONS, "mine")
    world.change(STATEFULSETS, "db", replicas=5)

    world.apply(COMPONENTS, "db", _stateful("b"))
    world.delete(ROLLOUT_TRAITS, "db")
    seen: list[Json] = []
    world.watchers.append(lambda each: seen.append(each.get(STATEFULSETS, "db")["spec"]))
    for _ in range(4):
        world.run(COMPONENTS, "db")
        world.run(CONFIGURATIONS, "mine")

    new = [each for each in seen if each["template"]["spec"]["containers"][0]["image"] == "b"]
    assert {each["updateStrategy"]["rollingUpdate"]["partition"] for each in new} == {5}
    assert {each["replicas"] for each in new} == {5}


def _stateful(image: str) -> Json:
    found = workload(image)
    return {"workload": {**found["workload"], "kind": "StatefulSet"}}


def test_a_scaler_beside_a_rollout_is_refused_without_webhooks_too() -> None:
    world = World()
    scaler = {"name": "scaler", "properties": {"replicas": 2}}
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", ROLLOUT, scaler)))
    world.play()

    assert world.condition(CONFIGURATIONS, "shop-v1", "Synced")[1] == (
        "the traits rollout and scaler of the component web conflict: rollout is not to be combined with scaler"
    )
    assert world.names(DEPLOYMENTS) == []


@cache
def rolled_on() -> World:
    """To the next image, by processes that all lived."""
    world = rolled()
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", ROLLOUT)))
    world.play()
    return world


@pytest.mark.parametrize("number", range(0, 60, 3))
def test_a_crash_at_any_write_ends_in_the_same_state(number: int) -> None:
    broken = rolled()
    broken.apply(APPLICATIONS, "shop", an_application(component("web:2", ROLLOUT)))

    broken.writes_left = number
    try:
        broken.play()
    except Died:
        broken.writes_left = None
        broken.play()

    assert _pods(broken) == _pods(rolled_on())


def _pods(world: World) -> Json:
    """Without statuses of rollouts, which hold times."""
    return {key: value[:3] for key, value in outside(world).items()}
