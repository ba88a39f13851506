"""The rollout hash as the upstream program makes it for its version v1 (section 6.1).

The fields are those of section 3.3 and the timeout, in the order in which that program declares them instead of sorted,
with null for what is absent; what is inside of a field has sorted keys. So whoever takes over the conversion from that
program derives the same requests, and starts no rollout.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from fairlead.contracts.environments.decide.hash import EXCLUDED, HASHED, without_nulls
from fairlead.contracts.environments.decide.timeout import DEFAULT
from fairlead.contracts.environments.kinds import FORCE_ROLLOUT
from fairlead.core.uuids import parse

ORDER = (
    "environmentdImageRef",
    "environmentdExtraArgs",
    "environmentdExtraEnv",
    "environmentdConnectionRoleArn",
    "environmentdResourceRequirements",
    "environmentdScratchVolumeStorageRequirement",
    "balancerdResourceRequirements",
    "consoleResourceRequirements",
    "balancerdReplicas",
    "consoleReplicas",
    "serviceAccountName",
    "serviceAccountAnnotations",
    "serviceAccountLabels",
    "podAnnotations",
    "podLabels",
    "forcePromote",
    "forceRollout",
    "rolloutStrategy",
    "rolloutRequestTimeout",
    "backendSecretName",
    "authenticatorKind",
    "enableRbac",
    "environmentId",
    "systemParameterConfigmapName",
    "balancerdExternalCertificateSpec",
    "consoleExternalCertificateSpec",
    "internalCertificateSpec",
)
_DEFAULTS: dict[str, object] = {**HASHED, "rolloutRequestTimeout": DEFAULT}
_CERTIFICATE = ("dnsNames", "duration", "renewBefore", "issuerRef", "secretTemplate")
_IDENTIFIERS = ("environmentId", "forceRollout")
_sorted = msgspec.json.Encoder(order="sorted").encode


def upstream_hash(spec: Mapping[str, object], annotations: Mapping[str, str]) -> str:
    """In 64 lower-case hexadecimal digits, of a spec in version v1."""
    forced = annotations.get(FORCE_ROLLOUT)
    return sha256(upstream_form(spec) + (forced.encode() if isinstance(forced, str) else b"")).hexdigest()


def upstream_form(spec: Mapping[str, object]) -> bytes:
    """The bytes that are hashed, but for the annotation."""
    return _members({key: _value(key, spec) for key in ORDER})


def _value(key: str, spec: Mapping[str, object]) -> object:
    if key in EXCLUDED:
        return None
    value = spec.get(key)
    value = _DEFAULTS[key] if value is None else value
    if key in _IDENTIFIERS:
        return parse(value) or value
    if key == "internalCertificateSpec" and isinstance(value, dict):
        # Members that it got later stand behind the others, and only where they are set.
        given = {each: value[each] for each in value if value[each] is not None}
        later = {each: given[each] for each in sorted(given) if each not in _CERTIFICATE}
        return msgspec.Raw(_members({**{each: given.get(each) for each in _CERTIFICATE}, **later}))
    return value


def _members(members: Mapping[str, object]) -> bytes:
    """An object with its members in this order."""
    made = [b"%s:%s" % (_sorted(key), _sorted(without_nulls(value))) for key, value in members.items()]
    return b"{%s}" % b",".join(made)
