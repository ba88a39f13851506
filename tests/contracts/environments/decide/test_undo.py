"""Taking back a rollout: what can be worked out is right by its hash, what cannot is said."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.decide.undo import SpecChange, Undo, Unknown, undo
from fairlead.contracts.environments.kinds import FORCE_ROLLOUT, NIL
from fairlead.contracts.environments.settings import Settings
from fairlead.core.merge_patch import merge_patch
from fairlead.core.verb import Refused
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from tests.chaos.machine import machine, soaked
from tests.contracts.environments.decide.some import HASHED
from tests.contracts.environments.decide.specs import IMMEDIATELY, NEXT, OLD, a_spec
from tests.contracts.environments.decide.world import NAMESPACE, World, promoted

Tree = dict[str, Any]
AWS = Settings(cloud_provider="aws", aws_account_id="1", region="us-east-1")


def asked(world: World, *, blind: bool = False) -> Undo | Unknown | Refused:
    """With what the cluster shows of the serving generation, unless nothing is to be shown."""
    if blind:
        return undo(world.environment, None, None)
    active = world.status["activeGeneration"]
    listeners = world.things[Ref(CONFIGMAPS, NAMESPACE, f"mz{world.id}-listeners-{active}")]
    return undo(
        world.environment, msgspec.json.encode(world.statefulset(active).tree), msgspec.json.encode(listeners.tree)
    )


def taken_back(world: World, found: Undo) -> None:
    """As the API server carries out the patch."""
    patch = found.patch
    assert patch["metadata"]["resourceVersion"] == str(world.own.version)  # type: ignore[index]
    world.replace_spec(patched(world.own.body["spec"], patch.get("spec", {})))
    annotations = patch["metadata"].get("annotations", {})  # type: ignore[attr-defined]
    for name, value in annotations.items():
        world.annotate(name, value)


def patched(target: Any, patch: Any) -> Any:
    """What a merge patch makes of a value."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), value)
    return result


def test_a_new_image_is_taken_back_and_the_generation_goes() -> None:
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT)
    world.play()
    assert sorted(world.generations) == [1, 2]

    found = asked(world)
    assert isinstance(found, Undo)
    taken_back(world, found)
    world.play()

    assert found.changes == (SpecChange("spec.environmentdImageRef", NEXT, OLD),)
    assert sorted(world.generations) == [1]
    assert world.says[1:] == ("Applied", "No changes found from generation 1")


VARIABLE = {"name": "A", "value": "1"}
SECRET_VARIABLE = {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"environmentdExtraArgs": ["--a=1"]}),
        ({"environmentdExtraArgs": ["--a=1", "--b"]}, {"environmentdExtraArgs": None}),
        ({"environmentdExtraArgs": []}, {"environmentdExtraArgs": ["--a"]}),
        ({"environmentdExtraEnv": [VARIABLE]}, {"environmentdExtraEnv": [VARIABLE, SECRET_VARIABLE]}),
        ({"environmentdExtraEnv": [VARIABLE, SECRET_VARIABLE]}, {"environmentdExtraEnv": None}),
        ({"podLabels": {"a": "b"}}, {"podLabels": {"a": "c", "d": "e"}}),
        ({"podLabels": {}}, {"podLabels": {"a": "c"}}),
        ({"podAnnotations": {"a": "x=y"}}, {"podAnnotations": None}),
        ({}, {"rolloutStrategy": "ManuallyPromote"}),
        ({"rolloutStrategy": "ManuallyPromote"}, {"rolloutStrategy": None}),
        ({"enableRbac": True}, {"enableRbac": False}),
        ({"authenticatorKind": "Frontegg"}, {"authenticatorKind": "None"}),
        ({"serviceAccountName": "own"}, {"serviceAccountName": "other"}),
        ({}, {"serviceAccountName": "other"}),
        ({"backendSecretName": "first"}, {"backendSecretName": "second"}),
        ({"systemParameterConfigmapName": "p", "environmentdImageRef": NEXT}, {"systemParameterConfigmapName": None}),
        ({"environmentdConnectionRoleArn": "arn:a"}, {"environmentdConnectionRoleArn": "arn:b"}),
        (
            {"environmentdResourceRequirements": {"requests": {"cpu": "1"}}},
            {"environmentdResourceRequirements": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}},
        ),
        ({}, {"serviceAccountAnnotations": {"a": "b"}}),
        ({}, {"internalCertificateSpec": {"dnsNames": ["a"]}}),
        ({}, {"environmentdScratchVolumeStorageRequirement": "1Gi"}),
        ({}, {"rolloutRequestTimeout": "90m"}),
        ({"forceRollout": "11111111-1111-4111-8111-111111111111"}, {"forceRollout": NIL}),
        ({"podLabels": {"a": "b"}}, {"podLabels": None, "environmentdImageRef": NEXT, "enableRbac": True}),
    ],
    ids=lambda fields: ",".join(f"{key}={value}" for key, value in fields.items()) or "nothing",
)
def test_what_objects_show_or_what_was_not_set_before_is_put_back(before: Tree, after: Tree) -> None:
    world = World(a_spec(**before), AWS)
    world.play()
    if not world.is_promoted:
        world.edit(forcePromote=world.hash)
        world.play()
    completed = world.status["lastCompletedRolloutHash"]
    original = dict(world.own.body["spec"])
    world.starts_as = "Initializing"
    world.edit(**after)

    found = asked(world)
    assert isinstance(found, Undo)
    taken_back(world, found)

    assert world.hash == completed
    assert {change.field for change in found.changes} == {f"spec.{field}" for field in after}
    assert all(world.own.body["spec"].get(field) == original.get(field) for field in after if field in before)


