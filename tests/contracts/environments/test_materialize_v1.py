"""The rule set `materialize-v1`: what v1 asks for in v1alpha1, and what comes back (apiversions B2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from fairlead.contracts.apiversions.decide.convert import KindConversion, convert
from fairlead.contracts.apiversions.decide.rule_sets import kind_of
from fairlead.contracts.apiversions.rule_files import code_of, rules_in
from fairlead.contracts.apiversions.strategies import objects, parts
from fairlead.contracts.environments.decide.upstream_hash import upstream_hash
from fairlead.contracts.environments.install.definitions import materializes
from fairlead.contracts.environments.kinds import FORCE_ROLLOUT, GROUP, NIL
from fairlead.contracts.environments.materialize_v1 import NAME
from fairlead.core.uuids import uuid5
from tests.contracts.environments.decide.trees import Tree, V

HASH = upstream_hash(V, {})
ASKED = "11111111-1111-1111-1111-111111111111"
OTHER = "22222222-2222-2222-2222-222222222222"


def upstream_definition() -> Tree:
    """As the upstream program registers it: two versions, of which the first one is stored."""
    made: Tree = materializes()
    versions = [each for each in made["spec"]["versions"] if each["name"] != "v1alpha2"]
    stored = [{**each, "storage": each["name"] == "v1alpha1"} for each in versions]
    return {**made, "spec": {**made["spec"], "versions": stored}}


def a_kind() -> KindConversion:
    (rules,) = rules_in(NAME)
    return kind_of(rules, upstream_definition(), code_of(rules))


KIND = a_kind()


def an_object(version: str, spec: Tree, status: Tree | None = None, annotations: Tree | None = None) -> Tree:
    head: Tree = {"apiVersion": f"{GROUP}/{version}", "kind": "Materialize"}
    metadata: Tree = {"name": "m"} | ({"annotations": annotations} if annotations else {})
    return {**head, "metadata": metadata, "spec": spec} | ({} if status is None else {"status": status})


def a_status(**fields: Any) -> Tree:
    return {
        "resourceId": "abc",
        "activeGeneration": 1,
        "conditions": [{"type": "UpToDate", "reason": "Applied"}],
    } | fields


def to(version: str, tree: Tree) -> Tree:
    return convert(tree, version, KIND).tree


def body(tree: Tree) -> Tree:
    return {key: value for key, value in tree.items() if key in ("spec", "status")}


def test_v1_asks_for_a_rollout_that_is_named_after_its_hash() -> None:
    made = to("v1alpha1", an_object("v1", V, a_status(lastCompletedRolloutHash=HASH)))

    assert made["spec"]["requestRollout"] == uuid5(HASH)
    assert made["status"]["lastCompletedRolloutRequest"] == uuid5(HASH)
    assert made["status"]["lastCompletedRolloutHash"] == HASH


def test_what_was_never_completed_is_told_by_nil() -> None:
    made = to("v1alpha1", an_object("v1", V, a_status()))

    assert made["status"]["lastCompletedRolloutRequest"] == NIL


def test_the_annotation_that_forces_a_rollout_asks_for_another_one() -> None:
    plain, forced = (to("v1alpha1", an_object("v1", V, None, each)) for each in (None, {FORCE_ROLLOUT: "again"}))

    assert plain["spec"]["requestRollout"] != forced["spec"]["requestRollout"]
    assert forced["metadata"]["annotations"] == {FORCE_ROLLOUT: "again"}


@pytest.mark.parametrize(
    ("completed", "reason", "last", "requested"),
    [
        (ASKED, "Applied", HASH, HASH),
        (OTHER, "Applying", None, HASH),
        (OTHER, "Promoting", None, None),
        (NIL, "Applying", None, HASH),
    ],
    ids=["settled", "on its way", "promoting", "never completed"],
)
def test_what_v1_shows_of_an_object_of_v1alpha1(
    completed: str, reason: str, last: str | None, requested: str | None
) -> None:
    conditions = [{"type": "UpToDate", "reason": reason}]
    status = a_status(lastCompletedRolloutRequest=completed, resourcesHash="x", conditions=conditions)

    made = to("v1", an_object("v1alpha1", {**V, "requestRollout": ASKED}, status))["status"]

    assert (made.get("lastCompletedRolloutHash"), made.get("requestedRolloutHash")) == (last, requested)
    assert "resourcesHash" not in made


def test_applying_what_was_completed_through_v1_asks_for_nothing_new() -> None:
    """Whatever name the rollout had that completed it."""
    status = a_status(lastCompletedRolloutRequest=ASKED, resourcesHash="x")
    seen = to("v1", an_object("v1alpha1", {**V, "requestRollout": ASKED}, status))

    stored = to("v1alpha1", seen)

    assert stored["spec"]["requestRollout"] == stored["status"]["lastCompletedRolloutRequest"] == uuid5(HASH)


@given(objects(upstream_definition(), "v1"))
def test_what_came_back_once_comes_back_as_it_is(tree: Tree) -> None:
    first = to("v1", to("v1alpha1", tree))

    assert body(to("v1", to("v1alpha1", first))) == body(first)


@given(objects(upstream_definition(), "v1alpha1"))
def test_the_same_from_the_stored_version(tree: Tree) -> None:
    first = to("v1alpha1", to("v1", tree))

    assert body(to("v1alpha1", to("v1", first))) == body(first)


@given(parts(objects(upstream_definition(), "v1")))
def test_parts_of_objects_are_converted_without_annotations(tree: Tree) -> None:
    made = to("v1alpha1", tree)

    assert made["metadata"] == tree["metadata"]
    if not {"environmentdImageRef", "backendSecretName"} <= set(tree.get("spec") or ()):
        assert set(made.get("spec") or ()) <= set(tree.get("spec") or ())
