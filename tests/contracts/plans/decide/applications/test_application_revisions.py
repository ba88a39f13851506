"""ApplicationRevisions (P-1 to P-3): what an Application is, kept under numbers, where nothing is made of it yet."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.plans.kinds import (
    APPLICATION_DEPLOYMENTS,
    APPLICATION_REVISIONS,
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    TRAIT_DEFINITIONS,
    WORKLOAD_DEFINITIONS,
    Json,
)
from fairlead.contracts.plans.settings import PlanSettings
from kubeloop.objects.apps import DEPLOYMENTS
from tests.contracts.plans.decide.applications import world as worlds
from tests.contracts.plans.decide.applications.world import World, an_application, component, lived, outside

TEMPLATE = {"app.oam.dev/rollout-template": "true"}
REVISION_ONLY = {"app.oam.dev/revision-only": "true"}
HASH = "app.oam.dev/app-revision-hash"


def kept(*components: Json, annotations: dict[str, str] | None = None, **given: Any) -> World:
    world = World(**given)
    world.apply(APPLICATIONS, "shop", an_application(*components), annotations=annotations or TEMPLATE)
    world.play()
    return world


def digest(world: World, name: str) -> str:
    found: str = world.get(APPLICATION_REVISIONS, name)["metadata"]["labels"][HASH]
    return found


def test_an_application_that_waits_for_its_rollout_is_kept_whole() -> None:
    world = kept(component("web:1", {"name": "expose", "properties": {"port": [80]}}, replicas=3))

    assert world.names(APPLICATION_REVISIONS) == ["shop-v1"]
    revision = world.get(APPLICATION_REVISIONS, "shop-v1")
    assert revision["spec"]["application"]["spec"] == world.get(APPLICATIONS, "shop")["spec"]
    (part,) = revision["spec"]["components"]
    assert part["raw"]["spec"]["workload"]["kind"] == "Deployment"
    (configured,) = revision["spec"]["applicationConfiguration"]["spec"]["components"]
    assert (configured["componentName"], configured["traits"][0]["trait"]["kind"]) == ("web", "Service")
    assert world.controller(APPLICATION_REVISIONS, "shop-v1") == "shop"
    latest = world.status(APPLICATIONS, "shop")["latestRevision"]
    assert latest == {"name": "shop-v1", "revision": 1, "revisionHash": digest(world, "shop-v1")}
    assert world.names(COMPONENTS) == world.names(CONFIGURATIONS) == world.names(DEPLOYMENTS) == []
    assert world.status(APPLICATIONS, "shop")["status"] == "rollingOut"


def test_another_spec_is_another_revision_and_the_same_one_is_none() -> None:
    world = kept(component("web:1"))
    world.apply(APPLICATIONS, "shop", labels={"team": "a"})
    world.play()
    assert world.names(APPLICATION_REVISIONS) == ["shop-v1"]

    world.apply(APPLICATIONS, "shop", an_application(component("web:2")))
    world.play()

    assert world.names(APPLICATION_REVISIONS) == ["shop-v1", "shop-v2"]
    assert digest(world, "shop-v1") != digest(world, "shop-v2")
    assert world.status(APPLICATIONS, "shop")["latestRevision"]["name"] == "shop-v2"


def test_the_plan_of_an_application_is_no_part_of_what_it_is() -> None:
    world = kept(component("web:1"))
    world.apply(APPLICATIONS, "shop", {**an_application(component("web:1")), "rolloutPlan": {"numBatches": 3}})
    world.play()

    assert world.names(APPLICATION_REVISIONS) == ["shop-v1"]


def test_another_definition_is_another_revision() -> None:
    world = World()
    template = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"minReadySeconds": 1}}
    own = {"definitionRef": {"name": "deployments.apps"}, "schematic": {"kube": {"template": template}}}
    trait = {
        "definitionRef": {"name": "services"},
        "schematic": {"kube": {"template": {"apiVersion": "v1", "kind": "Service"}}},
    }
    world.apply(WORKLOAD_DEFINITIONS, "own", own)
    world.apply(TRAIT_DEFINITIONS, "reach", trait)
    spec = an_application({"name": "web", "type": "own", "traits": [{"name": "reach"}]})
    world.apply(APPLICATIONS, "shop", spec, annotations=TEMPLATE)
    world.play()
    revision = world.get(APPLICATION_REVISIONS, "shop-v1")["spec"]
    assert revision["workloadDefinitions"]["own"]["spec"] == own
    assert revision["traitDefinitions"]["reach"]["spec"] == trait

    world.apply(WORKLOAD_DEFINITIONS, "own", {**own, "extension": {"by": "somebody"}})
    world.play()

    assert world.names(APPLICATION_REVISIONS) == ["shop-v1", "shop-v2"]


def test_an_application_for_revisions_only_is_never_more() -> None:
    world = kept(component("web:1"), annotations=REVISION_ONLY)
    assert world.names(APPLICATION_REVISIONS) == ["shop-v1"]
    assert world.names(COMPONENTS) == world.names(CONFIGURATIONS) == []

    world.apply(APPLICATIONS, "shop", annotations={})
    world.play()

    assert world.names(CONFIGURATIONS) == ["shop-v1"]
    assert world.status(APPLICATIONS, "shop")["status"] == "running"


def test_what_runs_goes_on_while_its_next_specs_are_only_kept() -> None:
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1", replicas=2)))
    world.play()
    before = world.get(DEPLOYMENTS, "web")["spec"]
    world.apply(APPLICATIONS, "shop", an_application(component("web:2", replicas=2)), annotations=REVISION_ONLY)
    world.play()

    assert world.get(DEPLOYMENTS, "web")["spec"] == before
    assert world.names(APPLICATION_REVISIONS) == ["shop-v2"]

    world.apply(APPLICATIONS, "shop", annotations={})
    world.play()

    assert world.get(DEPLOYMENTS, "web")["spec"]["template"]["spec"]["containers"][0]["image"] == "web:2"
    assert world.status(APPLICATIONS, "shop")["latestRevision"]["name"] == "shop-v2"


def test_what_cannot_be_rendered_is_told_and_not_kept() -> None:
    world = kept({"name": "web", "type": "nothing"})

    assert world.names(APPLICATION_REVISIONS) == []
    status, said = world.condition(APPLICATIONS, "shop", "Parsed")
    assert status == "False"
    assert "there is no WorkloadDefinition" in said


def test_the_oldest_go_above_the_limit_and_numbers_are_not_used_again() -> None:
    world = kept(component("web:0"), settings=PlanSettings(application_revision_limit=1))
    for image in ("web:1", "web:2"):
        world.apply(APPLICATIONS, "shop", an_application(component(image)))
        world.play()
    assert world.names(APPLICATION_REVISIONS) == ["shop-v2", "shop-v3"]

    for name in ("shop-v2", "shop-v3"):
        world.delete(APPLICATION_REVISIONS, name)
    world.apply(APPLICATIONS, "shop", an_application(component("web:4")))
    world.play()

    assert world.names(APPLICATION_REVISIONS) == ["shop-v4"]


def test_a_revision_that_was_not_made_before_the_process_died_is_made_under_its_number() -> None:
    other = kept(component("web:1"))
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component("web:1")), annotations=TEMPLATE)
    assert lived(world) > 1

    assert outside(world) == outside(other)


def test_an_application_deployment_takes_on_what_is_kept() -> None:
    world = kept(component("web:1", {"name": "hpa", "properties": {"max": 3}}))
    spec = {"targetApplicationName": "shop", "rolloutPlan": {"targetSize": 2}}
    world.apply(APPLICATION_DEPLOYMENTS, "d", spec)
    world.play()

    assert world.status(APPLICATION_DEPLOYMENTS, "d")["rollingState"] == "rolloutSucceed"
    assert world.names(APPLICATION_REVISIONS) == ["shop-v1"]
    assert "shop-v1" in world.names(CONFIGURATIONS)


def test_a_cluster_without_the_kind_keeps_nothing(monkeypatch: Any) -> None:
    monkeypatch.setattr(worlds, "SERVED", tuple(each for each in worlds.SERVED if each != APPLICATION_REVISIONS))
    world = kept(component("web:1"))

    assert world.names(APPLICATION_REVISIONS) == []
    assert world.status(APPLICATIONS, "shop")["status"] == "rollingOut"
