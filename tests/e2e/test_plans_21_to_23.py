"""Acceptance scenarios 21 to 23: Applications handed to a rollout, with conflicting traits, and upgraded in place."""

from __future__ import annotations

from fairlead.contracts.plans.applications.kinds import MANUAL_SCALER, MANUAL_SCALER_API
from fairlead.contracts.plans.kinds import (
    ADJUSTMENTS,
    APPLICATIONS,
    AUTOSCALERS,
    CONFIGURATION_HASH,
    CONFIGURATION_ROLLOUT,
    CONFIGURATIONS,
    CREATING,
    INACTIVE,
    ROLLOUT_TEMPLATE,
    ROLLOUT_TRAITS,
)
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import SERVICES
from tests.e2e.application_play import begin, component, old_and_new, with_applications
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.plan_admission import admit, refused, refused_change
from tests.e2e.plan_play import NEW, OLD, batches
from tests.e2e.zones import change

EXPOSE = {"name": "expose", "properties": {"port": [80]}}
SCALER = {"apiVersion": MANUAL_SCALER_API, "kind": MANUAL_SCALER, "spec": {"replicaCount": 3}}
HPA = {"name": "hpa", "properties": {"min": 2, "max": 2}}


def rolled_and_scaled(name: str) -> Tree:
    """An ApplicationConfiguration that wants two masters of the size of one component."""
    rollout = {
        "apiVersion": ROLLOUT_TRAITS.api_version,
        "kind": ROLLOUT_TRAITS.kind,
        "spec": {"rolloutPlan": batches(1, 1)},
    }
    traits = [{"trait": rollout}, {"trait": SCALER}]
    return {"metadata": {"name": "both"}, "spec": {"components": [{"componentName": name, "traits": traits}]}}


@with_applications()
async def test_scenario_21_application_handover(site: Site) -> None:
    play = await begin(site)
    await admit(site)
    await old_and_new(play, EXPOSE)
    assert set(site.history.objects(CONFIGURATIONS)) == {"shop-v1"}
    assert set(site.history.objects(DEPLOYMENTS)) == {"web"}
    service = play.object(SERVICES, "web")["metadata"]["uid"]

    await play.deploy("next", "shop", **batches(1, 1))
    await play.deployed()

    first = site.history.of(DEPLOYMENTS, "ADDED")[-1]
    assert (first.name, first.object["spec"]["replicas"], first.object["spec"]["paused"]) == ("web-v2", 0, True)
    assert play.sizes_of("web-v2") == [0, 1, 2]
    assert play.sizes_of("web") == [2, 1, 0]
    assert ROLLOUT_TEMPLATE not in play.annotations(APPLICATIONS, "next")
    again = {"metadata": {"annotations": {ROLLOUT_TEMPLATE: "true"}}}
    error = await refused_change(site, APPLICATIONS, "next", again)
    assert error.status == 422
    assert "Forbidden: cannot add a rollout annotation on an existing application" in str(error)
    handed = [
        event
        for event in site.history.of(APPLICATIONS, "MODIFIED")
        if event.name == "next" and ROLLOUT_TEMPLATE not in (event.object["metadata"].get("annotations") or {})
    ]
    assert handed[0].object["metadata"].get("ownerReferences", []) == []
    created = [each for each in site.history.of(CONFIGURATIONS, "ADDED") if each.name == "next-v1"]
    assert created[0].object["metadata"]["annotations"][CREATING] == "true"
    assert CREATING not in play.annotations(CONFIGURATIONS, "next-v1")
    assert play.annotations(APPLICATIONS, "shop")[INACTIVE] == "true"
    assert play.rolling("shop-v1") == "InactiveAfterRollingCompleted"
    await play.runs("next")
    await play.until(lambda: play.controller(SERVICES, "web") == "next-v2")
    assert play.object(SERVICES, "web")["metadata"]["uid"] == service
    assert ADJUSTMENTS not in play.annotations(APPLICATIONS, "next")


@with_applications(long=True)
async def test_scenario_22_conflicting_traits(site: Site) -> None:
    play = await begin(site)
    await admit(site)
    await old_and_new(play, HPA)
    await play.until(lambda: play.object(AUTOSCALERS, "web"))

    await play.deploy("next", "shop", **batches(1, 1))
    await play.deployed()
    await play.until(lambda: play.object(AUTOSCALERS, "web"))

    events = list(site.history.of(AUTOSCALERS, "ADDED", "DELETED"))
    assert [each.type for each in events] == ["ADDED", "DELETED", "ADDED"]
    assert [each.object["spec"]["scaleTargetRef"]["name"] for each in events] == ["web", "web", "web-v2"]
    assert play.size("web-v2") == 2

    error = await refused(site, CONFIGURATIONS, rolled_and_scaled("web"))
    assert error.status == 422
    said = "spec.components[0].traits: Forbidden: the traits rollout and scaler of the component web conflict"
    assert said in str(error)


