"""The rollout hash: the contract's examples, and what may and may not change it."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.contracts.environments.decide.hash import EXCLUDED, HASHED, LATER, canonical, rollout_hash
from fairlead.contracts.environments.install.schema import schema_of
from fairlead.contracts.environments.kinds import FORCE_ROLLOUT, MaterializeSpec
from tests.contracts.environments.decide import some as any_
from tests.contracts.environments.decide.trees import HV, ID, Tree, V

NIL = "00000000-0000-0000-0000-000000000000"
RICH: Tree = V | {
    "environmentdExtraEnv": [
        {"name": "Z", "value": "1"},
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ],
    "environmentdResourceRequirements": {
        "requests": {"memory": "4095Mi", "cpu": "1"},
        "limits": {"memory": "4Gi"},
    },
    "podLabels": {"team": "dåta", "a": "b"},
    "rolloutStrategy": "ManuallyPromote",
    "internalCertificateSpec": {"issuerRef": {"name": "ca", "kind": "Issuer"}},
    "forceRollout": "33333333-3333-3333-3333-333333333333",
}
ROLE = {"eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/mz"}

EXAMPLES: dict[str, tuple[Tree, dict[str, str], str]] = {
    "the plain spec": (V, {}, "13598446ab7a0a1707c5e01907b7b3671a3244277ee65360de502241243234de"),
    "with the annotation": (
        V,
        {FORCE_ROLLOUT: "a4b56cbb-a13e-4f95-8a9d-425c9ba28576"},
        "60236e5c044b80ea60006f53c98f466a94c0351e94e5273301f5ff6bc2cca489",
    ),
    "another image": (
        V | {"environmentdImageRef": "materialize/environmentd:v26.1.0"},
        {},
        "e8fc907509828cd08d04f2e27120dc8498e1d16bf7fe193978ea844d2bd0b228",
    ),
    "an empty map": (
        V | {"podLabels": {}},
        {},
        "1b5b3e43e5c7ca1460e5dd9e9f2c40204dfa424f99561f2f79249fa4aeab64a1",
    ),
    "annotations of the account": (
        V | {"serviceAccountAnnotations": ROLE},
        {},
        "6726bc2e4315267ce2208704334d124065a498e12e812ca178ef2890220639f7",
    ),
    "a bit of everything": (RICH, {}, "eb0c2e7a7672ac197a484f62a6c699740b1e30a241e59b271f78fac6ce75401a"),
    "fields that make no generation": (
        V | {"balancerdReplicas": 5, "forcePromote": "x"},
        {},
        "13598446ab7a0a1707c5e01907b7b3671a3244277ee65360de502241243234de",
    ),
}


@pytest.mark.parametrize("case", EXAMPLES)
def test_the_examples_of_the_contract(case: str) -> None:
    spec, annotations, expected = EXAMPLES[case]

    assert rollout_hash(spec, annotations) == expected


def test_the_bytes_that_are_hashed() -> None:
    nulls = (
        '"balancerdExternalCertificateSpec":null,"balancerdReplicas":null,"balancerdResourceRequirements":null,'
        '"consoleExternalCertificateSpec":null,"consoleReplicas":null,"consoleResourceRequirements":null,'
    )
    expected = (
        '{"authenticatorKind":"None","backendSecretName":"materialize-backend",' + nulls + '"enableRbac":false,'
        f'"environmentId":"{ID}","environmentdConnectionRoleArn":null,"environmentdExtraArgs":null,'
        '"environmentdExtraEnv":null,"environmentdImageRef":"materialize/environmentd:v26.0.0",'
        '"environmentdResourceRequirements":null,"environmentdScratchVolumeStorageRequirement":null,'
        f'"forcePromote":null,"forceRollout":"{NIL}","internalCertificateSpec":null,"podAnnotations":null,'
        '"podLabels":null,"rolloutStrategy":"WaitUntilReady","serviceAccountAnnotations":null,'
        '"serviceAccountLabels":null,"serviceAccountName":null,"systemParameterConfigmapName":null}'
    )

    assert canonical(V).decode() == expected


def test_every_field_of_the_spec_is_accounted_for() -> None:
    """A field nobody decided about would be left out of the hash in silence."""
    assert sorted((*HASHED, *EXCLUDED, *LATER)) == sorted(schema_of(MaterializeSpec)["properties"])  # type: ignore[call-overload]
    assert (len(HASHED), len(EXCLUDED)) == (19, 7)


def test_only_quotes_backslashes_and_control_characters_are_escaped() -> None:
    text = '"\\/\b\f\n\r\t\x00\x01\x1f\x7f<>&\u2028é\ud7ff\ue000\U0001f600'

    made = canonical(V | {"serviceAccountName": text})

    assert (
        '"serviceAccountName":"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u0001\\u001f\x7f<>&\u2028é\ud7ff\ue000\U0001f600"'.encode()
        in made
    )


def test_keys_are_sorted_by_code_point() -> None:
    keys = ["\U00010000", "\uffff", "é", "z", "Z", "a.b", "a-b", "a"]

    made = canonical(V | {"podLabels": dict.fromkeys(keys, "")})

    assert list(json.loads(made)["podLabels"]) == ["Z", "a", "a-b", "a.b", "z", "é", "\uffff", "\U00010000"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"podLabels": {}}, {}),
        ({"environmentdExtraArgs": []}, {}),
        ({"environmentdExtraArgs": ["a", "b"]}, {"environmentdExtraArgs": ["b", "a"]}),
        (
            {"environmentdResourceRequirements": {"limits": {"memory": "1Gi"}}},
            {"environmentdResourceRequirements": {"limits": {"memory": "1024Mi"}}},
        ),
        (
            {"environmentdResourceRequirements": {"limits": {"cpu": 1}}},
            {"environmentdResourceRequirements": {"limits": {"cpu": "1"}}},
        ),
        ({"environmentdExtraArgs": [None]}, {"environmentdExtraArgs": []}),
        ({"podLabels": {"a": "null"}}, {"podLabels": {}}),
        ({"internalCertificateSpec": {}}, {}),
        ({"internalCertificateSpec": {"privateKeySize": 4096}}, {"internalCertificateSpec": {}}),
        ({"rolloutRequestTimeout": "90m"}, {}),
        ({"rolloutRequestTimeout": "90m"}, {"rolloutRequestTimeout": "1h 30m"}),
    ],
)
def test_what_differs_in_writing_differs(one: Tree, other: Tree) -> None:
    assert rollout_hash(V | one, {}) != rollout_hash(V | other, {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"podLabels": None, "enableRbac": None, "rolloutStrategy": None, "forceRollout": None}, {}),
        ({"enableRbac": False, "rolloutStrategy": "WaitUntilReady", "authenticatorKind": "None"}, {}),
        ({"forceRollout": NIL.replace("-", "")}, {}),
        (
            {"forceRollout": "ABCDEFAB-1111-4111-8111-111111111111"},
            {"forceRollout": "abcdefab11114111-8111111111111111"},
        ),
        (
            {"environmentdResourceRequirements": {"limits": {"cpu": "1"}, "requests": None}},
            {"environmentdResourceRequirements": {"limits": {"cpu": "1"}}},
        ),
        (
            {"internalCertificateSpec": {"issuerRef": {"name": "ca", "group": None}, "duration": None}},
            {"internalCertificateSpec": {"issuerRef": {"name": "ca"}, "privateKeyAlgorithm": None}},
        ),
        ({"rolloutRequestTimeout": "24h"}, {}),
        ({"rolloutRequestTimeout": "1 day"}, {}),
        ({"rolloutRequestTimeout": "as long as it takes"}, {}),
        ({"unknownField": {"a": 1}}, {}),
        ({"balancerdExternalCertificateSpec": {"duration": "1h"}, "consoleReplicas": 1}, {}),
    ],
)
def test_what_means_the_same_is_the_same(one: Tree, other: Tree) -> None:
    assert rollout_hash(V | one, {}) == rollout_hash(V | other, {})


def test_the_annotation_counts_by_its_bytes() -> None:
    forced = rollout_hash(V, {FORCE_ROLLOUT: "dåta"})

    assert forced == sha256(canonical(V) + "dåta".encode()).hexdigest()
    assert rollout_hash(V, {FORCE_ROLLOUT: ""}) == HV == rollout_hash(V, {"other": "x"})


@given(any_.specs, any_.notes, some.data())
def test_equal_in_what_is_hashed_means_equal_hashes(spec: Tree, annotations: dict[str, str], data: Any) -> None:
    """Whatever the rest: fields that are excluded, spelling of UUIDs, defaults in words, other annotations."""
    other = {key: value for key, value in spec.items() if key not in EXCLUDED and value is not None}
    other |= data.draw(some.fixed_dictionaries({}, optional=any_.EXCLUDED))
    for key, default in HASHED.items():
        if default is not None and key not in other and data.draw(some.booleans()):
            other[key] = default
    for key in ("forceRollout", "environmentId"):
        if key in other:
            other[key] = data.draw(some.sampled_from((other[key].upper(), other[key].replace("-", ""))))

    same = rollout_hash(dict(reversed(other.items())), annotations | {"another": "x"})

    assert same == rollout_hash(spec, annotations)


@given(any_.specs, some.sampled_from(sorted(HASHED)), some.data())
def test_a_change_in_what_is_hashed_changes_the_hash(spec: Tree, key: str, data: Any) -> None:
    values = (any_.REQUIRED | any_.HASHED)[key]
    other = spec | {key: data.draw(values)}

    changed = json.loads(canonical(other))[key] != json.loads(canonical(spec))[key]

    assert (rollout_hash(other, {}) != rollout_hash(spec, {})) == changed
    assert len(rollout_hash(other, {})) == 64


@given(some.dictionaries(some.sampled_from((*HASHED, *EXCLUDED, *LATER)), any_.anything))
def test_any_spec_has_a_hash_and_stays_as_it_was(spec: Tree) -> None:
    before = json.dumps(spec)

    made = json.loads(canonical(spec))

    assert set(HASHED) | set(EXCLUDED) <= set(made)
    assert all(made[key] is None for key in EXCLUDED)
    assert json.dumps(spec) == before
