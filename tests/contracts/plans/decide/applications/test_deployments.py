"""ApplicationDeployments (D-1 to D-10, V-5): from one Application to another, and back."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest

from fairlead.contracts.plans.kinds import (
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    AUTOSCALERS,
    CONFIGURATIONS,
    Json,
)
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import SERVICES
from tests.contracts.plans.decide.applications.world import Died, World, an_application, component, lived, outside

PLAN: Json = {"rolloutBatches": [{"replicas": 1}, {}]}
EXPOSE: Json = {"name": "expose", "properties": {"port": [80]}}
HPA: Json = {"name": "hpa", "properties": {"min": 2, "max": 9}}
TEMPLATE = {"app.oam.dev/rollout-template": "true"}
KEPT = {"app.oam.dev/revision-only": "true"}
INACTIVE = "app.oam.dev/app-revision"


def old_and_new(*traits: Json, old: tuple[Json, ...] | None = None) -> World:
    """`shop` with three pods, and `shop-next` that waits for its rollout."""
    return _old_and_new(msgspec.json.encode(traits), msgspec.json.encode(traits if old is None else old)).copied()


@cache
def _old_and_new(traits: bytes, old: bytes) -> World:
    """Played once for all tests that begin with the same."""
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", *msgspec.json.decode(old), replicas=3)))
    world.play()
    new = an_application(component("web:2", *msgspec.json.decode(traits)))
    world.apply(APPLICATIONS, "shop-next", new, annotations=TEMPLATE)
    world.play()
    return world


def deploy(world: World, target: str = "shop-next", source: str = "shop", **fields: Any) -> None:
    plan = fields.pop("plan", PLAN)
    spec = {"targetApplicationName": target, "sourceApplicationName": source, "rolloutPlan": plan, **fields}
    world.apply(APPLICATION_DEPLOYMENTS, "d", {key: value for key, value in spec.items() if value != ""})


def state(world: World) -> str:
    found: str = world.status(APPLICATION_DEPLOYMENTS, "d").get("rollingState", "")
    return found


def sizes(world: World) -> dict[str, int]:
    return {each: world.size(each) for each in world.names(DEPLOYMENTS)}


def until(world: World, wanted: str, batch: str = "", most: int = 200) -> None:
    for _ in range(most):
        status = world.status(APPLICATION_DEPLOYMENTS, "d")
        if status.get("rollingState") == wanted and batch in ("", status.get("batchRollingState")):
            return
        world.round()
        world.settle()
    raise AssertionError(f"never came to {wanted}: {world.status(APPLICATION_DEPLOYMENTS, 'd')}")


def test_an_application_that_waits_for_its_rollout_is_not_rendered() -> None:
    world = old_and_new()

    assert world.names(CONFIGURATIONS) == ["shop-v1"]
    status = world.status(APPLICATIONS, "shop-next")
    assert status["status"] == "rollingOut"
    assert world.condition(APPLICATIONS, "shop-next", "Rolling")[0] == "True"


def test_control_is_handed_over_exactly_once_and_the_target_is_prepared() -> None:
    world = old_and_new()
    adopted: list[list[str]] = []
    templates: list[bool] = []

    def look(each: World) -> None:
        adopted.append(each.owners(APPLICATIONS, "shop-next"))
        templates.append("app.oam.dev/rollout-template" in each.annotations(APPLICATIONS, "shop-next"))

    world.watchers.append(look)
    deploy(world)
    until(world, "initializing")

    assert ["d", "ns"] in adopted
    assert world.owners(APPLICATIONS, "shop-next") == []
    assert templates == sorted(templates, reverse=True), "the annotation went once"
    assert "app.oam.dev/creating" not in world.annotations(APPLICATIONS, "shop-next")
    assert "app.oam.dev/creating" not in world.annotations(CONFIGURATIONS, "shop-next-v1")
    assert world.status(CONFIGURATIONS, "shop-next-v1")["rollingStatus"] == "RollingTemplated"
    new = world.get(DEPLOYMENTS, "web-v2")["spec"]
    assert (new["replicas"], new["paused"]) == (0, True)
    status = world.status(APPLICATION_DEPLOYMENTS, "d")
    assert status["lastTargetApplicationName"] == "shop-next"
    assert status["lastSourceApplicationName"] == "shop"
    assert (status["targetAppConfig"], status["sourceAppConfig"]) == ("shop-next-v1", "shop-v1")
    assert status["lastTargetRef"]["name"] == "web-v2"
    assert [each["name"] for each in status["lastSourceRef"]] == ["web"]


def test_success_makes_the_source_a_snapshot_without_pods() -> None:
    world = old_and_new()
    seen: list[dict[str, int]] = []
    world.watchers.append(lambda each: seen.append(sizes(each)))
    deploy(world)
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web": 0, "web-v2": 3})
    assert all(sum(each.values()) >= 3 for each in seen)
    assert world.annotations(APPLICATIONS, "shop")[INACTIVE] == "true"
    assert world.annotations(CONFIGURATIONS, "shop-v1")[INACTIVE] == "true"
    assert world.status(CONFIGURATIONS, "shop-v1")["rollingStatus"] == "InactiveAfterRollingCompleted"
    assert world.status(CONFIGURATIONS, "shop-next-v1")["rollingStatus"] == "RollingCompleted"
    assert "app.oam.dev/rolling-components" not in world.annotations(CONFIGURATIONS, "shop-next-v1")
    assert world.controller(DEPLOYMENTS, "web-v2") == "shop-next-v1"
    assert world.status(APPLICATIONS, "shop-next")["status"] == "running"


def test_the_first_deployment_has_no_source() -> None:
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1")), annotations=TEMPLATE)
    deploy(world, "shop", "", plan={**PLAN, "targetSize": 2})
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 2})


def test_traits_that_conflict_come_back_after_the_rollout_and_not_before() -> None:
    """Scenario 22: no autoscaler aims at the new workload while it is rolled, and the old one's is set aside."""
    world = old_and_new(HPA)
    aims: list[tuple[str, str]] = []

    def look(each: World) -> None:
        if each.has(AUTOSCALERS, "web"):
            aims.append((state(each), each.get(AUTOSCALERS, "web")["spec"]["scaleTargetRef"]["name"]))

    world.watchers.append(look)
    deploy(world)
    world.play()

    assert state(world) == "rolloutSucceed"
    assert {aim for when, aim in aims if when in ("", "verifyingSpec", "initializing")} == {"web"}
    assert not [when for when, _ in aims if when in ("rollingInBatches", "finalising")]
    assert world.get(AUTOSCALERS, "web")["spec"]["scaleTargetRef"]["name"] == "web-v2"
    assert world.get(APPLICATIONS, "shop-next")["spec"]["components"][0]["traits"] == [HPA]
    assert "app.oam.dev/rollout-adjustments" not in world.annotations(APPLICATIONS, "shop-next")
    assert world.controller(AUTOSCALERS, "web") == "shop-next-v2"