@with_applications()
async def test_scenario_23_in_place_upgrade(site: Site) -> None:
    play = await begin(site)
    await play.apply("shop", component(OLD, EXPOSE, replicas=2))
    await play.runs("shop")
    uid = play.object(DEPLOYMENTS, "web")["metadata"]["uid"]
    await change(site, DEPLOYMENTS, "web", {"spec": {"replicas": 3}})

    await play.apply("shop", component(NEW, EXPOSE))
    await play.until(lambda: play.rolling("shop-v1") == "InactiveAfterRollingCompleted")
    await play.until(lambda: INACTIVE in play.annotations(CONFIGURATIONS, "shop-v1"))
    await play.runs("shop")

    new, old = play.object(CONFIGURATIONS, "shop-v2"), play.object(CONFIGURATIONS, "shop-v1")
    assert play.annotations(CONFIGURATIONS, "shop-v2")[CONFIGURATION_ROLLOUT] == "true"
    assert new["metadata"]["labels"][CONFIGURATION_HASH] != old["metadata"]["labels"][CONFIGURATION_HASH]
    workload = play.object(DEPLOYMENTS, "web")
    assert set(site.history.objects(DEPLOYMENTS)) == {"web"}
    assert (workload["metadata"]["uid"], workload["spec"]["replicas"]) == (uid, 3)
    assert workload["spec"]["template"]["spec"]["containers"][0]["image"] == NEW
    assert play.controller(DEPLOYMENTS, "web") == "shop-v2"
    await play.at_rest()
    before = len(play.sent)
    await change(site, APPLICATIONS, "shop", {"metadata": {"labels": {"applied": "again"}}})
    await play.apply("shop", component(NEW, EXPOSE))
    await play.at_rest()
    assert len(play.sent) == before


@with_applications(on=("sim",))
async def test_a_component_with_a_rollout_trait_brings_its_next_revision(site: Site) -> None:
    play = await begin(site)
    rollout = {"name": "rollout", "properties": batches(1, 1, targetSize=2)}
    await play.apply("shop", component(OLD, rollout))
    await play.until(lambda: play.state("web") == "rolloutSucceed")

    await play.apply("shop", component(NEW, rollout))
    await play.until(lambda: play.object(ROLLOUT_TRAITS, "web")["spec"]["targetRef"]["name"] == "web-v2")
    await play.until(lambda: play.state("web") == "rolloutSucceed" and play.size("web-v1") == 0)

    assert play.sizes_of("web-v2") == [0, 1, 2]
    await play.until(lambda: play.controller(DEPLOYMENTS, "web-v2") == "shop-v2")


@with_applications(on=("sim",))
async def test_turning_back_to_an_earlier_application(site: Site) -> None:
    play = await begin(site)
    await old_and_new(play, EXPOSE, HPA)
    await play.deploy("next", "shop", **batches(1, 1))
    await play.deployed()
    await play.runs("next")

    await play.deploy("shop", "next", **batches(1, 1))
    await play.until(lambda: play.size("web-v2") == 0)
    await play.deployed()
    await play.runs("shop")

    assert play.size("web") == 2
    assert INACTIVE not in play.annotations(APPLICATIONS, "shop")
    assert play.annotations(APPLICATIONS, "next")[INACTIVE] == "true"
    await play.until(lambda: play.object(AUTOSCALERS, "web")["spec"]["scaleTargetRef"]["name"] == "web")


@with_applications(on=("sim",))
async def test_a_handover_survives_operators_that_die_after_each_of_their_writes(site: Site) -> None:
    play = await begin(site)
    await old_and_new(play, EXPOSE, HPA)
    await play.deploy("next", "shop", **batches(1, 1))

    lives = await play.lives(lambda: play.phase("next") == "running" and play.object(AUTOSCALERS, "web"))

    assert lives > 20
    assert play.deployment()["rollingState"] == "rolloutSucceed"
    assert play.sizes_of("web-v2") == [0, 1, 2]
    assert play.sizes_of("web") == [2, 1, 0]
    handed = [
        bool((event.object["metadata"].get("annotations") or {}).get(ROLLOUT_TEMPLATE))
        for event in site.history.of(APPLICATIONS, "ADDED", "MODIFIED")
        if event.name == "next"
    ]
    assert handed == sorted(handed, reverse=True), "control was handed over once"
    assert play.annotations(APPLICATIONS, "shop")[INACTIVE] == "true"
    assert ADJUSTMENTS not in play.annotations(APPLICATIONS, "next")
    assert play.object(AUTOSCALERS, "web")["spec"]["scaleTargetRef"]["name"] == "web-v2"


@with_applications(on=("sim",))
async def test_an_upgrade_survives_operators_that_die_after_each_of_their_writes(site: Site) -> None:
    play = await begin(site)
    await play.apply("shop", component(OLD, EXPOSE, HPA, replicas=2))
    await play.runs("shop")
    await play.apply("shop", component(NEW, EXPOSE))

    lives = await play.lives(lambda: INACTIVE in play.annotations(CONFIGURATIONS, "shop-v1"))

    assert lives > 5
    assert set(site.history.objects(CONFIGURATIONS)) == {"shop-v1", "shop-v2"}
    assert play.controller(DEPLOYMENTS, "web") == play.controller(SERVICES, "web") == "shop-v2"
    assert not play.object(AUTOSCALERS, "web")
    assert play.object(DEPLOYMENTS, "web")["spec"]["template"]["spec"]["containers"][0]["image"] == NEW
