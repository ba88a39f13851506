"""Rollouts (C-1 to C-5): from one revision of a component to another, and back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.plans.kinds import APPLICATIONS, CLONE_SETS, COMPONENTS, ROLLOUTS, Json
from fairlead.contracts.plans.settings import PlanSettings
from kubeloop.objects.apps import CONTROLLER_REVISIONS, DEPLOYMENTS
from kubeloop.objects.meta import Resource
from tests.contracts.plans.decide.applications.world import World, an_application, component, lived, outside
from tests.contracts.plans.decide.test_reading import ODD

PLAN: Json = {"rolloutBatches": [{"replicas": 1}, {}]}
OWNER: Json = {"apiVersion": "example.com/v1", "kind": "Shop", "name": "shop", "uid": "uid-shop", "controller": True}


def a_component(image: str, kind: str = "Deployment", api: str = "apps/v1", **more: Any) -> Json:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template, **more}
    return {"workload": {"apiVersion": api, "kind": kind, "spec": spec}}


def two_revisions(kind: str = "Deployment", api: str = "apps/v1", size: int = 3, **metadata: Any) -> World:
    """`web-v1` with its pods, brought by the Rollout `r`, and `web-v2` of which nothing is there."""
    world = World()
    world.apply(COMPONENTS, "web", a_component("web:1", kind, api))
    world.play()
    rolled(world, "web-v1", plan={"targetSize": size}, **metadata)
    world.play()
    world.apply(COMPONENTS, "web", a_component("web:2", kind, api))
    world.play()
    return world


def rolled(world: World, target: str, source: str = "", plan: Json | None = None, **metadata: Any) -> None:
    spec = {"targetRevisionName": target, "sourceRevisionName": source, "rolloutPlan": PLAN if plan is None else plan}
    world.apply(ROLLOUTS, "r", {key: value for key, value in spec.items() if value != ""}, **metadata)


def state(world: World) -> str:
    found: str = world.status(ROLLOUTS, "r").get("rollingState", "")
    return found


def sizes(world: World) -> dict[str, int]:
    return {each: world.size(each) for each in world.names(DEPLOYMENTS)}


def until(world: World, wanted: str, batch: str = "", resource: Resource = ROLLOUTS) -> None:
    for _ in range(200):
        status = world.status(resource, "r")
        if status.get("rollingState") == wanted and batch in ("", status.get("batchRollingState")):
            return
        world.round()
        world.settle()
    raise AssertionError(f"never came to {wanted}: {world.status(resource, 'r')}")


def test_the_first_revision_is_made_without_pods_and_scaled() -> None:
    world = World()
    world.apply(COMPONENTS, "web", a_component("web:1", replicas=7))
    world.play()
    seen: list[tuple[bool, str]] = []
    world.watchers.append(
        lambda each: seen.append(
            (each.has(DEPLOYMENTS, "web-v1"), each.annotations(ROLLOUTS, "r").get("trait.oam.dev/workload-name", ""))
        )
    )
    rolled(world, "web-v1", plan={"targetSize": 2}, labels={"app.oam.dev/name": "shop"})
    until(world, "verifyingSpec")

    assert (False, "web-v1") in seen, "named before it is there"
    assert (True, "") not in seen
    kind = msgspec.json.decode(world.annotations(ROLLOUTS, "r")["trait.oam.dev/workload-gvk"])
    assert kind == {"apiVersion": "apps/v1", "kind": "Deployment"}
    made = world.get(DEPLOYMENTS, "web-v1")
    assert (made["spec"]["replicas"], made["spec"]["paused"]) == (0, True)
    labels = made["metadata"]["labels"]
    assert (labels["app.oam.dev/component"], labels["app.oam.dev/revision"]) == ("web", "web-v1")
    assert labels["app.oam.dev/name"] == "shop"
    assert made["spec"]["selector"]["matchLabels"]["app.oam.dev/revision"] == "web-v1"

    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 2})
    assert world.controller(DEPLOYMENTS, "web-v1") == ""


def test_where_another_rollout_has_taken_the_pods_it_says_so() -> None:
    """`fairlead undo` goes back to where the pods were, and not to what this one went to last."""
    world = two_revisions()
    names = {"targetRevisionName": "web-v2", "sourceRevisionName": "web-v1"}
    world.apply(ROLLOUTS, "s", {**names, "rolloutPlan": PLAN})
    world.play()
    world.apply(COMPONENTS, "web", a_component("web:3"))
    world.play()
    rolled(world, "web-v3")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v3": 3})
    assert world.status(ROLLOUTS, "r")["LastSourceRevision"] == "web-v2"


def test_a_revision_follows_the_last_one_and_its_workload_goes() -> None:
    world = two_revisions()
    seen: list[dict[str, int]] = []
    states: list[str] = []
    world.watchers.append(lambda each: seen.append(sizes(each)))
    world.watchers.append(lambda each: states.append(state(each)))
    rolled(world, "web-v2")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v2": 3})
    assert all(sum(each.values()) >= 3 for each in seen)
    order = list(dict.fromkeys(states))
    assert order[:3] == ["locatingTargetApp", "verifyingSpec", "initializing"]
    status = world.status(ROLLOUTS, "r")
    assert (status["lastTargetRevision"], status["LastSourceRevision"]) == ("web-v2", "web-v1")
    assert world.annotations(ROLLOUTS, "r")["trait.oam.dev/workload-name"] == "web-v2"


def test_a_turn_round_in_the_middle_brings_the_old_revision_back() -> None:
    world = two_revisions()
    rolled(world, "web-v2", plan={**PLAN, "batchPartition": 0})
    until(world, "rollingInBatches", "batchReady")
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}
    seen: list[int] = []
    states: list[str] = []
    world.watchers.append(lambda each: seen.append(sum(sizes(each).values())))
    world.watchers.append(lambda each: states.append(state(each)))
    rolled(world, "web-v1")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v1": 3})
    assert min(seen) >= 3
    assert "rolloutAbandoned" in states
    status = world.status(ROLLOUTS, "r")
    assert (status["lastTargetRevision"], status["LastSourceRevision"]) == ("web-v1", "web-v2")


def test_a_third_revision_takes_the_pods_of_both_others() -> None:
    world = two_revisions()
    rolled(world, "web-v2", plan={**PLAN, "batchPartition": 0})
    until(world, "rollingInBatches", "batchReady")
    world.apply(COMPONENTS, "web", a_component("web:3"))
    rolled(world, "web-v3")
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v3": 3})


def test_a_rollout_that_is_done_is_scaled_by_its_size_again_and_again() -> None:
    world = two_revisions()
    rolled(world, "web-v2")
    world.play()
    for size in (5, 1, 4):
        world.change(ROLLOUTS, "r", rolloutPlan={"targetSize": size, "rolloutBatches": None})
        world.play()
        assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v2": size})


def test_deleted_without_a_revert_everything_stays_as_it_is() -> None:
    world = two_revisions()
    rolled(world, "web-v2", plan={**PLAN, "batchPartition": 0})
    until(world, "rollingInBatches", "batchReady")
    world.delete(ROLLOUTS, "r")
    world.play()

    assert not world.has(ROLLOUTS, "r")
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}
    assert world.owners(DEPLOYMENTS, "web-v1") == world.owners(DEPLOYMENTS, "web-v2") == []


def test_deleted_with_a_revert_it_goes_back() -> None:
    world = two_revisions()
    rolled(world, "web-v2", plan={**PLAN, "batchPartition": 0, "revertOnDelete": True})
    until(world, "rollingInBatches", "batchReady")
    world.delete(ROLLOUTS, "r")
    world.play()

    assert not world.has(ROLLOUTS, "r")
    assert sizes(world) == {"web-v1": 3, "web-v2": 0}


def test_a_failure_passes_the_owners_of_the_rollout_on_to_both_workloads() -> None:
    world = two_revisions()
    rolled(world, "web-v2", plan={**PLAN, "batchPartition": 0}, ownerReferences=[OWNER])
    until(world, "rollingInBatches", "batchReady")
    at = "abort@2026-03-01T12:00:00Z"
    world.apply(ROLLOUTS, "r", annotations={**world.annotations(ROLLOUTS, "r"), "fairlead.dev/rollout-action": at})
    world.play()

    assert (state(world), sizes(world)) == ("rolloutFailed", {"web-v1": 2, "web-v2": 1})
    for name in ("web-v1", "web-v2"):
        assert world.owners(DEPLOYMENTS, name) == ["shop"]
        assert world.controller(DEPLOYMENTS, name) == ""


def test_what_is_updated_in_place_stays_one_workload_under_the_name_of_the_component() -> None:
    world = two_revisions("CloneSet", CLONE_SETS.api_version)
    before = world.get(CLONE_SETS, "web")
    rolled(world, "web-v2")
    until(world, "verifyingSpec")
    frozen = world.get(CLONE_SETS, "web")

    assert frozen["spec"]["updateStrategy"]["paused"] is True
    assert frozen["spec"]["replicas"] == before["spec"]["replicas"] == 3
    assert frozen["metadata"]["labels"]["app.oam.dev/revision"] == "web-v2"

    world.play()

    assert state(world) == "rolloutSucceed"
    assert world.names(CLONE_SETS) == ["web"]
    assert world.get(CLONE_SETS, "web")["status"]["updatedReplicas"] == 3


def test_configurations_let_go_of_the_workload_that_a_rollout_starts_from() -> None:
    """An Application runs `web-v1` by a RolloutTrait; a Rollout goes on from there."""
    world = World()
    trait = {"name": "rollout", "properties": {"targetSize": 2}}
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", trait)))
    world.play()
    assert world.controller(DEPLOYMENTS, "web-v1") == "shop-v1"
    snapshot = world.get(CONTROLLER_REVISIONS, "web-v1")
    spec = msgspec.json.decode(msgspec.json.encode(snapshot["data"]["spec"]))
    spec["workload"]["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2"
    world.apply(COMPONENTS, "web", spec)
    world.play()
    rolled(world, "web-v2", "web-v1", plan={**PLAN, "batchPartition": 0})
    until(world, "rollingInBatches", "batchReady")

    assert sizes(world) == {"web-v1": 1, "web-v2": 1}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"targetRevisionName": ""}, "targetRevisionName is empty: name the component revision to go to"),
        ({"sourceRevisionName": "web-v2"}, "the revision web-v2 is both target and source: name another"),
        ({"componentName": "shop"}, "the revision web-v2 is of the component web, and not of shop"),
        ({"targetRevisionName": 7}, "spec.targetRevisionName: Invalid value: 7: must be a text"),
    ],
)
def test_what_can_never_be_rolled_is_refused_in_a_sentence(spec: Json, said: str) -> None:
    world = two_revisions()
    before = outside(world)
    world.apply(ROLLOUTS, "s", {"targetRevisionName": "web-v2", "rolloutPlan": PLAN, **spec})
    world.play()

    assert world.status(ROLLOUTS, "s")["rollingState"] == "rolloutFailed"
    assert world.condition(ROLLOUTS, "s", "TargetAppLocating") == ("False", said)
    del world.objects[ROLLOUTS, "s"]
    assert outside(world) == before, "nothing else was written"


def test_an_object_of_somebody_else_under_the_name_is_not_touched() -> None:
    world = two_revisions()
    world.apply(DEPLOYMENTS, "web-v2", {"replicas": 1, "template": {}})
    rolled(world, "web-v2")
    world.play()

    assert state(world) == "rolloutFailed"
    assert "is not of the component web" in world.condition(ROLLOUTS, "r", "TargetAppLocating")[1]
    assert sizes(world) == {"web-v1": 3, "web-v2": 1}


def test_a_kind_that_cannot_be_rolled_is_refused_before_anything_is_made() -> None:
    world = World()
    world.apply(COMPONENTS, "web", {"workload": {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {}}})
    world.play()
    rolled(world, "web-v1", plan={"targetSize": 1})
    world.play()

    assert state(world) == "rolloutFailed"
    assert "is not supported" in world.condition(ROLLOUTS, "r", "TargetAppLocating")[1]


def test_a_revision_that_is_not_there_yet_is_waited_for() -> None:
    world = two_revisions()
    rolled(world, "web-v3")
    for _ in range(4):
        world.round()

    assert state(world) == "locatingTargetApp"
    said = "the ControllerRevision web-v3 is not there: it is made with its Component"
    assert world.condition(ROLLOUTS, "r", "TargetAppLocating") == ("False", said)

    world.apply(COMPONENTS, "web", a_component("web:3"))
    world.play()

    assert (state(world), sizes(world)) == ("rolloutSucceed", {"web-v3": 3})


def test_a_revision_that_was_deleted_is_not_said_to_come() -> None:
    world = two_revisions()
    del world.objects[CONTROLLER_REVISIONS, "web-v1"]
    rolled(world, "web-v1", "web-v2")
    for _ in range(4):
        world.round()

    assert state(world) == "locatingTargetApp"
    assert world.condition(ROLLOUTS, "r", "TargetAppLocating")[1] == (
        "the ControllerRevision web-v1 is not there, and never comes back, because the Component web is at number 2: "
        "name another, or apply the Component as it was then and name the revision that is made of it"
    )


def test_a_workload_of_another_rollout_is_left_to_it() -> None:
    world = two_revisions()
    rolled(world, "web-v2", plan={**PLAN, "batchPartition": 0})
    until(world, "rollingInBatches", "batchReady")
    world.apply(ROLLOUTS, "s", {"targetRevisionName": "web-v2", "sourceRevisionName": "web-v1", "rolloutPlan": PLAN})
    world.play()

    assert world.status(ROLLOUTS, "s")["rollingState"] == "rolloutFailed"
    assert "has a controller owner" in world.condition(ROLLOUTS, "s", "RolloutSpecVerifying")[1]
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}


@pytest.mark.parametrize("resource", [DEPLOYMENTS, CLONE_SETS])
def test_a_process_that_dies_after_every_write_comes_to_the_same_end(resource: Resource) -> None:
    world, other = (two_revisions(resource.kind, resource.api_version, ownerReferences=[OWNER]) for _ in range(2))
    rolled(other, "web-v2")
    other.play()
    rolled(world, "web-v2")
    lives = lived(world)

    assert lives > 5
    assert state(world) == "rolloutSucceed"
    assert outside(world).keys() == outside(other).keys()
    (name,) = world.names(resource)
    assert world.get(resource, name)["spec"] == other.get(resource, name)["spec"]


def test_a_process_that_dies_in_the_middle_of_a_revert_comes_to_the_same_end() -> None:
    world = two_revisions()
    rolled(world, "web-v2", plan={**PLAN, "batchPartition": 0, "revertOnDelete": True})
    until(world, "rollingInBatches", "batchReady")
    world.delete(ROLLOUTS, "r")
    lived(world)

    assert not world.has(ROLLOUTS, "r")
    assert sizes(world) == {"web-v1": 3, "web-v2": 0}


def test_a_workload_that_is_updated_in_place_goes_back_to_the_template_of_its_source() -> None:
    world = two_revisions("CloneSet", CLONE_SETS.api_version)
    before = world.get(CLONE_SETS, "web")["spec"]["template"]
    rolled(world, "web-v2", plan={**PLAN, "batchPartition": 0, "revertOnDelete": True})
    until(world, "rollingInBatches", "batchReady")
    assert world.get(CLONE_SETS, "web")["spec"]["template"] != before
    world.delete(ROLLOUTS, "r")
    world.play()

    assert not world.has(ROLLOUTS, "r")
    assert world.get(CLONE_SETS, "web")["spec"]["template"] == before


def test_the_revisions_that_a_rollout_names_are_not_forgotten() -> None:
    world = World(PlanSettings(revision_limit=1))
    for image in ("web:1", "web:2", "web:3"):
        world.apply(COMPONENTS, "web", a_component(image))
        world.play()
        if image == "web:1":
            rolled(world, "web-v1", plan={"targetSize": 1})
            world.play()

    assert world.names(CONTROLLER_REVISIONS) == ["web-v1", "web-v3"]


@given(
    spec=st.dictionaries(
        st.sampled_from(["targetRevisionName", "sourceRevisionName", "componentName", "rolloutPlan"]), ODD
    ),
    status=st.dictionaries(
        st.sampled_from(
            ["rollingState", "lastTargetRevision", "LastSourceRevision", "lastTargetRef", "lastSourceRef", "sources"]
        ),
        ODD | st.just("locatingTargetApp"),
    ),
)
def test_nothing_that_anybody_may_write_is_a_crash(spec: Json, status: Json) -> None:
    world = World()
    world.apply(COMPONENTS, "web", a_component("web:1"))
    world.run(COMPONENTS, "web")
    world.apply(ROLLOUTS, "r", spec)
    world.objects[ROLLOUTS, "r"]["status"] = status
    for _ in range(5):
        world.run(ROLLOUTS, "r")