def test_a_shared_service_selects_both_versions_and_changes_hands_at_the_end() -> None:
    world = old_and_new(EXPOSE)
    uid = world.get(SERVICES, "web")["metadata"]["uid"]
    selectors: list[Json] = []
    world.watchers.append(lambda each: selectors.append(each.get(SERVICES, "web")["spec"]["selector"]))
    deploy(world)
    world.play()

    assert state(world) == "rolloutSucceed"
    assert all(each == {"app.oam.dev/component": "web"} for each in selectors)
    assert world.get(SERVICES, "web")["metadata"]["uid"] == uid
    assert world.controller(SERVICES, "web").startswith("shop-next-v")


def test_a_service_that_only_the_target_has_selects_the_new_pods_while_it_is_rolled() -> None:
    world = old_and_new(EXPOSE, old=())
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0})
    world.play()

    assert world.get(SERVICES, "web")["spec"]["selector"]["app.oam.dev/revision"] == "web-v2"
    world.change(APPLICATION_DEPLOYMENTS, "d", rolloutPlan={"lastBatchToRollout": 1})
    world.play()
    assert world.get(SERVICES, "web")["spec"]["selector"] == {"app.oam.dev/component": "web"}


def test_a_failure_leaves_everything_mixed_but_makes_the_autoscaler_again() -> None:
    world = old_and_new(HPA)
    world.change(AUTOSCALERS, "web", maxReplicas=77)
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0})
    world.play()
    assert not world.has(AUTOSCALERS, "web")

    world.apply(APPLICATION_DEPLOYMENTS, "d", annotations={"fairlead.dev/rollout-action": "abort@2026-03-01T12:00:00Z"})
    world.play()

    assert (state(world), sizes(world)) == ("rolloutFailed", {"web": 2, "web-v2": 1})
    assert world.controller(DEPLOYMENTS, "web") == "shop-v1"
    assert world.controller(DEPLOYMENTS, "web-v2") == "shop-next-v1"
    assert world.get(AUTOSCALERS, "web")["spec"]["maxReplicas"] == 77
    assert INACTIVE not in world.annotations(APPLICATIONS, "shop")


