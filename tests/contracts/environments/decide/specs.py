"""What people write of the environment in the world of values, and a condition that others write."""

from __future__ import annotations

from base64 import b64encode

import msgspec

from fairlead.contracts.environments.kinds import NIL
from tests.contracts.environments.decide.things import Tree

OLD, NEXT = "materialize/environmentd:v26.0.0", "materialize/environmentd:v26.1.0"
ENVIRONMENT_ID = "12345678-1234-1234-1234-123456789012"
IMMEDIATELY = "ImmediatelyPromoteCausingDowntime"
MANUALLY = "ManuallyPromote"


def a_license(environment: str = NIL, **claims: object) -> str:
    """A key that nobody signed, for this environment."""
    content = {"exp": 2_000_000_000, "nbf": 1, "iat": 2, "iss": "Materialize, Inc.", "sub": "somebody", "version": 1}
    parts = ({"typ": "JWT", "alg": "PS256"}, content | {"aud": environment} | claims)
    return ".".join((*(b64encode(msgspec.json.encode(part)).decode().rstrip("=") for part in parts), "c2lnbmVk"))


def a_spec(**fields: object) -> Tree:
    """The smallest useful one; None leaves a field out."""
    spec = {
        "environmentdImageRef": OLD,
        "backendSecretName": "backend",
        "environmentId": ENVIRONMENT_ID,
        "forceRollout": NIL,
        "rolloutStrategy": "WaitUntilReady",
        "authenticatorKind": "None",
        "enableRbac": False,
    }
    return {name: value for name, value in (spec | fields).items() if value is not None}


def a_ready_condition(status: str = "True") -> Tree:
    return {
        "type": "Ready",
        "status": status,
        "reason": "DeploymentStatus",
        "message": "balancerd deployment is ready",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
    }
