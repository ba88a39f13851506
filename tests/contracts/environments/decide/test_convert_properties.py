"""What holds of every conversion, whatever the object."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as some

from fairlead.contracts.environments.decide.convert import Unconvertible, convert
from fairlead.contracts.environments.decide.hash import rollout_hash
from tests.contracts.environments.decide import some as any_
from tests.contracts.environments.decide.trees import V1ALPHA1, Tree

NIL = "00000000-0000-0000-0000-000000000000"
MOVED = {"serviceAccountAnnotations": "environmentdIamRoleArn"}
"""Where a field can come from besides itself."""


@given(any_.objects)
def test_there_and_back_again_nothing_is_lost(tree: Tree) -> None:
    made: Any = convert(convert(tree, V1ALPHA1), tree["apiVersion"])

    expected = deepcopy(tree)
    if expected["spec"].get("forcePromote") in ("", NIL, NIL.replace("-", "")):
        del expected["spec"]["forcePromote"]
    status = expected.get("status", {"requestedRolloutHash": "none needed"})
    promotes = any(each["reason"] == "Promoting" for each in status.get("conditions", ()))
    if status.get("requestedRolloutHash") is None and not promotes:
        status["requestedRolloutHash"] = rollout_hash(tree["spec"], tree["metadata"].get("annotations", {}))
    assert made == expected


@given(any_.old_objects, any_.versions)
def test_an_old_object_keeps_what_counts_through_the_other_versions(tree: Tree, version: str) -> None:
    newer: Any = convert(tree, version)
    back: Any = convert(newer, V1ALPHA1)

    assert back["metadata"] == tree["metadata"]
    if "status" in tree:
        for key in ("resourceId", "activeGeneration", "conditions", "lastCompletedRolloutEnvironmentdImageRef"):
            assert back["status"].get(key) == tree["status"].get(key)
        for key in ("lastCompletedRolloutHash", "requestedRolloutHash"):
            assert tree["status"].get(key) in (None, back["status"].get(key))
    assert ("status" in back) == ("status" in tree)


@given(any_.parts(), any_.versions)
def test_a_part_yields_no_key_without_a_source(tree: Tree, version: str) -> None:
    made: Any = convert(tree, version)

    assert set(made) <= set(tree) | {"metadata"}
    assert set(made.get("metadata") or {}) == set(tree.get("metadata") or {})
    assert set(made.get("status") or {}) <= set(tree.get("status") or {})
    for key in made.get("spec") or {}:
        assert key in tree["spec"] or MOVED.get(key) in tree["spec"]


@given(any_.parts(), any_.versions)
def test_nulls_of_a_part_stay_null(tree: Tree, version: str) -> None:
    made: Any = convert(tree, version)

    for name in ("spec", "status"):
        assert (name in made) == (name in tree)
        for key, value in (made.get(name) or {}).items():
            if key in tree[name] and key not in MOVED:
                assert value == tree[name][key]


@given(some.one_of(any_.objects, any_.old_objects, any_.parts()), any_.versions)
def test_conversion_is_a_function_of_the_object_and_nothing_else(tree: Tree, version: str) -> None:
    before = msgspec.json.encode(tree)

    once, again = convert(tree, version), convert(deepcopy(tree), version)

    assert msgspec.json.encode(once) == msgspec.json.encode(again)
    assert msgspec.json.encode(tree) == before


@given(
    some.fixed_dictionaries(
        {"apiVersion": any_.versions, "kind": some.just("Materialize")},
        optional={
            "metadata": any_.anything,
            "spec": some.one_of(
                any_.anything, some.dictionaries(some.sampled_from(sorted(any_.HASHED)), any_.anything)
            ),
            "status": some.one_of(
                any_.anything,
                some.dictionaries(
                    some.sampled_from(("resourceId", "activeGeneration", "conditions", "requestedRolloutHash")),
                    any_.anything,
                ),
            ),
        },
    ),
    any_.versions,
)
def test_any_json_is_converted_or_refused_in_a_sentence(tree: Tree, version: str) -> None:
    shapes_hold = all(isinstance(tree.get(part, {}), dict | None) for part in ("metadata", "spec", "status"))

    try:
        made = convert(tree, version)
    except Unconvertible:
        assert not shapes_hold
    else:
        assert shapes_hold or tree["apiVersion"] == version
        assert made["apiVersion"] == version
