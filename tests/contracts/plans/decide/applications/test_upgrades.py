"""Applications without a rollout: they are rendered, and upgraded in place (U-1 to U-5)."""

from __future__ import annotations

from time import process_time

import pytest

from fairlead.contracts.plans.kinds import APPLICATIONS, AUTOSCALERS, COMPONENTS, CONFIGURATIONS, ROLLOUT_TRAITS, Json
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.decision import Hold
from kubeloop.objects.apps import CONTROLLER_REVISIONS, DEPLOYMENTS
from kubeloop.objects.core import SERVICES
from tests.contracts.plans.decide.applications.world import Died, World, an_application, component, outside

EXPOSE: Json = {"name": "expose", "properties": {"port": [80]}}
HPA: Json = {"name": "hpa", "properties": {"min": 1, "max": 3}}
SCALER: Json = {"name": "scaler", "properties": {"replicas": 4}}


def running(*components: Json, settings: PlanSettings | None = None) -> World:
    world = World(settings)
    world.apply(APPLICATIONS, "shop", an_application(*(components or (component(),))))
    world.play()
    return world


def image(world: World, name: str = "web") -> str:
    found: str = world.get(DEPLOYMENTS, name)["spec"]["template"]["spec"]["containers"][0]["image"]
    return found


def test_an_application_becomes_a_component_a_revision_a_configuration_and_a_workload() -> None:
    world = running(component("web:1", EXPOSE, HPA, replicas=2))

    assert world.owners(COMPONENTS, "web") == ["shop"]
    assert world.controller(COMPONENTS, "web") == ""
    configuration = world.get(CONFIGURATIONS, "shop-v1")
    assert configuration["spec"]["components"][0]["revisionName"] == "web-v1"
    assert world.controller(CONFIGURATIONS, "shop-v1") == "shop"
    deployment = world.get(DEPLOYMENTS, "web")
    assert deployment["metadata"]["labels"] == {
        "app.oam.dev/name": "shop",
        "app.oam.dev/component": "web",
        "app.oam.dev/revision": "web-v1",
        "app.oam.dev/resourceType": "WORKLOAD",
    }
    assert deployment["spec"]["template"]["metadata"]["labels"]["app.oam.dev/revision"] == "web-v1"
    assert deployment["spec"]["selector"]["matchLabels"] == {"app.oam.dev/component": "web"}
    assert world.controller(DEPLOYMENTS, "web") == "shop-v1"
    assert world.size("web") == 2
    assert world.get(AUTOSCALERS, "web")["spec"]["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
    }
    assert world.get(SERVICES, "web")["metadata"]["labels"]["app.oam.dev/resourceType"] == "TRAIT"


def test_its_status_tells_phase_conditions_components_and_latest_revision() -> None:
    world = running()

    status = world.status(APPLICATIONS, "shop")
    assert status["status"] == "running"
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "Parsed": "True",
        "Built": "True",
        "Applied": "True",
        "HealthCheck": "True",
    }
    assert status["latestRevision"]["name"] == "shop-v1"
    assert status["components"] == [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}]
    assert status["services"] == [{"name": "web", "healthy": True}]
    hash_label = world.get(CONFIGURATIONS, "shop-v1")["metadata"]["labels"]["app.oam.dev/appConfig-hash"]
    assert hash_label == status["latestRevision"]["revisionHash"]
    assert world.status(CONFIGURATIONS, "shop-v1")["rollingStatus"] == "RollingCompleted"


def test_another_image_is_a_new_configuration_on_the_same_workload() -> None:
    world = running()
    world.change(DEPLOYMENTS, "web", replicas=7)
    uid = world.get(DEPLOYMENTS, "web")["metadata"]["uid"]

    world.apply(APPLICATIONS, "shop", an_application(component("web:2")))
    world.play()

    assert world.names(CONFIGURATIONS) == ["shop-v1", "shop-v2"]
    assert world.annotations(CONFIGURATIONS, "shop-v2")["app.oam.dev/appconfig-rollout"] == "true"
    assert world.annotations(CONFIGURATIONS, "shop-v1")["app.oam.dev/app-revision"] == "true"
    assert world.status(CONFIGURATIONS, "shop-v1")["rollingStatus"] == "InactiveAfterRollingCompleted"
    assert world.names(DEPLOYMENTS) == ["web"]
    assert world.get(DEPLOYMENTS, "web")["metadata"]["uid"] == uid
    assert (image(world), world.size("web")) == ("web:2", 7)
    assert world.owners(DEPLOYMENTS, "web") == ["shop-v2"]
    assert world.controller(DEPLOYMENTS, "web") == "shop-v2"


