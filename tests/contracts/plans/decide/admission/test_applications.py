"""What an Application may say and when it may be marked (A-4), and what an ApplicationConfiguration may say."""

from __future__ import annotations

from time import process_time
from typing import Any

import msgspec
import pytest

from fairlead.contracts.plans.decide.admission.reviews import (
    ReviewSnapshot,
    validate_application,
    validate_configuration,
)
from fairlead.contracts.plans.kinds import COMPONENTS, Json
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Need, Read
from fairlead.core.decision import Admit
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.meta import Ref
from tests.contracts.plans.decide.admission.test_deployments import API, WEB, a_review, an_application
from tests.contracts.plans.decide.admission.test_validation import NOON

TEMPLATE = "app.oam.dev/rollout-template"
ADDED = f"metadata.annotations[{TEMPLATE}]: Forbidden: cannot add a rollout annotation on an existing application"


def marked(value: str | None, *components: Json, **metadata: Any) -> Json:
    annotations = {} if value is None else {"annotations": {TEMPLATE: value}}
    return {**an_application(*(components or (WEB,))), "metadata": {"name": "d", **annotations, **metadata}}


def told(answer: Admit) -> str:
    assert answer.allowed or answer.code == 422
    return answer.message.partition("is invalid: ")[2]


def application(new: Json, old: Json | None = None) -> str:
    return told(validate_application(ReviewSnapshot(a_review(new, old)), NOON))


@pytest.mark.parametrize("before", [None, "false", "True", ""])
def test_a_4_an_application_that_is_there_cannot_be_marked(before: str | None) -> None:
    assert application(marked("true"), marked(before)) == ADDED
    assert application(marked("true", WEB, API), marked(before)) == ADDED


def test_a_4_a_mark_may_come_with_the_application_and_stay_and_go() -> None:
    assert application(marked("true")) == ""
    assert application(marked("true", WEB, API), marked("true")) == ""
    assert application(marked(None), marked("true")) == ""
    assert application(marked("false"), marked(None)) == ""


def test_one_that_is_being_deleted_may_always_lose_its_finalizers() -> None:
    deleted = marked("true", WEB, WEB, deletionTimestamp="2030-01-01T00:00:00Z")

    assert application(deleted, marked(None)) == ""


def test_names_of_components_are_unique() -> None:
    both = marked(None, WEB, {**API, "name": "web"}, {"type": "worker"})

    assert application(both) == (
        '[spec.components[1].name: Invalid value: "web": must not be the name of two components, '
        "spec.components[2].name: Required value]"
    )
    assert application(both, both) == "", "it is stored already"


@pytest.mark.parametrize(
    ("component", "sentence"),
    [
        ({"componentName": "web"}, ""),
        ({"revisionName": "web-v1"}, ""),
        (
            {"componentName": "web", "revisionName": "web-v1"},
            "spec.components[0].revisionName: Forbidden: may not be given together with componentName, which is web",
        ),
        (
            {"traits": [{"trait": {"kind": "RolloutTrait"}}, 7]},
            "spec.components[0].componentName: Required value: name the component, or a revision of it in revisionName",
        ),
        (
            7,
            "spec.components[0].componentName: Required value: name the component, or a revision of it in revisionName",
        ),
    ],
)
def test_a_configuration_names_a_component_in_one_way(component: Json, sentence: str) -> None:
    given = {"metadata": {"name": "d"}, "spec": {"components": [component]}}

    assert configuration(given) == sentence


def a_configuration(*traits: Json, **component: Any) -> Json:
    named = component or {"componentName": "web"}
    return {
        "metadata": {"name": "d"},
        "spec": {"components": [{**named, "traits": [{"trait": each} for each in traits]}]},
    }


def configuration(given: Json, there: dict[Ref, Answer] | None = None, definitions: list[Json] | None = None) -> str:
    """What is said of it, in a cluster with these objects and TraitDefinitions."""
    known: dict[Any, Answer] = {}
    while isinstance(answer := judge(given, known), Need):
        for question in answer.stages[0]:
            assert isinstance(question, Ask)
            match question.to:
                case Listing():
                    known[question] = Good(msgspec.json.encode({"items": definitions or []}))
                case Read(ref):
                    known[question] = (there or {}).get(ref, Bad("absent"))
    return told(answer)


def judge(given: Json, known: dict[Any, Answer]) -> Admit | Need:
    return validate_configuration(ReviewSnapshot(a_review(given), Answers(known)), NOON)


SCALER: Json = {"apiVersion": "core.oam.dev/v1alpha2", "kind": "ManualScalerTrait"}
ROLLOUT: Json = {"apiVersion": "standard.oam.dev/v1alpha1", "kind": "RolloutTrait"}
WIDGET: Json = {"apiVersion": "example.test/v1", "kind": "Widget"}
OF_WIDGETS: Json = {
    "metadata": {"name": "widget"},
    "spec": {"definitionRef": {"name": "widgets.example.test"}, "appliesToWorkloads": ["deployments.apps"]},
}
COMPONENT: Json = {"spec": {"workload": {"apiVersion": "apps/v1", "kind": "StatefulSet"}}}


def test_d_11_traits_that_conflict_are_refused() -> None:
    said = configuration(a_configuration(ROLLOUT, SCALER))

    assert said == (
        "spec.components[0].traits: Forbidden: the traits rollout and scaler of the component web conflict: "
        "rollout is not to be combined with scaler"
    )
    assert configuration(a_configuration(ROLLOUT)) == ""


@pytest.mark.parametrize(
    ("component", "there"),
    [
        ({"componentName": "web"}, {Ref(COMPONENTS, "ns", "web"): COMPONENT}),
        ({"revisionName": "web-v1"}, {Ref(CONTROLLER_REVISIONS, "ns", "web-v1"): {"data": COMPONENT}}),
    ],
)
def test_d_11_a_trait_for_other_workloads_is_refused(component: Json, there: dict[Ref, Json]) -> None:
    found: dict[Ref, Answer] = {ref: Good(msgspec.json.encode(tree)) for ref, tree in there.items()}
    (name,) = component.values()

    said = configuration(a_configuration(WIDGET, **component), found, [OF_WIDGETS])

    assert said == (
        f"spec.components[0].traits: Forbidden: the trait widget of the component {name} is for deployments.apps, "
        "and not for a StatefulSet"
    )
    assert configuration(a_configuration(WIDGET, **component), {}, [OF_WIDGETS]) == "", "it is not there yet"


def test_d_11_definitions_that_cannot_be_read_now_are_no_refusal_for_ever() -> None:
    first = judge(a_configuration(ROLLOUT), {})
    assert isinstance(first, Need)

    answer = judge(a_configuration(ROLLOUT), {each: Bad("timeout") for each in first.stages[0]})

    assert isinstance(answer, Admit)
    assert (answer.code, answer.message) == (503, "traitdefinitions cannot be listed: timeout: try again")


@pytest.mark.parametrize(
    "given",
    [
        a_configuration(*[ROLLOUT] * 4_000),
        {"metadata": {"name": "d"}, "spec": {"components": a_configuration(ROLLOUT)["spec"]["components"] * 20_000}},
    ],
    ids=["traits", "components"],
)
def test_a_review_of_very_many_of_them_takes_time_by_their_number(given: Json) -> None:
    """Whoever reaches the webhook may send eight megabytes, and everybody else waits meanwhile."""
    begun = process_time()

    assert configuration(given) == ""

    assert process_time() - begun < 5
