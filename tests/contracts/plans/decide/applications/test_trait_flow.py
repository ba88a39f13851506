"""A RolloutTrait of an ApplicationConfiguration brings each revision of its component (T-2 to T-5)."""

from __future__ import annotations

from functools import cache

import pytest

from fairlead.contracts.plans.kinds import (
    APPLICATIONS,
    AUTOSCALERS,
    CLONE_SETS,
    COMPONENTS,
    CONFIGURATIONS,
    ROLLOUT_TRAITS,
    Json,
)
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS
from tests.contracts.plans.decide.applications.world import Died, World, an_application, component, outside

PLAN: Json = {"rolloutBatches": [{"replicas": 1}, {}], "targetSize": 3}
ROLLOUT: Json = {"name": "rollout", "properties": PLAN}


def rolled(image: str = "web:1") -> World:
    return _rolled(image).copied()


@cache
def _rolled(image: str) -> World:
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component(image, ROLLOUT)))
    world.play()
    return world


def sizes(world: World) -> dict[str, int]:
    return {each: world.size(each) for each in world.names(DEPLOYMENTS)}


def state(world: World) -> str:
    found: str = world.status(ROLLOUT_TRAITS, "web")["rollingState"]
    return found


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
    world.apply(COMPONENTS, "web", _workload("a"))
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

    world.apply(COMPONENTS, "web", _workload("b"))
    world.play()

    assert flags[0] == ""
    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 3})


def _workload(image: str) -> Json:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"workload": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}}


def test_a_component_that_had_no_rollout_is_rolled_from_where_it_was() -> None:
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", replicas=3)))
    world.play()

    world.apply(APPLICATIONS, "shop", an_application(component("web:2", ROLLOUT)))
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web": 0, "web-v2": 3})


def test_a_rollout_that_was_taken_off_leaves_the_workload_where_it_is() -> None:
    world = rolled()

    world.apply(APPLICATIONS, "shop", an_application(component("web:2")))
    world.play()

    assert world.names(ROLLOUT_TRAITS) == []
    assert sizes(world) == {"web-v1": 3}
    pods = world.get(DEPLOYMENTS, "web-v1")["spec"]["template"]
    assert pods["spec"]["containers"][0]["image"] == "web:2"
    assert pods["metadata"]["labels"]["app.oam.dev/revision"] == "web-v1"


def test_another_revision_in_mid_rollout_turns_to_it() -> None:
    world = rolled()
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", {**ROLLOUT, "properties": _gated()})))
    world.play()
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}

    world.apply(APPLICATIONS, "shop", an_application(component("web:3", ROLLOUT)))
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 0, "web-v3": 3})


def half_way() -> World:
    """`web-v2` waits at the gate after its first batch, and then its trait is taken off."""
    world = rolled()
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", {**ROLLOUT, "properties": _gated()})))
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
    world.apply(COMPONENTS, "web", _workload(image))
    kind = {"apiVersion": "standard.oam.dev/v1alpha1", "kind": "RolloutTrait"}
    traits = [{"trait": {**kind, "metadata": {"name": each}, "spec": {"rolloutPlan": plan}}} for each in names]
    world.apply(CONFIGURATIONS, "mine", {"components": [{"componentName": "web", "traits": traits}]})
    world.play()


def told(world: World, *names: str) -> list[str]:
    return [world.status(ROLLOUT_TRAITS, each)["rollingState"] for each in names]


def test_a_rollout_under_another_name_waits_for_the_one_at_work() -> None:
    world = World()
    hand_written(world, "a", "one")
    hand_written(world, "b", "one", plan=_gated())
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
    hand_written(world, "b", "one", plan=_gated())
    world.apply(ROLLOUT_TRAITS, "one", annotations={"fairlead.dev/rollout-action": "abort@2026-03-01T12:00:00Z"})
    world.play()
    hand_written(world, "c", "other", plan=_gated())
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
    hand_written(world, "b", "web", plan=_gated())
    hand_written(world, "b")
    world.apply(ROLLOUT_TRAITS, "web", annotations={"fairlead.dev/rollout-action": "abort@2026-03-01T12:00:00Z"})
    world.play()
    world.delete(ROLLOUT_TRAITS, "web")
    world.play()
    assert (world.names(ROLLOUT_TRAITS), sizes(world)) == ([], {"web-v1": 2, "web-v2": 1})

    hand_written(world, "b", "web")

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 0, "web-v2": 3})


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
    world.apply(APPLICATIONS, "shop", an_application(component("web:3", {**ROLLOUT, "properties": _gated()})))
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
    for image, plan in (("a", PLAN), ("b", _gated())):
        trait = {"apiVersion": "standard.oam.dev/v1alpha1", "kind": "RolloutTrait", "spec": {"rolloutPlan": plan}}
        world.apply(COMPONENTS, "web", _workload(image))
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


def _gated() -> Json:
    return {**PLAN, "lastBatchToRollout": 0}


def test_raising_the_partition_in_the_application_opens_the_gate_and_restarts_nothing() -> None:
    world = rolled()
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", {**ROLLOUT, "properties": _gated()})))
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
    found = _workload(image)
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
