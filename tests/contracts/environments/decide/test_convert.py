"""Conversion between versions (section 3.9): round trips, every rule, and objects that cannot be converted."""

from __future__ import annotations

from copy import deepcopy
from functools import reduce
from typing import NamedTuple

import pytest

from fairlead.contracts.environments.decide.convert import ROLE_ARN, Unconvertible, convert
from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.core.uuids import uuid5
from tests.contracts.environments.decide.trees import (
    HV,
    HW,
    U1,
    U2,
    V1,
    V1ALPHA1,
    V1ALPHA2,
    Tree,
    V,
    W,
    X,
    a_condition,
    a_status,
    an_object,
    an_old_object,
    an_old_status,
)

NIL = "00000000-0000-0000-0000-000000000000"
ABSENT = "absent"


class Trip(NamedTuple):
    """A v1alpha1 object, and the two hashes it has in the later versions."""

    request: str
    completed: str
    reason: str
    last: str
    requested: str
    spec: Tree = V
    last_in: str = ABSENT
    requested_in: str = ABSENT


TRIPS = {
    # RT1 to RT5
    "idle since before there were hashes": Trip(U1, U1, "Applied", HV, HV),
    "in the middle of a rollout, applying": Trip(U2, U1, "Applying", ABSENT, HV),
    "in the middle of a rollout, ready": Trip(U2, U1, "ReadyToPromote", ABSENT, HV),
    "in the middle of a rollout, promoting": Trip(U2, U1, "Promoting", ABSENT, ABSENT),
    "never completed": Trip(NIL, NIL, "Applied", ABSENT, HV),
    "never completed, promoting": Trip(NIL, NIL, "Promoting", ABSENT, ABSENT),
    "changes staged, waiting for approval": Trip(U1, U1, "WaitingForApproval", HV, HV),
    # RT7 to RT9
    "edited through v1alpha1": Trip(U1, uuid5(HV), "Applied", HV, HV, W, HV, HV),
    "edited while promoting": Trip(U1, uuid5(HV), "Promoting", HV, HW, X, HV, HW),
    "hashes stripped by a client": Trip(uuid5(HV), uuid5(HV), "Applied", HV, HV),
    "hashes stripped by a client while promoting": Trip(uuid5(HV), uuid5(HV), "Promoting", HV, ABSENT),
    "requests spelled differently": Trip(U1.upper().replace("-", ""), U1, "Applied", HV, HV),
    "a request that is no UUID": Trip("x", "x", "Applied", ABSENT, HV),
}


@pytest.mark.parametrize("version", [V1ALPHA2, V1])
@pytest.mark.parametrize("case", TRIPS)
def test_hashes_of_an_object_that_was_written_in_v1alpha1(case: str, version: str) -> None:
    trip = TRIPS[case]
    hashes = {"lastCompletedRolloutHash": trip.last_in, "requestedRolloutHash": trip.requested_in}
    status = an_old_status(trip.reason, trip.completed, **{k: v for k, v in hashes.items() if v != ABSENT})

    made = convert(an_old_object(trip.spec | {"requestRollout": trip.request}, status), version)

    expected = {"lastCompletedRolloutHash": trip.last, "requestedRolloutHash": trip.requested}
    assert made["apiVersion"] == version
    assert made["spec"] == trip.spec
    assert made["status"] == a_status(trip.reason, **{k: v for k, v in expected.items() if v != ABSENT})


class CopiedPod(NamedTuple):
    """The generation of an old object, those that its conditions have observed, and whether L is known then."""

    generation: object
    observed: tuple[object, ...]
    known: bool


SIGHTS = {
    "the spec was seen": CopiedPod(3, (3,), True),
    "the spec was edited since": CopiedPod(4, (3,), False),
    "a later spec was seen, as after a restore": CopiedPod(3, (4,), True),
    "one of two conditions is behind": CopiedPod(4, (4, 3), False),
    "the other of two conditions is behind": CopiedPod(4, (3, 4), False),
    "a condition counts nothing": CopiedPod(4, (None,), True),
    "a condition counts nothing and another one is behind": CopiedPod(4, (None, 3), False),
    "there is no condition": CopiedPod(4, (), True),
    "the object counts nothing": CopiedPod(None, (3,), True),
    "the object counts what is no number": CopiedPod("4", (3,), True),
    "a condition counts what is no number": CopiedPod(4, ("3",), True),
}


@pytest.mark.parametrize("case", SIGHTS)
def test_a_spec_that_nobody_looked_at_is_not_the_one_that_was_completed(case: str) -> None:
    """An edit under the request of before would else be called applied, and never be deployed."""
    sight = SIGHTS[case]
    conditions = [a_condition("Applied") | {"observedGeneration": each} for each in sight.observed]
    status = an_old_status(conditions=conditions)

    made = convert(an_old_object(W | {"requestRollout": U1}, status, generation=sight.generation), V1ALPHA2)

    hashes = {"requestedRolloutHash": HW} | ({"lastCompletedRolloutHash": HW} if sight.known else {})
    assert made["status"] == a_status(conditions=conditions, **hashes)