def test_the_same_manifest_again_writes_nothing() -> None:
    world = running(component("web:1", EXPOSE))
    before = len(world.writes)

    world.apply(APPLICATIONS, "shop", an_application(component("web:1", EXPOSE)), labels={"again": "yes"})
    world.play()

    assert len(world.writes) == before


def test_a_size_that_the_settings_give_up_stays_and_one_that_they_change_is_written() -> None:
    world = running(component("web:1", replicas=3))

    world.apply(APPLICATIONS, "shop", an_application(component("web:1", replicas=5)))
    world.play()
    assert world.size("web") == 5
    world.apply(APPLICATIONS, "shop", an_application(component("web:2")))
    world.play()

    assert (image(world), world.size("web")) == ("web:2", 5)


def test_a_scaler_is_the_size_of_the_workload_and_no_object() -> None:
    world = running(component("web:1", SCALER))

    assert world.size("web") == 4
    assert world.get(CONFIGURATIONS, "shop-v1")["spec"]["components"][0]["traits"][0]["trait"]["kind"] == (
        "ManualScalerTrait"
    )


def test_traits_that_are_gone_from_the_application_are_deleted_and_others_change_hands() -> None:
    world = running(component("web:1", EXPOSE, HPA))

    world.apply(APPLICATIONS, "shop", an_application(component("web:1", EXPOSE)))
    world.play()

    assert not world.has(AUTOSCALERS, "web")
    assert world.owners(SERVICES, "web") == ["shop-v2"]


def test_fields_that_somebody_else_set_stay() -> None:
    world = running()
    world.change(DEPLOYMENTS, "web", minReadySeconds=9)

    world.apply(APPLICATIONS, "shop", an_application(component("web:2")))
    world.play()

    assert world.get(DEPLOYMENTS, "web")["spec"]["minReadySeconds"] == 9


def test_inactive_configurations_above_the_limit_go_oldest_first() -> None:
    world = running(settings=PlanSettings(application_revision_limit=2))
    for number in range(2, 6):
        world.apply(APPLICATIONS, "shop", an_application(component(f"web:{number}")))
        world.play()

    assert world.names(CONFIGURATIONS) == ["shop-v3", "shop-v4", "shop-v5"]
    assert world.has(DEPLOYMENTS, "web")


def test_two_applications_share_a_component_by_name_and_do_not_fight_over_it() -> None:
    world = running()
    world.apply(APPLICATIONS, "store", an_application(component("web:9", name="web")))
    world.play()

    assert world.owners(COMPONENTS, "web") == ["shop", "store"]
    assert world.names(CONTROLLER_REVISIONS) == ["web-v1", "web-v2"]
    status, said = world.condition(CONFIGURATIONS, "store-v1", "Synced")
    assert status == "False"
    assert said == "the Deployment web is controlled by the ApplicationConfiguration shop-v1: rename the component"
    assert image(world) == "web:1"


def test_what_a_rollout_holds_is_left_alone_until_it_is_released() -> None:
    world = running()
    claim = {"apiVersion": "standard.oam.dev/v1alpha1", "kind": "RolloutTrait", "name": "r", "uid": "u"}
    held = [{**claim, "controller": True}]
    world.apply(DEPLOYMENTS, "web", ownerReferences=held)
    version = world.get(DEPLOYMENTS, "web")["metadata"]["resourceVersion"]

    world.apply(APPLICATIONS, "shop", an_application(component("web:2", replicas=1)))
    world.play()

    assert world.get(DEPLOYMENTS, "web")["metadata"]["resourceVersion"] == version
    assert "app.oam.dev/app-revision" not in world.annotations(CONFIGURATIONS, "shop-v1")
    world.apply(DEPLOYMENTS, "web", ownerReferences=[])
    world.play()
    assert image(world) == "web:2"
    assert world.annotations(CONFIGURATIONS, "shop-v1")["app.oam.dev/app-revision"] == "true"


def test_a_workload_that_a_rollout_names_is_not_controlled_until_the_rollout_has_ended() -> None:
    world = running()
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    world.apply(ROLLOUT_TRAITS, "r", {"targetRef": reference, "rolloutPlan": {}, "x": 1})

    world.run(CONFIGURATIONS, "shop-v1")
    assert world.controller(DEPLOYMENTS, "web") == ""
    assert world.owners(DEPLOYMENTS, "web") == ["shop-v1"]
    ended = {**world.get(ROLLOUT_TRAITS, "r"), "status": {"rollingState": "rolloutFailed", "observedGeneration": 1}}
    world.objects[ROLLOUT_TRAITS, "r"] = ended
    world.run(CONFIGURATIONS, "shop-v1")

    assert world.controller(DEPLOYMENTS, "web") == "shop-v1"