def test_deletion_with_revert_makes_the_target_a_snapshot() -> None:
    world = old_and_new(HPA)
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0}, revertOnDelete=True)
    world.play()
    assert sizes(world) == {"web": 2, "web-v2": 1}

    world.delete(APPLICATION_DEPLOYMENTS, "d")
    world.play()

    assert not world.has(APPLICATION_DEPLOYMENTS, "d")
    assert sizes(world) == {"web": 3, "web-v2": 0}
    assert world.annotations(APPLICATIONS, "shop-next")[INACTIVE] == "true"
    assert world.annotations(CONFIGURATIONS, "shop-next-v1")[INACTIVE] == "true"
    assert INACTIVE not in world.annotations(APPLICATIONS, "shop")
    assert world.controller(DEPLOYMENTS, "web") == "shop-v1"
    assert world.get(AUTOSCALERS, "web")["spec"]["scaleTargetRef"]["name"] == "web"
    assert world.get(APPLICATIONS, "shop-next")["spec"]["components"][0]["traits"] == [HPA]


def test_a_target_without_traits_is_a_snapshot_after_a_revert_too() -> None:
    world = old_and_new()
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0}, revertOnDelete=True)
    world.play()

    world.delete(APPLICATION_DEPLOYMENTS, "d")
    world.play()

    assert world.annotations(APPLICATIONS, "shop-next")[INACTIVE] == "true"
    assert world.status(APPLICATIONS, "shop")["status"] == "running"


def test_turning_back_to_an_earlier_application() -> None:
    """What was made a snapshot is active again, its workload is the one that it had."""
    world = old_and_new(EXPOSE, HPA)
    deploy(world)
    world.play()
    uid = world.get(DEPLOYMENTS, "web")["metadata"]["uid"]

    deploy(world, "shop", "shop-next")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web": 3, "web-v2": 0})
    assert world.get(DEPLOYMENTS, "web")["metadata"]["uid"] == uid
    assert INACTIVE not in world.annotations(APPLICATIONS, "shop")
    assert world.annotations(APPLICATIONS, "shop-next")[INACTIVE] == "true"
    assert world.controller(SERVICES, "web") == "shop-v1"
    assert world.get(AUTOSCALERS, "web")["spec"]["scaleTargetRef"]["name"] == "web"
    assert world.status(APPLICATIONS, "shop")["status"] == "running"


def test_turning_round_in_mid_rollout() -> None:
    world = old_and_new()
    seen: list[int] = []
    world.watchers.append(lambda each: seen.append(sum(sizes(each).values())))
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0})
    world.play()
    assert sizes(world) == {"web": 2, "web-v2": 1}

    deploy(world, "shop", "shop-next")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web": 3, "web-v2": 0})
    assert min(seen) >= 3
    assert world.annotations(APPLICATIONS, "shop-next")[INACTIVE] == "true"


def test_a_third_application_in_mid_rollout() -> None:
    world = old_and_new()
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0})
    world.play()
    world.apply(APPLICATIONS, "third", an_application(component("web:3")), annotations=TEMPLATE)

    deploy(world, "third", "shop-next")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web": 0, "web-v2": 0, "web-v3": 3})


def test_the_same_names_again_do_nothing() -> None:
    world = old_and_new()
    deploy(world)
    world.play()
    before = len(world.writes)
    world.apply(APPLICATION_DEPLOYMENTS, "d", labels={"touched": "yes"})
    world.play()

    assert len(world.writes) == before