def test_what_is_stored_of_an_edit_that_nobody_saw_stays_so_through_v1alpha1() -> None:
    """L is not worked out again from the derived requests, and what was known of it once is kept whatever is edited."""
    edited: Tree = convert(an_old_object(W | {"requestRollout": U1}, an_old_status(), generation=4), V1ALPHA2)
    known: Tree = convert(an_old_object(V | {"requestRollout": U1}, an_old_status()), V1ALPHA2)

    again: Tree = convert(convert(edited, V1ALPHA1), V1ALPHA2)
    back: Tree = convert(known, V1ALPHA1)
    later = an_old_object(W | {"requestRollout": U1}, back["status"], generation=4)

    assert again == edited
    assert "lastCompletedRolloutHash" not in again["status"]
    assert convert(later, V1ALPHA2)["status"] == a_status(lastCompletedRolloutHash=HV, requestedRolloutHash=HV)


def test_an_object_without_status_gets_none() -> None:
    """RT6."""
    made = convert(an_old_object(V | {"requestRollout": U1}), V1ALPHA2)

    assert made == an_object()


@pytest.mark.parametrize("version", [V1ALPHA2, V1])
def test_back_in_v1alpha1_both_requests_tell_what_is_done(version: str) -> None:
    status = a_status(lastCompletedRolloutHash=HV, requestedRolloutHash=HV)

    settled = convert(an_object(version, V, status), V1ALPHA1)
    changed = convert(an_object(version, W, status), V1ALPHA1)
    fresh = convert(an_object(version, V, a_status()), V1ALPHA1)
    unseen = convert(an_object(version, V), V1ALPHA1)

    request = {"requestRollout": "e7dcfcd0-67d5-5e87-aa2f-d1601e371b3f"}
    assert settled["spec"] == V | request
    assert settled["status"] == status | {"lastCompletedRolloutRequest": request["requestRollout"], "resourcesHash": ""}
    assert changed["spec"] == W | {"requestRollout": uuid5(HW)}
    assert changed["status"] == settled["status"]
    assert fresh["status"] == a_status() | {"lastCompletedRolloutRequest": NIL, "resourcesHash": ""}
    assert unseen == an_old_object(V | request)


def test_v1_and_v1alpha2_differ_by_name_alone() -> None:
    tree = an_object(V1, V | {"forcePromote": "", "rolloutRequestTimeout": "90m"}, a_status())

    made = convert(tree, V1ALPHA2)

    assert made == tree | {"apiVersion": V1ALPHA2}
    assert convert(made, V1) == tree


@pytest.mark.parametrize("version", [V1ALPHA1, V1ALPHA2, V1])
def test_an_object_in_the_wanted_version_is_left_as_it_is(version: str) -> None:
    tree = {"apiVersion": version, "kind": "Materialize", "spec": {"requestRollout": U1, "forcePromote": ""}}

    assert convert(tree, version) == {
        "apiVersion": version,
        "kind": "Materialize",
        "spec": {"requestRollout": U1, "forcePromote": ""},
    }


NEWER_SPECS: dict[str, tuple[Tree, Tree]] = {
    "requests and the old way to roll out go": ({"requestRollout": U1, "inPlaceRollout": True}, {}),
    "also when they are null": ({"requestRollout": None, "inPlaceRollout": None, "environmentdIamRoleArn": None}, {}),
    "an empty forcePromote is none": ({"forcePromote": ""}, {}),
    "a nil forcePromote is none": ({"forcePromote": NIL}, {}),
    "a nil forcePromote without hyphens is none": ({"forcePromote": "0" * 32}, {}),
    "a null forcePromote stays null": ({"forcePromote": None}, {"forcePromote": None}),
    "another forcePromote stays as written": ({"forcePromote": U1.upper()}, {"forcePromote": U1.upper()}),
    "a forcePromote that is no text stays": ({"forcePromote": 7}, {"forcePromote": 7}),
    "the role moves to the annotations": (
        {"environmentdIamRoleArn": "r"},
        {"serviceAccountAnnotations": {ROLE_ARN: "r"}},
    ),
    "also where they are null": (
        {"environmentdIamRoleArn": "r", "serviceAccountAnnotations": None},
        {"serviceAccountAnnotations": {ROLE_ARN: "r"}},
    ),
    "beside other annotations": (
        {"environmentdIamRoleArn": "r", "serviceAccountAnnotations": {"a": "b"}},
        {"serviceAccountAnnotations": {ROLE_ARN: "r", "a": "b"}},
    ),
    "an annotation that is there wins": (
        {"environmentdIamRoleArn": "r", "serviceAccountAnnotations": {ROLE_ARN: "s"}},
        {"serviceAccountAnnotations": {ROLE_ARN: "s"}},
    ),
    "also a null one": (
        {"environmentdIamRoleArn": "r", "serviceAccountAnnotations": {ROLE_ARN: None}},
        {"serviceAccountAnnotations": {ROLE_ARN: None}},
    ),
    "annotations that are no object are left alone": (
        {"environmentdIamRoleArn": "r", "serviceAccountAnnotations": "x"},
        {"serviceAccountAnnotations": "x"},
    ),
    "a null role goes and leaves annotations alone": (
        {"environmentdIamRoleArn": None, "serviceAccountAnnotations": None},
        {"serviceAccountAnnotations": None},
    ),
    "the timeout is in every version": ({"rolloutRequestTimeout": "90m"}, {"rolloutRequestTimeout": "90m"}),
    "what is not known passes": ({"colour": {"a": [1, None]}}, {"colour": {"a": [1, None]}}),
    "null and empty stay what they are": (
        {"podLabels": None, "podAnnotations": {}},
        {"podLabels": None, "podAnnotations": {}},
    ),
}


