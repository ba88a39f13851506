"""What a server says of a refused object is told without the values of the object."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.apiversions.decide.preflight.refusals import without_values
from tests.contracts.apiversions.decide.widgets import TEXT, made_of, widget

NUMBER: dict[str, Any] = {"type": "integer", "maximum": 3, "minimum": 0.5}
SCHEMA = made_of(spec=made_of(size=NUMBER, mode={**TEXT, "enum": ["soft", "hard"], "pattern": "^[a-z]+$"}, token=TEXT))
OBJECT = widget("v1", spec={"size": 4711, "mode": "odd", "token": "hunter2"})


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Invalid value: 4711: spec.size in body should be less than or equal to 3",
            "spec.size in body should be less than or equal to 3",
        ),
        ("Invalid value: -0.25: spec.size in body should be above 0.5", "spec.size in body should be above 0.5"),
        ('Unsupported value: "odd": supported values: "soft", "hard"', 'supported values: "soft", "hard"'),
        ('Invalid value: "a\\"hunter2 b": must not be hunter2', "must not be …"),
        ("Invalid value: \"odd\": spec.mode should match '^[a-z]+$'", "spec.mode should match '^[a-z]+$'"),
        ("Duplicate value: 4711", "Duplicate value"),
        ('Duplicate value: map[string]interface {}{"name":"web", "weight":4711}', "Duplicate value"),
        ('Invalid value: {"a":1,"weight":4711}: must have one', "must have one"),
        ("Not found: 4711", "Not found"),
        ("spec.parts[7].weight in body must be of type string", "spec.parts[*].weight in body must be of type string"),
        ("Required value: spec.mode is needed", "Required value: spec.mode is needed"),
        (
            'Widget.example.test "w" is invalid: [spec.size: Invalid value: 4711: too big, spec.mode: Required value]',
            "Widget.example.test … is invalid: [spec.size: Invalid value: too big, spec.mode: Required value]",
        ),
        ("Too long: may not be more than 12345 bytes", "Too long: may not be more than … bytes"),
        ('Invalid value: "object": 4711 is not 4.25e3', "… is not …"),
        ("Invalid value: \"string\": the token 'hunter2' is weak", "the token … is weak"),
    ],
)  # fmt: skip
def test_values_go_and_what_the_schema_says_stays(said: str, told: str) -> None:
    shown = without_values(said, SCHEMA, OBJECT)

    assert shown.endswith(told)
    assert not [secret for secret in ("4711", "hunter2", "odd", "0.25", "12345") if secret in shown]


def test_a_message_that_is_computed_shows_no_words_of_the_object() -> None:
    rule = {"rule": "false", "messageExpression": "'the word ' + self.token.split(' ')[0] + ' is known'"}
    schema = {**SCHEMA, "x-kubernetes-validations": [rule]}
    tree = widget("v1", spec={"token": "correct horse battery"})

    shown = without_values('Invalid value: "object": the word correct is known', schema, tree)

    assert shown == "the word … is known"


def test_a_webhook_that_quotes_without_quotes_shows_no_words_of_the_object() -> None:
    tree = widget("v1", spec={"token": "correct horse battery"})

    shown = without_values('admission webhook "a.test" denied the request: token battery is known', SCHEMA, tree)

    assert shown == "admission webhook … denied the request: token … is known"