def test_a_target_that_is_changed_while_it_is_rolled_says_what_is_not_applied_yet() -> None:
    world = old_and_new()
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0})
    until(world, "rollingInBatches", "batchReady")
    world.apply(APPLICATIONS, "shop-next", an_application(component("web:3")))
    world.play()

    held = world.condition(CONFIGURATIONS, "shop-next-v2", "Synced")
    world.change(APPLICATION_DEPLOYMENTS, "d", rolloutPlan={**PLAN, "lastBatchToRollout": 1})
    world.play()

    assert held == ("True", "everything that it describes is there, except for workloads that a rollout has")
    after = world.condition(CONFIGURATIONS, "shop-next-v2", "Synced")
    assert after == ("True", "everything that it describes is there")


def test_deletion_before_the_handover_frees_the_target() -> None:
    world = old_and_new()
    deploy(world, "shop-next", "nobody")
    world.play()
    world.apply(APPLICATIONS, "shop-next", labels={"x": "y"})
    deploy(world, "shop-next", "shop")
    for _ in range(40):
        world.run(APPLICATION_DEPLOYMENTS, "d")
        if world.owners(APPLICATIONS, "shop-next"):
            break
    assert world.owners(APPLICATIONS, "shop-next") == ["d", "ns"]

    world.delete(APPLICATION_DEPLOYMENTS, "d")
    world.play()

    assert not world.has(APPLICATION_DEPLOYMENTS, "d")
    assert world.owners(APPLICATIONS, "shop-next") == []
    annotations = world.annotations(APPLICATIONS, "shop-next")
    assert annotations == {"app.oam.dev/rollout-template": "true"}
    assert sizes(world) == {"web": 3}


def test_deletion_ends_when_the_applications_are_gone() -> None:
    world = old_and_new()
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0})
    world.play()
    for name in ("shop", "shop-next"):
        world.delete(APPLICATIONS, name)
    world.delete(APPLICATION_DEPLOYMENTS, "d")
    world.play()

    assert not world.has(APPLICATION_DEPLOYMENTS, "d")
    assert set(sizes(world)) == {"web", "web-v2"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"target": "nobody"}, "the Application nobody is not there"),
        ({"source": "nobody"}, "the Application nobody is not there"),
        ({"source": "shop-next"}, "the Application shop-next is both target and source: name another"),
        ({"componentList": ["cart"]}, "the component cart is not in the Applications shop-next and shop"),
        ({"componentList": ["web", "cart"]}, "one is rolled at a time: name one"),
    ],
)
def test_what_cannot_be_rolled_is_told_in_one_sentence(fields: Json, said: str) -> None:
    world = old_and_new()
    deploy(world, **fields)
    for _ in range(8):
        world.round()

    assert said in world.condition(APPLICATION_DEPLOYMENTS, "d", "RolloutSpecVerifying")[1]
    assert sizes(world) == {"web": 3}
    assert "app.oam.dev/rollout-template" in world.annotations(APPLICATIONS, "shop-next")


def test_an_application_that_is_kept_as_revisions_only_is_told_with_its_annotation() -> None:
    world = old_and_new()
    world.apply(APPLICATIONS, "kept", an_application(component("web:3")), annotations=KEPT)
    deploy(world, "kept")
    for _ in range(8):
        world.round()

    assert world.condition(APPLICATION_DEPLOYMENTS, "d", "RolloutSpecVerifying")[1] == (
        "the Application kept is kept as revisions only and has no ApplicationConfiguration: take the annotation "
        "app.oam.dev/revision-only off, or roll its revisions with an AppRollout"
    )
    assert sizes(world) == {"web": 3}


@pytest.mark.parametrize(
    ("components", "said"),
    [
        ([component("web:2", name="site")], "have no component in common"),
        ([component("web:2"), component("x", name="cart")], ""),
        ([component("web:2", kind="clonesetservice")], "is a clonesetservice in the target and a webservice"),
    ],
)
def test_renamed_and_further_components(components: list[Json], said: str) -> None:
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", replicas=3)))
    world.apply(APPLICATIONS, "next", an_application(*components), annotations=TEMPLATE)
    world.play()
    deploy(world, "next", "shop")
    world.play()

    if said:
        assert said in world.condition(APPLICATION_DEPLOYMENTS, "d", "RolloutSpecVerifying")[1]
        assert sizes(world) == {"web": 3}
    else:
        assert (state(world), sizes(world)) == ("rolloutSucceed", {"web": 0, "web-v2": 3, "cart": 1})


