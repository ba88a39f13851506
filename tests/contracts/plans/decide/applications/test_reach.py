"""What the operator makes of applications stays where their authors have rights."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.contracts.plans.decide.applications.asking import known, resources
from fairlead.contracts.plans.kinds import APPLICATIONS, COMPONENTS, CONFIGURATIONS, Json, WorkloadReference
from fairlead.core.act import Create
from fairlead.core.ask import Answer, Answers, Ask, Discover, Good, Need, Question
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Resource, ServedVersion
from tests.contracts.plans.decide.applications.world import World

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
OUTSIDE = "is in no namespace, and only what is in that of the application is made for it"
KEPT_BACK = {
    DEFINITIONS: f"a CustomResourceDefinition {OUTSIDE}",
    BINDINGS: "a RoleBinding gives rights that whoever writes an application need not have: create it yourself",
    SECRETS: "the contents of a Secret would be readable in the component and in what was applied: create it yourself",
}


def discovered(question: Question) -> Answer | None:
    """All of them are served, and the operator may have the rights to them."""
    if isinstance(question, Ask) and isinstance(question.to, Discover):
        found = [each for each in KEPT_BACK if (each.group, each.kind) == (question.to.group, question.to.kind)]
        return Good(msgspec.json.encode([ServedVersion(each) for each in found])) if found else None
    return None


class Everything(World):
    def _answer(self, question: Question) -> Answer:
        return discovered(question) or super()._answer(question)


def an_object(resource: Resource) -> Json:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "mine"}, "spec": {}}


def made(world: World) -> set[Resource]:
    return {each.resource for each in world.writes if isinstance(each, Create)}


@pytest.mark.parametrize(("resource", "said"), KEPT_BACK.items(), ids=[each.plural for each in KEPT_BACK])
def test_no_component_is_made_that_reaches_further_than_its_author(resource: Resource, said: str) -> None:
    world = Everything()
    raw = {"name": "web", "type": "raw", "settings": an_object(resource)}

    world.apply(APPLICATIONS, "shop", {"components": [raw]})
    world.play()

    assert resource not in made(world)
    assert world.condition(CONFIGURATIONS, "shop-v1", "Synced") == ("False", said)


@pytest.mark.parametrize(("resource", "said"), KEPT_BACK.items(), ids=[each.plural for each in KEPT_BACK])
def test_and_neither_is_such_a_trait(resource: Resource, said: str) -> None:
    world = Everything()
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {}}
    component = {"componentName": "web", "traits": [{"trait": an_object(resource)}]}

    world.apply(COMPONENTS, "web", {"workload": workload})
    world.apply(CONFIGURATIONS, "shop", {"components": [component]})
    world.play()

    assert resource not in made(world)
    assert world.condition(CONFIGURATIONS, "shop", "Synced") == ("False", said)


@pytest.mark.parametrize("resource", KEPT_BACK, ids=[each.plural for each in KEPT_BACK])
def test_what_a_status_names_is_neither_read_nor_changed_nor_deleted(resource: Resource) -> None:
    reference = WorkloadReference(resource.api_version, resource.kind, "mine")

    need = known(resources((reference,)), Answers())
    assert isinstance(need, Need)
    answers = {each: found for stage in need.stages for each in stage if (found := discovered(each)) is not None}

    assert known(resources((reference,)), Answers(answers)) == {}
