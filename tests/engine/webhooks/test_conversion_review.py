"""Conversion reviews, bytes to bytes: what the API server checks in an answer, and whatever it may be sent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.contracts.environments.conversion_rules import RULES as ENVIRONMENTS
from fairlead.engine.conversion.review import ConversionAnswer, ConversionRule, Tree, answer, works
from tests.engine.webhooks.conversions import NEW, OLD, RULES, Unfit, a_review, a_widget, convert, nested


def response(converted: ConversionAnswer) -> Tree:
    tree: Tree = msgspec.json.decode(converted.body)["response"]
    return tree


def failed(converted: ConversionAnswer) -> str:
    """The message of an answer that converted nothing."""
    given = response(converted)
    assert given["result"]["status"] == "Failure"
    assert given["convertedObjects"] == []
    message: str = given["result"]["message"]
    assert message == converted.problem
    return message


def test_objects_are_converted_in_order_and_keep_their_metadata() -> None:
    sent = [a_widget(name) for name in ("b", "a", "c")]

    given = answer(a_review(*sent), RULES)

    assert given.status == 200
    assert msgspec.json.decode(given.body) == {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "response": {
            "uid": "uid-1",
            "result": {"status": "Success"},
            "convertedObjects": [{**each, "apiVersion": NEW, "spec": {"width": 1}} for each in sent],
        },
    }
    assert (given.objects, given.problem) == (3, "")


def test_a_review_of_the_older_version_is_answered_in_it() -> None:
    given = answer(a_review(a_widget(), version="v1beta1"), RULES)

    assert msgspec.json.decode(given.body)["apiVersion"] == "apiextensions.k8s.io/v1beta1"
    assert response(given)["result"] == {"status": "Success"}


def test_an_object_that_has_the_version_already_is_returned_byte_for_byte() -> None:
    text = b'{"kind":"Widget","apiVersion":"shop.example.com/v2","spec":{"width":1.50},"odd":null}'
    head, tail = a_review().split(b'"objects":[]')

    given = answer(head + b'"objects":[' + text + b"]" + tail, RULES)

    assert text in given.body


@pytest.mark.parametrize("objects", [b"[]", b"null"])
def test_no_objects_are_converted_to_none(objects: bytes) -> None:
    body = a_review().replace(b'"objects":[]', b'"objects":' + objects)

    assert response(answer(body, RULES))["convertedObjects"] == []


@pytest.mark.parametrize("metadata", [{}, {"metadata": None}])
def test_an_object_without_metadata_gets_an_empty_one(metadata: Tree) -> None:
    partial = {"apiVersion": OLD, "kind": "Widget", **metadata}

    given = answer(a_review(partial), RULES)

    assert response(given)["convertedObjects"] == [{"apiVersion": NEW, "kind": "Widget", "metadata": {}}]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b'"text"',
        b"null",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"request":' + b"[" * 100_000,
        a_review().replace(b"ConversionReview", b"AdmissionReview"),
        a_review().replace(b"apiextensions.k8s.io/v1", b"apiextensions.k8s.io/v2"),
        msgspec.json.encode({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}),
        msgspec.json.encode({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": None}),
        a_review(uid=""),
        a_review(desired=""),
        a_review().replace(b'"objects":[]', b'"objects":"many"'),
        a_review().replace(b'"objects":[]', b'"objects":{}'),
        a_review().replace(b'"uid-1"', b"7"),
    ],
)
def test_what_is_no_review_is_unprocessable_and_answered_by_one(body: bytes) -> None:
    given = answer(body, RULES)

    assert given.status == 422
    assert failed(given)
    assert response(given)["result"]["reason"] == "Invalid"
    assert msgspec.json.decode(given.body)["kind"] == "ConversionReview"


def test_an_unusable_request_is_answered_under_its_uid() -> None:
    assert response(answer(a_review(desired=""), RULES))["uid"] == "uid-1"


@pytest.mark.parametrize("desired", ["shop.example.com/v3", "other.example.com/v1", "v1", "nonsense"])
def test_an_unknown_version_is_refused_by_name(desired: str) -> None:
    given = answer(a_review(a_widget(), desired=desired), RULES)

    assert given.status == 200
    assert desired in failed(given)
    assert response(given)["result"]["reason"] == "BadRequest"
    assert response(given)["uid"] == "uid-1"


def test_an_unknown_version_is_refused_without_objects_too() -> None:
    assert "v9" in failed(answer(a_review(desired="shop.example.com/v9"), RULES))


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ("text", "it is not an object"),
        (None, "it is not an object"),
        ([], "it is not an object"),
        (7, "it is not an object"),
        ({}, "it has no apiVersion"),
        ({"apiVersion": OLD}, "it has no kind"),
        ({"apiVersion": ["v1"], "kind": "Widget"}, "it has no apiVersion"),
        ({"apiVersion": OLD, "kind": {"a": 1}}, "it has no kind"),
        ({**a_widget(), "apiVersion": "shop.example.com/v0"}, "its version is none of"),
        ({**a_widget(), "apiVersion": "other.example.com/v1"}, "its version is none of"),
        ({**a_widget(), "kind": "Gadget"}, "objects of kind Gadget are not converted"),
        ({**a_widget(), "spec": "text"}, "its spec is not an object"),
        ({**a_widget(), "spec": [1]}, "its spec is not an object"),
        ({**a_widget(), "status": True}, "its status is not an object"),
        ({**a_widget(), "metadata": "text"}, "its metadata is not an object"),
        (a_widget(do="refuse"), "its size is of no use"),
    ],
)
def test_one_object_that_cannot_be_converted_fails_them_all(broken: object, why: str) -> None:
    given = answer(a_review(a_widget("first"), broken, a_widget("last")), RULES)

    assert given.status == 200
    assert "object 1 " in failed(given)
    assert why in failed(given)
    assert response(given)["result"]["reason"] == "BadRequest"
    assert given.mistakes == ()


def test_an_object_nested_too_deeply_is_refused() -> None:
    deep = b'{"a":' * 20_000 + b"1" + b"}" * 20_000
    body = a_review().replace(b'"objects":[]', b'"objects":[' + deep + b"]")

    given = answer(body, RULES)

    assert given.status in (200, 422)
    assert failed(given)


@pytest.mark.parametrize("where", ["podLabels", "internalCertificateSpec"])
def test_depth_that_is_read_but_not_hashed_is_a_refusal_and_no_mistake_of_ours(where: str) -> None:
    """A null lets the hash look into every object, which takes more of the stack than reading it."""
    spec = {"environmentdImageRef": "i:v26.0.0", "backendSecretName": "b", where: {"a": None, "b": nested(600)}}
    tree = {"apiVersion": "materialize.cloud/v1", "kind": "Materialize", "metadata": {"name": "m"}, "spec": spec}

    given = answer(a_review(tree, a_widget(), desired="materialize.cloud/v1alpha1"), ENVIRONMENTS)

    assert "object 0 (m) from materialize.cloud/v1 to materialize.cloud/v1alpha1: it is nested too de" in failed(given)
    assert response(given)["result"]["reason"] == "BadRequest"
    assert given.mistakes == ()


def test_an_answer_nested_too_deeply_to_be_written_is_refused() -> None:
    given = answer(a_review(a_widget(do="nest")), RULES)

    assert failed(given) == f"object 0 to {NEW}: it is nested too deeply"


def test_the_message_names_five_objects_by_index_name_and_versions() -> None:
    given = answer(a_review(*[a_widget(f"w{number}", do="refuse") for number in range(9)]), RULES)

    assert failed(given).split("; ") == [
        f"object {number} (ns/w{number}) from {OLD} to {NEW}: its size is of no use" for number in range(5)
    ]


def test_the_message_has_at_most_two_kibibytes() -> None:
    given = answer(a_review(*[a_widget("ä" * 2000, do="refuse") for _ in range(5)]), RULES)

    assert 1000 < len(failed(given).encode()) <= 2048


def test_a_mistake_in_a_rule_is_an_internal_error_without_field_values() -> None:
    given = answer(a_review(a_widget("w", do="fail", secret="hunter2")), RULES)

    assert given.status == 200
    assert "a mistake of the operator" in failed(given)
    assert response(given)["result"]["reason"] == "InternalError"
    assert len(given.mistakes) == 1
    assert given.mistakes[0].startswith("KeyError at ")
    assert b"hunter2" not in given.body
    assert "hunter2" not in repr(given)


def test_a_rule_that_answers_with_something_else_is_a_mistake() -> None:
    assert answer(a_review(a_widget(do="answer nonsense")), RULES).mistakes


def test_the_same_review_gives_the_same_bytes() -> None:
    body = a_review(*[a_widget(f"w{number}") for number in range(20)])

    assert answer(body, RULES) == answer(body, RULES)


def test_rules_work_when_a_tiny_object_of_every_version_becomes_every_other() -> None:
    assert works(RULES) == ""
    assert works(ENVIRONMENTS) == ""


def test_rules_that_do_not_work_say_between_which_versions() -> None:
    def one_way(tree: Tree, desired: str) -> Any:
        return convert(tree, desired) if desired == NEW else None

    said = works((ConversionRule("Widget", (OLD, NEW), one_way, Unfit),))

    assert f"from {NEW} to {OLD}" in said


def test_environments_are_converted() -> None:
    sent = {
        "apiVersion": "materialize.cloud/v1alpha1",
        "kind": "Materialize",
        "metadata": {"name": "m", "namespace": "e"},
        "spec": {"environmentdIamRoleArn": "arn"},
    }

    given = response(answer(a_review(sent, desired="materialize.cloud/v1alpha2"), ENVIRONMENTS))

    assert given["convertedObjects"][0]["spec"] == {"serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": "arn"}}
