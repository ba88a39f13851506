"""Writes down what this release makes of a set of objects; fields that a release brings are added to the set."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from fairlead import __version__
from fairlead.contracts.environments.decide.convert import OLD, VERSIONS, convert
from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.kinds import FORCE_ROLLOUT
from tests.contracts.environments.decide.test_hash import RICH
from tests.contracts.environments.decide.trees import (
    HV,
    HW,
    U1,
    U2,
    V1,
    V1ALPHA2,
    Tree,
    V,
    W,
    a_status,
    an_object,
    an_old_object,
    an_old_status,
)

FOLDER = Path(__file__).parent
CERTIFICATE: Tree = {
    "dnsNames": ["a.example.com"],
    "duration": "2160h",
    "renewBefore": "360h",
    "issuerRef": {"name": "ca", "kind": "ClusterIssuer", "group": "cert-manager.io"},
    "secretTemplate": {"annotations": {"a": "b"}, "labels": {}},
    "privateKeyAlgorithm": "RSA",
    "privateKeySize": 4096,
}
DEFAULTS: Tree = {
    "authenticatorKind": "None",
    "enableRbac": False,
    "forceRollout": "00000000-0000-0000-0000-000000000000",
    "rolloutStrategy": "WaitUntilReady",
}
ROLE = {"environmentdIamRoleArn": "arn:aws:iam::123456789012:role/mz"}

OBJECTS: dict[str, Tree] = {
    "plain": an_object(),
    "plain, v1": an_object(V1),
    "as stored": an_object(V1ALPHA2, V | DEFAULTS, a_status(lastCompletedRolloutHash=HV, requestedRolloutHash=HV)),
    "forced by annotation": an_object(annotations={FORCE_ROLLOUT: "node pool b", "other": "x"}),
    "forced by field": an_object(V1, V | {"forceRollout": U1.upper()}),
    "a bit of everything": an_object(V1ALPHA2, RICH, a_status("Applying", requestedRolloutHash=HW)),
    "certificates": an_object(
        V1, V | dict.fromkeys(("internalCertificateSpec", "balancerdExternalCertificateSpec"), CERTIFICATE)
    ),
    "nulls": an_object(V1ALPHA2, V | {"podLabels": None, "internalCertificateSpec": {"duration": None}}),
    "empty maps and lists": an_object(V1ALPHA2, V | {"podLabels": {}, "environmentdExtraArgs": []}),
    "whole numbers": an_object(
        V1ALPHA2, V | {"environmentdResourceRequirements": {"limits": {"cpu": 2}, "requests": {"cpu": "500m"}}}
    ),
    "texts to escape": an_object(
        V1ALPHA2, V | {"environmentdExtraArgs": ['"\\/\b\f\n\r\t\x00\x1f\x7f', "dåta \U0001f600"]}
    ),
    "a timeout": an_object(V1, V | {"rolloutRequestTimeout": "1h 30m"}),
    "the default timeout": an_object(V1, V | {"rolloutRequestTimeout": "24h"}),
    "password, access control and parameters": an_object(
        V1ALPHA2,
        V | {"authenticatorKind": "Password", "enableRbac": True, "systemParameterConfigmapName": "parameters"},
    ),
    "accounts and companions": an_object(
        V1ALPHA2,
        V
        | {
            "serviceAccountName": "own",
            "serviceAccountLabels": {"a": "b"},
            "balancerdReplicas": 3,
            "consoleReplicas": 1,
            "consoleResourceRequirements": {"limits": {"memory": "1Gi"}},
            "forcePromote": HV,
        },
    ),
    "promoting": an_object(V1ALPHA2, W, a_status("Promoting", lastCompletedRolloutHash=HV, requestedRolloutHash=HW)),
    "old, idle": an_old_object(V | {"requestRollout": U1} | ROLE, an_old_status()),
    "old, in the middle": an_old_object(W | {"requestRollout": U2, "forcePromote": U2}, an_old_status("Applying")),
    "old, promoting": an_old_object(W | {"requestRollout": U2}, an_old_status("Promoting")),
    "old, without status": an_old_object(V | {"requestRollout": U1, "inPlaceRollout": False, "forcePromote": ""}),
    "old, with hashes": an_old_object(
        W | {"requestRollout": U2}, an_old_status(lastCompletedRolloutHash=HV, requestedRolloutHash=HV)
    ),
    "a manager's part": {"apiVersion": V1ALPHA2, "kind": "Materialize", "spec": {"podLabels": {"a": "b"}}},
    "an old manager's part": {"apiVersion": OLD, "kind": "Materialize", "metadata": {}, "spec": ROLE},
}


def made_of(tree: Tree) -> Tree:
    """What this release makes of an object."""
    newer: Tree = convert(tree, V1ALPHA2)
    annotations = (newer.get("metadata") or {}).get("annotations") or {}
    return {
        "hash": rollout_hash(newer["spec"], annotations),
        "conversions": {version: convert(tree, version) for version in VERSIONS},
    }


def main() -> None:
    path = FOLDER / f"{__version__}.json"
    if path.exists():
        sys.exit(f"{path.name} is there: it belongs to a release, so raise the version first")
    records = {name: {"object": tree, **made_of(tree)} for name, tree in OBJECTS.items()}
    path.write_bytes(msgspec.json.format(msgspec.json.encode(records), indent=1) + b"\n")


if __name__ == "__main__":
    main()
