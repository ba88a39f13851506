"""What an Application may say and when it may be marked (A-4), and what an ApplicationConfiguration may say."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.plans.decide.admission.reviews import (
    ReviewSnapshot,
    validate_application,
    validate_configuration,
)
from fairlead.contracts.plans.kinds import Json
from fairlead.core.decision import Admit
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
            {"traits": []},
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

    answer = validate_configuration(ReviewSnapshot(a_review(given)), NOON)

    assert told(answer) == sentence
