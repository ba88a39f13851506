"""Lists of environments as the API server sends them to be converted, and whether they came back right.

Every object is of the same size and different from the others. Those of the old version are as an operator of that
version left them, done with their last rollout and without hashes, so that every conversion has to work one out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from uuid import NAMESPACE_OID, uuid5

import msgspec
from msgspec import Raw, Struct

from fairlead.contracts.environments.kinds import GROUP, MATERIALIZES

OLD, NEW = f"{GROUP}/v1alpha1", f"{GROUP}/v1alpha2"
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
BYTES = 2000
"""Of each object of the old version."""
COUNT = 10_000
_NIL = "00000000-0000-0000-0000-000000000000"
_HASH = re.compile("[0-9a-f]{64}")
_FILLED = 2
"""The argument that makes up what is missing to the size."""

Tree = dict[str, object]


class Status(Struct, frozen=True, rename="camel"):
    """The fields that a conversion has to get right."""

    last_completed_rollout_hash: str = ""
    requested_rollout_hash: str = ""
    last_completed_rollout_request: str = ""


class Spec(Struct, frozen=True, rename="camel"):
    request_rollout: str = ""
    environmentd_image_ref: str = ""


class Object(Struct, frozen=True, rename="camel"):
    api_version: str
    metadata: Raw
    spec: Spec
    status: Status


class _Result(Struct, frozen=True):
    status: str
    message: str = ""


class _Response(Struct, frozen=True, rename="camel"):
    uid: str
    result: _Result
    converted_objects: list[Raw] = []


class _Review(Struct, frozen=True):
    response: _Response


def environment(index: int) -> bytes:
    """One of the old version, as it is stored."""
    tree = _tree(index)
    missing = BYTES - len(msgspec.json.encode(tree))
    if missing < 0:
        raise ValueError(f"an object of {BYTES - missing} bytes is larger than it should be")
    spec = tree["spec"]
    assert isinstance(spec, dict)
    arguments = spec["environmentdExtraArgs"]
    spec["environmentdExtraArgs"] = [*arguments[:_FILLED], arguments[_FILLED] + "x" * missing]
    return msgspec.json.encode(tree)


def review(objects: Sequence[bytes], desired: str) -> bytes:
    """As the API server asks."""
    request = {"uid": UID, "desiredAPIVersion": desired, "objects": [Raw(each) for each in objects]}
    return msgspec.json.encode(
        {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request}
    )


def converted(body: bytes) -> list[bytes]:
    """The objects of a good answer; raises ValueError with the webhook's words for another one."""
    response = msgspec.json.decode(body, type=_Review).response
    if response.uid != UID or response.result.status != "Success":
        raise ValueError(f"the review was not converted: {response.result.message}")
    return [bytes(each) for each in response.converted_objects]


def newer_faults(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    """How many objects did not become right ones of the new version, in their place, with both hashes."""
    return sum(not _is_newer(*pair) for pair in zip_longest(before, after))


def older_faults(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    """How many did not become right ones of the old version, in their place, done with what was asked for."""
    return sum(not _is_older(*pair) for pair in zip_longest(before, after))


def _is_newer(before: bytes | None, after: bytes | None) -> bool:
    if before is None or after is None:
        return False
    was, made = _read(before), _read(after)
    last = made.status.last_completed_rollout_hash
    return (
        (made.api_version, bytes(made.metadata)) == (NEW, bytes(was.metadata))
        and _HASH.fullmatch(last) is not None
        and made.status.requested_rollout_hash == last
        and made.spec == Spec("", was.spec.environmentd_image_ref)
    )


def _is_older(before: bytes | None, after: bytes | None) -> bool:
    if before is None or after is None:
        return False
    was, made = _read(before), _read(after)
    request = str(uuid5(NAMESPACE_OID, was.status.last_completed_rollout_hash))
    return (
        (made.api_version, bytes(made.metadata)) == (OLD, bytes(was.metadata))
        and made.spec == Spec(request, was.spec.environmentd_image_ref)
        and made.status == Status(*_hashes(was), request)
    )


def _hashes(found: Object) -> tuple[str, str]:
    return found.status.last_completed_rollout_hash, found.status.requested_rollout_hash


_read = msgspec.json.Decoder(Object).decode


def _tree(index: int) -> Tree:
    name, request = f"environment-{index:05}", f"{index + 1:08x}-0000-4000-8000-000000000000"
    return {
        "apiVersion": OLD,
        "kind": MATERIALIZES.kind,
        "metadata": {
            "name": name,
            "namespace": "bench",
            "uid": f"{index:08x}{UID[8:]}",
            "resourceVersion": str(1_000_000 + index),
            "generation": 4,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app.kubernetes.io/part-of": "bench", "team": f"team-{index % 97}"},
            "annotations": {"example.com/contact": f"{name}@example.com"},
            "finalizers": ["orchestratord.materialize.cloud/materialize"],
        },
        "spec": _spec(index, request),
        "status": {
            "resourceId": f"r{index:09}",
            "activeGeneration": 3,
            "lastCompletedRolloutRequest": request,
            "lastCompletedRolloutEnvironmentdImageRef": "materialize/environmentd:v26.0.0",
            "resourcesHash": "",
            "conditions": [
                {
                    "type": "UpToDate",
                    "status": "True",
                    "reason": "Applied",
                    "message": "Successfully applied changes for generation 3",
                    "lastTransitionTime": "2026-01-01T00:10:00Z",
                    "observedGeneration": 4,
                }
            ],
        },
    }


def _spec(index: int, request: str) -> Tree:
    return {
        "environmentdImageRef": "materialize/environmentd:v26.0.0",
        "backendSecretName": f"materialize-backend-{index}",
        "environmentId": f"{index:08x}-1234-4234-8234-123456789012",
        "requestRollout": request,
        "forcePromote": "",
        "forceRollout": _NIL,
        "inPlaceRollout": False,
        "rolloutStrategy": "WaitUntilReady",
        "authenticatorKind": "Password",
        "enableRbac": True,
        "environmentdIamRoleArn": f"arn:aws:iam::123456789012:role/environment-{index}",
        "environmentdExtraArgs": ["--log-filter=info", "--all-features", "--note="],
        "environmentdExtraEnv": [
            {"name": "RUST_BACKTRACE", "value": "1"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": f"token-{index}", "key": "token"}}},
        ],
        "environmentdResourceRequirements": {
            "requests": {"cpu": "1", "memory": "4095Mi"},
            "limits": {"memory": "4Gi"},
        },
        "balancerdReplicas": 2,
        "podLabels": {"team": f"team-{index % 97}", "tier": "database"},
        "internalCertificateSpec": {"issuerRef": {"name": "issuer", "kind": "ClusterIssuer"}},
    }
