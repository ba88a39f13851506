"""Section 3.3, the rollout hash: equal for two objects exactly when they ask for the same generation.

The form that is hashed is frozen. The hash of every environment that runs is stored in its status, and one that came
out differently after an upgrade of the operator would roll all of them out. So the fields are listed here instead of
being read off the types, and a field that the contract got later enters only where it says something other than its
default.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from fairlead.contracts.environments.decide.timeout import DEFAULT_SECONDS, timeout_seconds
from fairlead.contracts.environments.kinds import FORCE_ROLLOUT, NIL
from fairlead.core.uuids import parse

HASHED: dict[str, object] = {
    "authenticatorKind": "None",
    "backendSecretName": None,
    "enableRbac": False,
    "environmentId": NIL,
    "environmentdConnectionRoleArn": None,
    "environmentdExtraArgs": None,
    "environmentdExtraEnv": None,
    "environmentdImageRef": None,
    "environmentdResourceRequirements": None,
    "environmentdScratchVolumeStorageRequirement": None,
    "forceRollout": NIL,
    "internalCertificateSpec": None,
    "podAnnotations": None,
    "podLabels": None,
    "rolloutStrategy": "WaitUntilReady",
    "serviceAccountAnnotations": None,
    "serviceAccountLabels": None,
    "serviceAccountName": None,
    "systemParameterConfigmapName": None,
}
"""Fields that make a generation what it is, and what they are when they are absent or null."""

EXCLUDED = (
    "balancerdExternalCertificateSpec",
    "balancerdReplicas",
    "balancerdResourceRequirements",
    "consoleExternalCertificateSpec",
    "consoleReplicas",
    "consoleResourceRequirements",
    "forcePromote",
)
"""Always null: they change no object of a generation."""

LATER = ("rolloutRequestTimeout",)
"""There only with something other than their default."""

_IDENTIFIERS = ("environmentId", "forceRollout")
_CERTIFICATE = dict.fromkeys(("dnsNames", "duration", "issuerRef", "renewBefore", "secretTemplate"))
"""Members that a certificate's specification always has; those it got later are there only when set."""

_encode = msgspec.json.Encoder(order="sorted").encode
_NULLS = dict.fromkeys(EXCLUDED)


def rollout_hash(spec: Mapping[str, object], annotations: Mapping[str, str]) -> str:
    """H, in 64 lower-case hexadecimal digits, of a spec as v1alpha2 and v1 have it."""
    forced = annotations.get(FORCE_ROLLOUT)
    return sha256(canonical(spec) + (forced.encode() if isinstance(forced, str) else b"")).hexdigest()


def canonical(spec: Mapping[str, object]) -> bytes:
    """The spec in the form that is hashed: JSON in UTF-8 with sorted keys, without white space.

    Numbers and strings stay as they were written, lists keep their order, and nothing is not the same as empty.
    """
    form = _form(spec)
    made = _encode(form)
    # Looking for nulls further in costs more than all the rest, and hardly any spec has them.
    if made.count(b"null") == _nulls(form):
        return made
    return _encode({key: without_nulls(value) for key, value in form.items()} | _certificate(form))


def _form(spec: Mapping[str, object]) -> dict[str, object]:
    form: dict[str, object] = {**HASHED, **_NULLS}
    for key in HASHED:
        value = spec.get(key)
        if value is not None:
            form[key] = value
    for key in _IDENTIFIERS:
        form[key] = parse(form[key]) or form[key]
    if timeout_seconds(timeout := spec.get("rolloutRequestTimeout")) != DEFAULT_SECONDS:
        form["rolloutRequestTimeout"] = timeout
    return form | _certificate(form)


def _certificate(form: Mapping[str, object]) -> dict[str, object]:
    """The certificate's specification with the members it always has, and without null ones besides."""
    found = form["internalCertificateSpec"]
    if not isinstance(found, dict):
        return {}
    given = {key: without_nulls(value) for key, value in found.items() if value is not None}
    return {"internalCertificateSpec": _CERTIFICATE | given}


def _nulls(form: Mapping[str, object]) -> int:
    """How many nulls belong there: of the fields, and of the certificate's members."""
    certificate = form["internalCertificateSpec"]
    members = certificate.values() if isinstance(certificate, dict) else ()
    return sum(value is None for value in form.values()) + sum(value is None for value in members)


def without_nulls(value: object) -> object:
    """Null members of objects say what absent ones say; a null in a list takes up a place."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(each) for each in value]
    return value
