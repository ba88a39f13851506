"""What becomes of an Application (section 2.8): workloads and traits, or one sentence about what to correct."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.plans.applications.kinds import (
    ApplicationSpec,
    KubeSchematic,
    Parameter,
    Schematic,
    TraitDefinitionSpec,
    WorkloadDefinitionSpec,
)
from fairlead.contracts.plans.decide.applications.built_in import RenderFault
from fairlead.contracts.plans.decide.applications.definitions import Definitions, TraitDefinition
from fairlead.contracts.plans.decide.applications.rendering import Rendered, rendered
from fairlead.contracts.plans.decide.reading import read

JOB = WorkloadDefinitionSpec(
    schematic=Schematic(
        KubeSchematic(
            template={"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"serviceName": "all"}},
            parameters=(
                Parameter("image", "string", ("spec.template.spec.containers[0].image",), True),
                Parameter("size", "number", ("spec.replicas", "metadata.annotations.size")),
                Parameter("orphan", "boolean", ("spec.orphan",)),
            ),
        )
    )
)
QUOTA = TraitDefinition(
    "quota",
    TraitDefinitionSpec(
        schematic=Schematic(
            KubeSchematic({"apiVersion": "v1", "kind": "ResourceQuota"}, (Parameter("a", "", ("spec.a",)),))
        )
    ),
)
KNOWN = Definitions({"job": JOB, "cue": WorkloadDefinitionSpec()}, {"quota": QUOTA})


def made(*components: dict[str, Any]) -> tuple[Rendered, ...] | RenderFault:
    spec, wrong = read(ApplicationSpec, {"components": [*components]}, "spec")
    assert not wrong
    return rendered(spec, KNOWN)


def one(**component: Any) -> Rendered:
    found = made({"name": "web", **component})
    assert not isinstance(found, RenderFault), found.text
    return found[0]


def test_a_web_service_is_a_deployment_with_a_port_and_the_component_in_its_labels() -> None:
    found = one(type="webservice", settings={"image": "web:1", "cmd": ["run"], "env": [{"name": "A"}], "cpu": "100m"})

    spec = found.workload["spec"]
    container = spec["template"]["spec"]["containers"][0]
    assert (found.workload["apiVersion"], found.workload["kind"]) == ("apps/v1", "Deployment")
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"] == {"app.oam.dev/component": "web"}
    assert container["ports"] == [{"containerPort": 80}]
    assert (container["command"], container["env"]) == (["run"], [{"name": "A"}])
    assert container["resources"]["limits"] == {"cpu": "100m"}
    assert "replicas" not in spec


def test_a_worker_has_no_port_and_a_clone_set_service_is_a_clone_set_with_its_size() -> None:
    worker = one(type="worker", settings={"image": "w"})
    clones = one(type="clonesetservice", settings={"image": "w", "port": 8080, "replicas": 3})

    assert "ports" not in worker.workload["spec"]["template"]["spec"]["containers"][0]
    assert (clones.workload["kind"], clones.workload["spec"]["replicas"]) == ("CloneSet", 3)


def test_raw_settings_are_the_object_as_it_is() -> None:
    tree = {"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"x": [1]}}

    assert one(type="raw", settings=tree).workload == tree


def test_a_definition_fills_its_template_at_every_path_of_a_parameter() -> None:
    found = one(type="job", settings={"image": "a:2", "size": 4})

    assert found.workload["spec"]["template"]["spec"]["containers"] == [{"image": "a:2"}]
    assert found.workload["spec"]["replicas"] == 4
    assert found.workload["metadata"]["annotations"]["size"] == 4
    assert found.workload["spec"]["serviceName"] == "all"


def test_built_in_traits_are_objects_named_after_their_component() -> None:
    found = one(
        type="worker",
        settings={"image": "w"},
        traits=[
            {"name": "rollout", "properties": {"numBatches": 2}},
            {"name": "hpa", "properties": {"min": 2, "max": 4}},
            {"name": "expose", "properties": {"port": [80, 443]}},
            {"name": "scaler", "properties": {"replicas": 5}},
            {"name": "quota", "properties": {"a": 1}},
        ],
    )

    trees = {each.definition: each.tree for each in found.traits}
    assert trees["rollout"]["spec"] == {"rolloutPlan": {"numBatches": 2}}
    assert trees["hpa"]["spec"]["maxReplicas"] == 4
    assert [each["port"] for each in trees["expose"]["spec"]["ports"]] == [80, 443]
    assert trees["expose"]["spec"]["selector"] == {"app.oam.dev/component": "web"}
    assert trees["scaler"]["spec"] == {"replicaCount": 5}
    assert trees["quota"]["metadata"]["name"] == "web-quota"
    assert all(each["metadata"]["labels"]["trait.oam.dev/type"] == name for name, each in trees.items())


@pytest.mark.parametrize(
    ("components", "said"),
    [
        ([], "has no components"),
        ([{"name": "a", "type": "worker", "settings": {"image": "x"}}] * 2, "the component a is there twice"),
        ([{"name": "A b", "type": "worker"}], "write lower-case letters"),
        ([{"name": "a", "type": "worker"}], "has no image: write settings.image"),
        ([{"name": "a", "type": "webservice", "settings": {"image": "x", "port": 0}}], "settings.port 0"),
        ([{"name": "a", "type": "worker", "settings": {"image": "x", "replicas": -1}}], "settings.replicas -1"),
        ([{"name": "a", "type": "worker", "settings": {"image": "x", "env": {}}}], "settings.env that are no list"),
        ([{"name": "a", "type": "raw", "settings": {"kind": "Pod"}}], "give them apiVersion and kind"),
        ([{"name": "a", "type": "helm"}], "for which there is no WorkloadDefinition: create one"),
        ([{"name": "a", "type": "cue"}], "no other schematic is rendered here"),
        ([{"name": "a", "type": "job"}], "lacks the parameter image"),
        ([{"name": "a", "type": "job", "settings": {"image": 3}}], "must be a string"),
        ([{"name": "a", "type": "job", "settings": {"image": "x", "size": True}}], "must be a number"),
        ([{"name": "a", "type": "job", "settings": {"image": "x", "sise": 1}}], "has no parameter sise"),
    ],
)
def test_a_broken_component_is_one_sentence(components: list[dict[str, Any]], said: str) -> None:
    found = made(*components)

    assert isinstance(found, RenderFault)
    assert said in found.text


@pytest.mark.parametrize(
    ("trait", "said"),
    [
        ({"name": "ingress"}, "for which there is no TraitDefinition"),
        ({"name": "scaler"}, "needs a number of replicas"),
        ({"name": "hpa", "properties": {"min": 5, "max": 2}}, "min being the smaller"),
        ({"name": "hpa", "properties": {"cpuUtil": 0}}, "cpuUtil above 0"),
        ({"name": "expose"}, "needs a list port"),
        ({"name": "expose", "properties": {"port": ["http"]}}, "needs a list port"),
        ({"name": "quota", "properties": {"b": 1}}, "has no parameter b"),
    ],
)
def test_a_broken_trait_is_one_sentence(trait: dict[str, Any], said: str) -> None:
    found = made({"name": "web", "type": "worker", "settings": {"image": "x"}, "traits": [trait]})

    assert isinstance(found, RenderFault)
    assert said in found.text


def test_a_trait_that_is_there_twice_is_refused() -> None:
    expose = {"name": "expose", "properties": {"port": 80}}

    found = made({"name": "web", "type": "worker", "settings": {"image": "x"}, "traits": [expose, expose]})

    assert isinstance(found, RenderFault)
    assert "has the trait expose twice" in found.text