def test_applications_that_name_each_other_do_not_share_a_workload() -> None:
    """Two rollouts between the same Applications: one rolls, the other says who has the workload (I-6)."""
    world = old_and_new()
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0})
    world.play()
    spec = {"targetApplicationName": "shop", "sourceApplicationName": "shop-next", "rolloutPlan": PLAN}
    world.apply(APPLICATION_DEPLOYMENTS, "e", spec)
    world.play()

    assert sizes(world) == {"web": 2, "web-v2": 1}
    status, said = world.condition(APPLICATION_DEPLOYMENTS, "e", "RolloutSpecVerifying")
    assert (status, said) == ("False", "the Deployment web has a controller owner ApplicationDeployment d")


def test_the_same_component_on_both_sides_is_nothing_to_roll() -> None:
    world = World()
    world.apply(APPLICATIONS, "a", an_application(component("web:1")), annotations=TEMPLATE)
    deploy(world, "a", "", plan={**PLAN, "targetSize": 2})
    world.play()
    world.apply(APPLICATIONS, "b", an_application(component("web:1")), annotations=TEMPLATE)
    deploy(world, "b", "a")
    world.play()

    said = world.condition(APPLICATION_DEPLOYMENTS, "d", "RolloutSpecVerifying")[1]
    assert "there is nothing to roll" in said
    assert sizes(world) == {"web-v1": 2}


def test_the_record_of_what_was_taken_out_can_be_read() -> None:
    world = old_and_new(HPA, EXPOSE)
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0})
    world.play()

    record = msgspec.json.decode(world.annotations(APPLICATIONS, "shop-next")["app.oam.dev/rollout-adjustments"])
    assert record["component"] == "web"
    assert [each["name"] for each in record["traits"]] == ["hpa", "expose"]
    assert [each["metadata"]["name"] for each in record["autoscalers"]] == ["web"]


WRITES = 60


@cache
def handed_over() -> World:
    """By processes that all lived."""
    world = old_and_new(HPA, EXPOSE)
    deploy(world)
    world.play()
    return world


@pytest.mark.parametrize("number", range(0, WRITES, 2))
def test_a_crash_at_any_write_of_a_handover_ends_in_the_same_state(number: int) -> None:
    broken = old_and_new(HPA, EXPOSE)
    deploy(broken)

    broken.writes_left = number
    try:
        broken.play()
    except Died:
        broken.writes_left = None
        broken.play()

    assert state(broken) == "rolloutSucceed"
    assert _stored(broken) == _stored(handed_over())


def test_processes_that_die_after_each_write_come_to_the_same_end() -> None:
    """There, back again, and turned round in the middle."""
    world = old_and_new(HPA, EXPOSE)
    deploy(world)
    assert lived(world) > 20
    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web": 0, "web-v2": 3})

    deploy(world, "shop", "shop-next", plan={**PLAN, "lastBatchToRollout": 0})
    assert lived(world) > 10
    assert sizes(world) == {"web": 1, "web-v2": 2}
    deploy(world, "shop-next", "shop")
    lived(world)

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web": 0, "web-v2": 3})
    assert world.annotations(APPLICATIONS, "shop")[INACTIVE] == "true"
    assert INACTIVE not in world.annotations(APPLICATIONS, "shop-next")
    assert world.get(AUTOSCALERS, "web")["spec"]["scaleTargetRef"]["name"] == "web-v2"


def test_processes_that_die_after_each_write_of_a_revert_come_to_its_end() -> None:
    world = old_and_new(HPA)
    deploy(world, plan={**PLAN, "lastBatchToRollout": 0}, revertOnDelete=True)
    lived(world)
    world.delete(APPLICATION_DEPLOYMENTS, "d")
    lived(world)

    assert not world.has(APPLICATION_DEPLOYMENTS, "d")
    assert sizes(world) == {"web": 3, "web-v2": 0}
    assert world.annotations(APPLICATIONS, "shop-next")[INACTIVE] == "true"
    assert world.get(AUTOSCALERS, "web")["spec"]["scaleTargetRef"]["name"] == "web"


def _stored(world: World) -> Json:
    return {key: value[:3] for key, value in outside(world).items()}