def test_a_foreign_workload_of_the_name_is_not_taken() -> None:
    world = World()
    world.apply(DEPLOYMENTS, "web", {"replicas": 1, "template": {"spec": {}}})
    world.apply(APPLICATIONS, "shop", an_application(component()))
    world.play()

    assert world.condition(CONFIGURATIONS, "shop-v1", "Synced")[1] == (
        "the Deployment web is there already and is of no application: delete it, or rename the component"
    )
    assert world.get(DEPLOYMENTS, "web")["spec"] == {"replicas": 1, "template": {"spec": {}}}


def test_a_workload_that_another_application_left_behind_is_not_taken() -> None:
    world = running()
    world.delete(APPLICATIONS, "shop")
    world.delete(CONFIGURATIONS, "shop-v1")
    world.apply(DEPLOYMENTS, "web", ownerReferences=[])
    world.apply(APPLICATIONS, "store", an_application(component("web:9")))
    world.play()

    assert world.condition(CONFIGURATIONS, "store-v1", "Synced") == (
        "False",
        "the Deployment web is that of the application shop: rename the component",
    )
    assert image(world) == "web:1"


def test_what_the_api_server_refuses_is_told_and_the_rest_waits() -> None:
    world = World()
    settings = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": {"refuse-me": "x"}}, "spec": {}}
    world.apply(APPLICATIONS, "shop", {"components": [{"name": "web", "type": "raw", "settings": settings}]})
    world.play()

    assert world.condition(CONFIGURATIONS, "shop-v1", "Synced") == (
        "False",
        "Deployment web was refused: it asks for it",
    )


@pytest.mark.parametrize(
    ("components", "said"),
    [
        ([component(kind="cue")], "for which there is no WorkloadDefinition"),
        ([component("x", {"name": "nobody"})], "for which there is no TraitDefinition"),
        ([{"name": "web", "type": "raw", "settings": {"apiVersion": "x.y/v1", "kind": "Z"}}], ""),
    ],
)
def test_bad_applications_are_told_in_one_sentence(components: list[Json], said: str) -> None:
    world = World()
    world.apply(APPLICATIONS, "shop", {"components": components})
    world.play()

    if said:
        assert said in world.condition(APPLICATIONS, "shop", "Parsed")[1]
        assert world.names(CONFIGURATIONS) == []
    else:
        told = world.condition(CONFIGURATIONS, "shop-v1", "Synced")[1]
        assert told == "this cluster does not serve Z of x.y/v1: install the kind"


def test_a_correction_heals_what_was_told() -> None:
    world = World()
    world.apply(APPLICATIONS, "shop", {"components": [component(kind="nothing")]})
    world.play()
    world.apply(APPLICATIONS, "shop", an_application(component()))
    world.play()

    assert world.status(APPLICATIONS, "shop")["status"] == "running"


@pytest.mark.parametrize("number", range(25))
def test_a_crash_at_any_write_of_an_upgrade_ends_in_the_same_state(number: int) -> None:
    whole, broken = running(component("web:1", EXPOSE, HPA)), running(component("web:1", EXPOSE, HPA))
    for world in (whole, broken):
        world.apply(APPLICATIONS, "shop", an_application(component("web:2", EXPOSE)))
    whole.play()

    broken.writes_left = number
    try:
        broken.play()
    except Died:
        broken.writes_left = None
        broken.play()

    assert outside(broken) == outside(whole)


def test_applications_that_a_newer_release_defines_are_left_to_it() -> None:
    """Section 2.16: nothing is written, whatever else is served."""
    world = World()
    world.versions["applications.core.oam.dev"] = ("v1alpha2", "v1beta1")
    world.apply(APPLICATIONS, "shop", an_application(component()))
    world.apply(COMPONENTS, "web", {"workload": {"apiVersion": "apps/v1", "kind": "Deployment"}})

    for resource, name in ((APPLICATIONS, "shop"), (COMPONENTS, "web")):
        verdict = world.run(resource, name).verdict
        assert isinstance(verdict, Hold)
        assert "has the version v1beta1, which this operator does not know" in verdict.details[0][1]
    assert world.writes == []


def test_very_many_traits_of_a_component_take_time_by_their_number() -> None:
    world = World()
    world.apply(COMPONENTS, "web", {"workload": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}}})
    world.play()
    traits = [{"trait": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"s{n}"}}} for n in range(8_000)]
    world.apply(CONFIGURATIONS, "shop", {"components": [{"componentName": "web", "traits": traits}]})
    begun = process_time()

    world.run(CONFIGURATIONS, "shop")

    assert process_time() - begun < 5
    assert len(world.names(SERVICES)) == 8_000