@pytest.mark.parametrize("case", NEWER_SPECS)
@pytest.mark.parametrize("rest", [V, {}], ids=["complete", "partial"])
def test_fields_of_v1alpha1_in_later_versions(rest: Tree, case: str) -> None:
    old, expected = NEWER_SPECS[case]

    made = convert(an_old_object(rest | old), V1ALPHA2)

    assert made["spec"] == rest | expected


def test_the_hash_is_that_of_the_converted_object() -> None:
    old = V | {"requestRollout": U1, "environmentdIamRoleArn": "arn:aws:iam::123456789012:role/mz", "forcePromote": ""}

    made = convert(an_old_object(old, an_old_status(), annotations={"materialize.cloud/force-rollout": "x"}), V1ALPHA2)

    spec = V | {"serviceAccountAnnotations": {ROLE_ARN: "arn:aws:iam::123456789012:role/mz"}}
    expected = rollout_hash(spec, {"materialize.cloud/force-rollout": "x"})
    assert made["status"] == a_status(lastCompletedRolloutHash=expected, requestedRolloutHash=expected)


def test_fields_of_later_versions_back_in_v1alpha1() -> None:
    spec = V | {"forcePromote": HV, "inPlaceRollout": True, "environmentdIamRoleArn": "r", "podLabels": None, "odd": 1}

    made = convert(an_object(V1ALPHA2, spec), V1ALPHA1)

    assert made["spec"] == V | {"forcePromote": HV, "podLabels": None, "odd": 1, "requestRollout": uuid5(HV)}


@pytest.mark.parametrize("lacking", ["environmentdImageRef", "backendSecretName"])
@pytest.mark.parametrize("gone", [True, False], ids=["absent", "null"])
def test_a_part_of_a_spec_gains_nothing(lacking: str, gone: bool) -> None:
    spec = {key: value for key, value in V.items() if key != lacking} | ({} if gone else {lacking: None})

    older = convert(an_object(V1ALPHA2, spec, a_status()), V1ALPHA1)
    newer = convert(an_old_object(spec | {"requestRollout": U1}, an_old_status()), V1ALPHA2)

    assert (older["spec"], older["status"]) == (spec, a_status())
    assert (newer["spec"], newer["status"]) == (spec, a_status())


@pytest.mark.parametrize("lacking", ["resourceId", "activeGeneration", "conditions"])
def test_with_a_part_of_the_status_nothing_is_gained(lacking: str) -> None:
    status, old_status = a_status(), an_old_status()
    del status[lacking], old_status[lacking]

    older = convert(an_object(V1ALPHA2, V, status), V1ALPHA1)
    newer = convert(an_old_object(V | {"requestRollout": U1}, old_status), V1ALPHA2)

    assert (older["spec"], older["status"]) == (V, status)
    assert (newer["spec"], newer["status"]) == (V, status)


@pytest.mark.parametrize("lacking", ["lastCompletedRolloutRequest", "resourcesHash"])
def test_in_v1alpha1_the_status_has_more_that_it_needs(lacking: str) -> None:
    status = an_old_status()
    del status[lacking]

    newer = convert(an_old_object(V | {"requestRollout": U1}, status), V1ALPHA2)

    assert newer["status"] == a_status()


