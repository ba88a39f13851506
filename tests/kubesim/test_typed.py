"""Trees of built-in kinds are decoded and written as the server does it: the words and values are a real server's."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubesim.typed.faults import Undecodable
from kubesim.typed.gates import DROPPED
from kubesim.typed.repeats import repeated, repeating
from kubesim.typed.types import type_of
from tests.e2e.typed_objects import objects
from tests.kubesim.trees import Tree
from tests.kubesim.typed_cases import ABSENT, REFUSED, UNKNOWN, WRITTEN

SOUND = {tree["kind"]: tree for _, tree in objects("default")}


def changed(tree: Tree, place: str, value: Any) -> Tree:
    made = copy.deepcopy(tree)
    *parents, last = place.split("/")
    inside: Any = made
    for word in parents:
        inside = inside[int(word)] if isinstance(inside, list) else inside.setdefault(word, {})
    inside[int(last) if isinstance(inside, list) else last] = value
    return made


def at(tree: Any, place: str) -> Any:
    for word in place.split("/"):
        tree = tree[int(word)] if isinstance(tree, list) else tree.get(word, ABSENT)
    return tree


def read(tree: Tree) -> tuple[Tree, list[str]]:
    return type_of(tree["apiVersion"], tree["kind"]).read(tree)


def restored(tree: Tree) -> tuple[Tree, list[str]]:
    return type_of(tree["apiVersion"], tree["kind"]).restore(tree)


@pytest.mark.parametrize("tree", SOUND.values(), ids=SOUND)
def test_what_was_decoded_decodes_to_itself(tree: Tree) -> None:
    once, strict = read(tree)

    assert strict == []
    assert read(once) == (once, [])
    assert restored(once) == (once, [])


def test_decoding_leaves_what_was_sent_alone() -> None:
    sent = copy.deepcopy(SOUND["Pod"])

    made, _ = read(sent)
    made["spec"]["containers"][0]["args"].append("x")
    made["metadata"]["labels"]["x"] = "y"

    assert sent == SOUND["Pod"]


@pytest.mark.parametrize(("kind", "place", "value", "why"), REFUSED)
def test_a_value_of_the_wrong_type_is_refused(kind: str, place: str, value: Any, why: str) -> None:
    with pytest.raises(Undecodable) as refused:
        read(changed(SOUND[kind], place, value))

    assert str(refused.value) == why


@pytest.mark.parametrize(("kind", "places", "strict"), UNKNOWN)
def test_unknown_fields_are_told_and_dropped(kind: str, places: list[str], strict: str) -> None:
    tree = SOUND[kind]
    for place in places:
        tree = changed(tree, place, 1)

    made, found = read(tree)

    assert ", ".join(found) == strict
    assert [at(made, place) for place in places] == [ABSENT] * len(places)


@pytest.mark.parametrize(("kind", "place", "value", "written"), WRITTEN)
def test_a_value_is_written_as_go_writes_it(kind: str, place: str, value: Any, written: Any) -> None:
    made, _ = read(changed(SOUND[kind], place, value))

    assert at(made, place) == written


def test_unknown_fields_of_schemas_in_lists_are_passed_over() -> None:
    place = "spec/versions/0/schema/openAPIV3Schema/properties/list"
    tree = changed(SOUND["CustomResourceDefinition"], place, {"type": "array", "items": {"type": "string", "odd": 1}})

    made, strict = read(tree)

    assert strict == []
    assert at(made, place)["items"] == {"type": "string"}


def test_the_worse_of_two_mistakes_is_told() -> None:
    tree = changed(SOUND["ConfigMap"], "data", {"a": 1, "b": True})
    with pytest.raises(
        Undecodable, match=r"cannot unmarshal number into Go struct field ConfigMap\.data of type string"
    ):
        read(tree)

    tree["metadata"]["creationTimestamp"] = "yesterday"
    with pytest.raises(Undecodable, match="parsing time"):
        read({"data": tree["data"]} | tree)


# What the server merges itself


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"replicas": "x"}, "unrecognized type: int32"),
        ({"replicas": 1.5}, "cannot convert float64 to int32"),
        ({"paused": 1, "replicas": "x"}, "unrecognized type: int32"),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": True}}},
            "json: cannot unmarshal bool into Go value of type int32",
        ),
        ({"strategy": {"type": 1}}, "cannot convert int64 to v1.DeploymentStrategyType"),
        ({"strategy": []}, "cannot restore struct from: slice"),
        ({"selector": {"matchLabels": "x"}}, "cannot restore map from string"),
        ({"template": {"spec": {"containers": {}}}}, "cannot restore slice from map"),
    ],
)
def test_what_was_merged_is_refused_in_other_words(change: Tree, why: str) -> None:
    tree = SOUND["Deployment"]

    with pytest.raises(Undecodable) as refused:
        restored(tree | {"spec": tree["spec"] | change})

    assert str(refused.value) == why


def test_numbers_that_were_merged_are_converted_as_go_converts_them() -> None:
    tree = SOUND["Deployment"]

    made = [restored(tree | {"spec": tree["spec"] | {"replicas": each}})[0] for each in (2.0, 3000000000)]

    assert [each["spec"]["replicas"] for each in made] == [2, -1294967296]


def test_unknown_fields_of_what_was_merged_are_sorted() -> None:
    _, strict = restored(SOUND["ConfigMap"] | {"zoo": 1, "odd": 2})

    assert strict == ['unknown field "odd"', 'unknown field "zoo"']


def test_bytes_that_were_merged_and_are_none() -> None:
    with pytest.raises(Undecodable, match=r"^error decoding from json: illegal base64 data at input byte 0$"):
        restored(SOUND["ConfigMap"] | {"binaryData": {"a": "x"}})


# What is said twice


def test_what_is_said_twice_is_told_in_the_order_of_the_body() -> None:
    body = (
        b'{"metadata":{"name":"a","x":1,"labels":{"q":"1","q":"2"}},"data":{"a":"1","a":"2"},"data":{"z":"1"},'
        b'"foo":1,"foo":2}'
    )

    made, strict = type_of("v1", "ConfigMap").read(repeating(body))

    assert strict == [
        'unknown field "metadata.x"',
        'duplicate field "metadata.labels.q"',
        'duplicate field "data.a"',
        'duplicate field "data"',
        'unknown field "foo"',
    ]
    assert made["data"] == {"a": "2", "z": "1"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"a":1}', []),
        (b'{"a":1,"b":{"a":"x\\":y"}}', []),
        (b'{"a" :1,"a":2}', ['duplicate field "a"']),
        (b'{"a":{"b":[{"c":1,"c":2}]}}', ['duplicate field "a.b[0].c"']),
        (b'{"a":1,"\\u0061":2}', ['duplicate field "a"']),
    ],
)
def test_repetitions_are_found_anywhere(body: bytes, told: list[str]) -> None:
    assert repeated(body) == told


# Fields of features that are off


def test_fields_of_features_that_are_off_vanish_silently() -> None:
    tree = changed(SOUND["Lease"], "spec/preferredHolder", "me")
    tree = changed(tree, "spec/strategy", "OldestEmulationVersion")

    made, strict = read(tree)

    assert strict == []
    assert set(made["spec"]) == {"holderIdentity", "leaseDurationSeconds", "renewTime"}
    with pytest.raises(Undecodable):
        read(changed(tree, "spec/preferredHolder", 1))


def test_dropped_fields_are_fields_of_the_release() -> None:
    pod = {"schedulingGroup": {}, "volumes": [{"name": "v", "projected": {"sources": [{"podCertificate": {}}]}}]}

    made, strict = read({"apiVersion": "v1", "kind": "Pod", "spec": pod})

    assert strict == []
    assert "schedulingGroup" in DROPPED["core.v1.PodSpec"]
    assert "schedulingGroup" not in made["spec"]
    assert made["spec"]["volumes"][0]["projected"]["sources"] == [{}]


def test_a_blank_object_has_its_structs_and_what_is_never_left_out() -> None:
    blank = type_of("apps/v1", "Deployment").blank()

    assert blank["spec"] == {
        "selector": None,
        "strategy": {},
        "template": {"metadata": {}, "spec": {"containers": None}},
    }
    assert type_of("apps/v1", "ControllerRevision").blank()["revision"] == 0
    assert type_of("v1", "Event").blank()["eventTime"] is None
