"""The rollout hash of the upstream program's version v1 (section 6.1): its fields in their order, and frozen."""

from __future__ import annotations

import json
from hashlib import sha256

from fairlead.contracts.environments.decide.hash import EXCLUDED, HASHED, LATER
from fairlead.contracts.environments.decide.upstream_hash import ORDER, upstream_form, upstream_hash
from fairlead.contracts.environments.kinds import FORCE_ROLLOUT
from tests.contracts.environments.decide.trees import Tree, V


def test_all_fields_are_there_once() -> None:
    assert sorted(ORDER) == sorted({*HASHED, *EXCLUDED, *LATER})


def test_fields_stand_in_their_order_with_null_for_what_is_absent() -> None:
    form = json.loads(upstream_form(V))

    assert tuple(form) == ORDER
    assert {key: value for key, value in form.items() if value is not None} == {
        "environmentdImageRef": "materialize/environmentd:v26.0.0",
        "forceRollout": "00000000-0000-0000-0000-000000000000",
        "rolloutStrategy": "WaitUntilReady",
        "rolloutRequestTimeout": "24h",
        "backendSecretName": "materialize-backend",
        "authenticatorKind": "None",
        "enableRbac": False,
        "environmentId": "12345678-1234-1234-1234-123456789012",
    }


def test_the_form_is_frozen() -> None:
    assert upstream_hash(V, {}) == "80195552385240c3cab995fdf21a0faffd7fb7684b885635491e80a828b5add1"


def test_what_is_inside_of_a_field_is_sorted_and_a_certificate_has_an_order_of_its_own() -> None:
    issued = {"kind": "Issuer", "name": "ca"}
    spec: Tree = {
        **V,
        "podLabels": {"team": "data", "a": "b"},
        "environmentdExtraEnv": [{"value": "1", "name": "Z", "valueFrom": None}],
        "internalCertificateSpec": {"privateKeySize": 256, "issuerRef": issued, "duration": None},
    }

    made = upstream_form(spec).decode()

    assert '"podLabels":{"a":"b","team":"data"}' in made
    assert '"environmentdExtraEnv":[{"name":"Z","value":"1"}]' in made
    assert made.endswith(
        '"internalCertificateSpec":{"dnsNames":null,"duration":null,"renewBefore":null,'
        '"issuerRef":{"kind":"Issuer","name":"ca"},"secretTemplate":null,"privateKeySize":256}}'
    )


def test_companions_change_nothing_and_the_annotation_does() -> None:
    assert upstream_hash({**V, "balancerdReplicas": 5, "forcePromote": "x"}, {}) == upstream_hash(V, {})
    forced = upstream_hash(V, {FORCE_ROLLOUT: "again"})
    assert forced == sha256(upstream_form(V) + b"again").hexdigest()
