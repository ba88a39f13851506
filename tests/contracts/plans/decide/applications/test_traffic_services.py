"""Services that a rollout shares traffic between are made where its plan names none (section 3.11)."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.plans.kinds import APPLICATION_DEPLOYMENTS, APPLICATIONS, CONFIGURATIONS, ROLLOUT_TRAITS, Json
from kubeloop.objects.core import SERVICES
from tests.contracts.plans.decide.applications.world import World, an_application, component

REVISION, COMPONENT = "app.oam.dev/revision", "app.oam.dev/component"
ROUTING: Json = {"provider": "gatewayapi", "ingressRef": {"name": "shop"}}


def rollout(**routing: Any) -> Json:
    plan = {"rolloutBatches": [{"replicas": 1}, {}], "targetSize": 3, "trafficRouting": {**ROUTING, **routing}}
    return {"name": "rollout", "properties": plan}


def rolled(*images: str, **routing: Any) -> World:
    """Each after the other; with a source a rollout waits for its route, which nobody makes."""
    world = World()
    for each in images:
        world.apply(APPLICATIONS, "shop", an_application(component(each, rollout(**routing))))
        world.play()
    return world


def service(world: World, name: str) -> Json:
    found: Json = world.get(SERVICES, name)["spec"]
    return found


def test_the_service_of_the_first_revision_selects_its_pods_and_leads_to_their_port() -> None:
    world = rolled("web:1")

    assert service(world, "web-v1") == {
        "selector": {COMPONENT: "web", REVISION: "web-v1"},
        "ports": [{"name": "port-80", "port": 80, "targetPort": 80}],
    }
    assert world.controller(SERVICES, "web-v1") == "shop-v1"
    assert world.status(ROLLOUT_TRAITS, "web")["rollingState"] == "rolloutSucceed"


def test_both_sides_have_their_service_and_neither_goes_with_an_older_configuration() -> None:
    world = rolled("web:1", "web:2")

    assert [service(world, each)["selector"][REVISION] for each in ("web-v1", "web-v2")] == ["web-v1", "web-v2"]
    assert [world.owners(SERVICES, each) for each in ("web-v1", "web-v2")] == [["shop-v2"], ["shop-v2"]]


def test_a_service_that_somebody_made_stays_as_it_is() -> None:
    world = World()
    own = {"selector": {"app": "mine"}, "ports": [{"port": 8080}]}
    world.apply(SERVICES, "web-v1", own)

    world.apply(APPLICATIONS, "shop", an_application(component("web:1", rollout())))
    world.play()

    assert service(world, "web-v1") == own
    assert world.owners(SERVICES, "web-v1") == []
    assert world.condition(CONFIGURATIONS, "shop-v1", "Synced")[0] == "True"


@pytest.mark.parametrize(
    "routing",
    [{"provider": "none"}, {"sourceService": "old", "targetService": "new"}],
    ids=["nothing is shared", "the plan names them"],
)
def test_none_is_made_that_no_rollout_needs(routing: Json) -> None:
    assert rolled("web:1", "web:2", **routing).names(SERVICES) == []


def test_only_the_side_that_the_plan_leaves_open_gets_one() -> None:
    assert rolled("web:1", "web:2", sourceService="old").names(SERVICES) == ["web-v1", "web-v2"]
    assert rolled("web:1", "web:2", targetService="new").names(SERVICES) == ["web-v1"]


def test_the_port_of_the_plan_leads_to_the_only_port_of_the_pods() -> None:
    assert service(rolled("web:1", port=9000), "web-v1")["ports"] == [
        {"name": "port-9000", "port": 9000, "targetPort": 80}
    ]


def _worker(image: str, plan: Json) -> Json:
    return an_application({"name": "web", "type": "worker", "settings": {"image": image}, "traits": [plan]})


def test_where_nothing_tells_the_port_the_configuration_says_so_and_goes_on_once_it_is_told() -> None:
    world = World()
    for image in ("web:1", "web:2"):
        world.apply(APPLICATIONS, "shop", _worker(image, rollout()))
        world.play()

    said = world.condition(CONFIGURATIONS, "shop-v2", "Synced")
    assert said == ("False", "the Service web-v2 lacks a port: name it in trafficRouting.port or in the pods")
    assert world.names(SERVICES) == []

    world.apply(APPLICATIONS, "shop", _worker("web:2", rollout(port=9000)))
    world.play()

    assert world.names(SERVICES) == ["web-v1", "web-v2"]
    assert service(world, "web-v1")["ports"] == [{"name": "port-9000", "port": 9000, "targetPort": 9000}]
    assert world.condition(CONFIGURATIONS, "shop-v3", "Synced")[0] == "True"


def test_of_an_application_deployment_each_application_makes_its_own() -> None:
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", replicas=3)))
    world.play()
    template = {"app.oam.dev/rollout-template": "true"}
    world.apply(APPLICATIONS, "next", an_application(component("web:2")), annotations=template)
    world.play()

    world.apply(
        APPLICATION_DEPLOYMENTS,
        "d",
        {
            "targetApplicationName": "next",
            "sourceApplicationName": "shop",
            "rolloutPlan": {"rolloutBatches": [{"replicas": 1}, {}], "trafficRouting": ROUTING},
        },
    )
    world.play()

    assert world.names(SERVICES) == ["web-v1", "web-v2"]
    assert [world.controller(SERVICES, each) for each in world.names(SERVICES)] == ["shop-v1", "next-v1"]