def test_null_hashes_are_absent_ones_that_stay_null_where_none_is_known() -> None:
    nulls: Tree = {"lastCompletedRolloutHash": None, "requestedRolloutHash": None}

    idle = convert(an_old_object(V | {"requestRollout": U1}, an_old_status(**nulls)), V1ALPHA2)
    promoting = convert(an_old_object(V | {"requestRollout": U2}, an_old_status("Promoting", U1, **nulls)), V1ALPHA2)
    older = convert(an_object(V1ALPHA2, V, a_status(**nulls)), V1ALPHA1)

    assert idle["status"] == a_status(lastCompletedRolloutHash=HV, requestedRolloutHash=HV)
    assert promoting["status"] == a_status("Promoting", **nulls)
    assert older["status"] == a_status(**nulls) | {"lastCompletedRolloutRequest": NIL, "resourcesHash": ""}


@pytest.mark.parametrize("desired", [V1ALPHA1, V1ALPHA2])
def test_nulls_stay_and_metadata_is_always_there(desired: str) -> None:
    source = V1ALPHA2 if desired == V1ALPHA1 else V1ALPHA1
    bare = {"apiVersion": source, "kind": "Materialize"}

    made = convert(bare | {"metadata": None, "spec": None, "status": None}, desired)

    assert made == {"apiVersion": desired, "kind": "Materialize", "metadata": {}, "spec": None, "status": None}
    assert convert(bare, desired) == {"apiVersion": desired, "kind": "Materialize", "metadata": {}}


def test_metadata_and_what_else_an_object_has_is_untouched() -> None:
    metadata: Tree = {
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "finalizers": ["f"],
        "ownerReferences": [{"uid": "o"}],
        "managedFields": [{"manager": "x"}],
        "odd": 1,
    }
    tree = an_old_object(V, **metadata) | {"other": {"x": 1}}

    made = convert(tree, V1)

    assert made["metadata"] == tree["metadata"]
    assert made["other"] == {"x": 1}


def test_the_object_that_was_given_stays_as_it_was() -> None:
    tree = an_old_object(
        V | {"environmentdIamRoleArn": "r", "forcePromote": "", "serviceAccountAnnotations": {"a": "b"}},
        an_old_status(),
    )
    before = deepcopy(tree)

    convert(tree, V1ALPHA2)

    assert tree == before


SECRET = "hunter2"
WRONG: dict[str, object] = {
    "no object": [SECRET],
    "no version": {"kind": "Materialize", "spec": SECRET},
    "a version nobody knows": an_object("materialize.cloud/v1beta1") | {"note": SECRET},
    "another group": an_object("example.com/v1alpha1"),
    "a version that is no text": an_object() | {"apiVersion": {"a": SECRET}},
    "another kind": an_old_object() | {"kind": SECRET},
    "a spec that is no object": an_old_object() | {"spec": SECRET},
    "a status that is no object": an_old_object() | {"status": [SECRET]},
    "metadata that are no object": an_old_object() | {"metadata": SECRET},
    "an empty spec of another type": an_old_object() | {"spec": []},
    "a status that is false": an_old_object() | {"status": False},
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_converted_is_told_without_its_values(case: str) -> None:
    with pytest.raises(Unconvertible) as caught:
        convert(WRONG[case], V1ALPHA2)

    assert SECRET not in str(caught.value)
    assert len(str(caught.value)) > 30


@pytest.mark.parametrize("desired", ["materialize.cloud/v2", "v1alpha2", "", "example.com/v1"])
def test_a_version_that_nobody_knows_is_named(desired: str) -> None:
    with pytest.raises(Unconvertible, match=r"ask for one of materialize\.cloud/v1alpha1") as caught:
        convert(an_object(), desired)

    assert f'"{desired}"' in str(caught.value)


@pytest.mark.parametrize(
    "status",
    [
        an_old_status(conditions="x"),
        an_old_status(conditions=["x", None, {"reason": 7}]),
        an_old_status(lastCompletedRolloutRequest=7),
        an_old_status(lastCompletedRolloutHash=7, requestedRolloutHash=[]),
    ],
)
def test_values_of_another_type_pass(status: Tree) -> None:
    """What is wrong with them is for the schema to say."""
    spec = V | {"requestRollout": 7, "podLabels": "x", "environmentId": 7}

    newer = convert(an_old_object(spec, status, annotations="x"), V1ALPHA2)
    older = convert(newer, V1ALPHA1)

    assert newer["spec"] == V | {"podLabels": "x", "environmentId": 7}
    assert older["metadata"] == newer["metadata"]


@pytest.mark.parametrize(
    ("tree", "desired"),
    [(an_object(), V1ALPHA1), (an_old_object(status=an_old_status()), V1ALPHA2)],
    ids=["to v1alpha1", "from v1alpha1"],
)
def test_an_object_too_deep_to_be_hashed_is_refused_by_a_sentence(tree: Tree, desired: str) -> None:
    deep = reduce(lambda inner, _: {"a": inner}, range(900), dict[str, object]())
    tree["spec"]["podLabels"] = {"nothing": None, "deep": deep}

    with pytest.raises(Unconvertible, match="it is nested too deeply: correct it where it was written"):
        convert(tree, desired)