@pytest.mark.parametrize(("before", "after"), [(None, "x"), ("a/b", None), ("a", "b")])
def test_the_annotation_that_forces_a_rollout_is_put_back_too(before: str | None, after: str | None) -> None:
    world = World()
    world.annotate(FORCE_ROLLOUT, before)
    world.play()
    world.annotate(FORCE_ROLLOUT, after)

    found = asked(world)
    assert isinstance(found, Undo)
    taken_back(world, found)

    assert world.hash == world.status["lastCompletedRolloutHash"]
    assert "spec" not in found.patch


def test_without_the_objects_of_the_generation_the_image_and_what_was_not_set_are_known() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY, podLabels={"a": "b"})

    found = asked(world, blind=True)

    assert isinstance(found, Undo)
    assert [change.field for change in found.changes] == [
        "spec.environmentdImageRef",
        "spec.podLabels",
        "spec.rolloutStrategy",
    ]


def test_what_leaves_no_trace_is_named_and_nothing_is_guessed() -> None:
    world = World(a_spec(serviceAccountLabels={"a": "b"}))
    world.play()
    world.edit(serviceAccountLabels={"a": "c"})

    found = asked(world)

    assert isinstance(found, Unknown)
    assert (found.active, found.hash) == (1, world.status["lastCompletedRolloutHash"])
    assert "serviceAccountLabels" in found.untraced
    assert "environmentdExtraArgs" not in found.untraced


def test_nothing_but_the_hash_decides() -> None:
    """Objects that somebody has changed mislead nobody."""
    world = World(a_spec(podLabels={"a": "b"}))
    world.play()
    world.edit(podLabels={"a": "c"})
    template = world.statefulset(1).body["spec"]["template"]["spec"]["containers"][0]
    template["args"] = [arg.replace("a=b", "a=z") for arg in template["args"]]

    assert isinstance(asked(world), Unknown)


def test_what_cannot_be_read_tells_nothing() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT)

    for body in (b"", b"\xff", b"{}", b'{"spec": 3}', b'{"data": {"listeners.json": "{"}}'):
        assert isinstance(undo(world.environment, body, body), Undo)


def promoting() -> World:
    world = promoted()
    world.takes_over = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    return world


def first() -> World:
    world = World()
    world.starts_as = "Initializing"
    world.play()
    return world


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (promoting(), "there is no way back"),
        (promoted(), "nothing to take back: generation 1 is what the spec asks for"),
        (first(), "no earlier rollout was completed"),
        (World(), "has not taken it up yet"),
    ],
    ids=["promoting", "settled", "the first one", "not begun"],
)
def test_where_nothing_can_be_taken_back_a_sentence_says_why(world: World, words: str) -> None:
    answer = asked(world, blind=True)

    assert isinstance(answer, Refused)
    assert words in answer.sentence


values = some.recursive(some.integers(0, 2) | some.text(max_size=2), lambda inner: some.lists(inner, max_size=2))
trees = some.recursive(values, lambda inner: some.dictionaries(some.sampled_from("abc"), inner, max_size=3))


@given(trees, trees)
def test_a_merge_patch_makes_one_value_of_the_other(before: object, after: object) -> None:
    assert patched(before, merge_patch(before, after)) == after


@soaked
@machine(30)
@given(some.fixed_dictionaries({}, optional=HASHED), some.fixed_dictionaries({}, optional=HASHED))
def test_whatever_was_changed_is_put_back_exactly_or_not_at_all(before: Tree, after: Tree) -> None:
    fixed = {"environmentdImageRef": OLD, "backendSecretName": "backend", "environmentId": a_spec()["environmentId"]}
    world = promoted()
    completed = rollout_hash(before | fixed, {})
    world.status["lastCompletedRolloutHash"] = completed
    world.replace_spec(after | fixed)

    found = asked(world, blind=True)

    if isinstance(found, Undo):
        taken_back(world, found)
        assert world.hash == completed
