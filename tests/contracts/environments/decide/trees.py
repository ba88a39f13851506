"""Materialize objects as JSON trees: each builder shows what matters and fills in a plain rest."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from fairlead.contracts.environments.decide.convert import OLD, VERSIONS
from fairlead.contracts.environments.decide.hash import rollout_hash

Tree = dict[str, Any]
V1ALPHA1, V1ALPHA2, V1 = VERSIONS
ID = "12345678-1234-1234-1234-123456789012"
V: Tree = {
    "environmentdImageRef": "materialize/environmentd:v26.0.0",
    "backendSecretName": "materialize-backend",
    "environmentId": ID,
}
"""The spec that the contract's examples start from."""
W: Tree = V | {"environmentdImageRef": "materialize/environmentd:v26.1.0"}
X: Tree = V | {"environmentdImageRef": "materialize/environmentd:v26.2.0"}
HV, HW, HX = (rollout_hash(spec, {}) for spec in (V, W, X))

U1 = "11111111-1111-4111-8111-111111111111"
U2 = "22222222-2222-4222-8222-222222222222"


def a_condition(reason: str) -> Tree:
    return {
        "type": "UpToDate",
        "status": {"Applied": "True", "FailedDeploy": "False"}.get(reason, "Unknown"),
        "reason": reason,
        "message": f"{reason} generation 2",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
        "observedGeneration": 3,
    }


def a_status(reason: str = "Applied", **fields: object) -> Tree:
    """Of v1alpha2 and v1, with the hashes only where they are given."""
    return {"resourceId": "abcdefghij", "activeGeneration": 1, "conditions": [a_condition(reason)]} | fields


def an_old_status(reason: str = "Applied", completed: str = U1, **fields: object) -> Tree:
    """Of v1alpha1."""
    return a_status(reason) | {"lastCompletedRolloutRequest": completed, "resourcesHash": "0a1b2c"} | fields


def an_object(version: str = V1ALPHA2, spec: Tree = V, status: Tree | None = None, **metadata: object) -> Tree:
    made: Tree = {
        "apiVersion": version,
        "kind": "Materialize",
        "metadata": {"name": "m", "namespace": "e", "uid": "u-1", "generation": 3} | metadata,
        "spec": deepcopy(spec),
    }
    return made if status is None else made | {"status": deepcopy(status)}


def an_old_object(spec: Tree = V, status: Tree | None = None, **metadata: object) -> Tree:
    return an_object(OLD, spec, status, **metadata)
