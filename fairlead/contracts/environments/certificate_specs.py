"""`--default-certificate-specs`: what is wanted of certificates, checked as far as it can be without a cluster.

A mistake here would otherwise show in every environment at once, as a certificate that is never issued.
"""

from __future__ import annotations

import msgspec

from fairlead.contracts.environments.kinds import CertificateSpec
from fairlead.contracts.environments.settings import DefaultCertificates
from fairlead.core.flag_kinds import Json, decoded, document, nothing, object_of
from fairlead.core.flags import FlagKind
from kubeloop.durations import parse_go

CERTIFICATES = ("balancerdExternal", "consoleExternal", "internal")
FIELDS = (
    "dnsNames",
    "duration",
    "renewBefore",
    "issuerRef",
    "secretTemplate",
    "privateKeyAlgorithm",
    "privateKeySize",
)
NESTED = {"issuerRef": ("name", "kind", "group"), "secretTemplate": ("annotations", "labels")}
LEAST_RSA = 2048
CURVES = (256, 384, 521)


def _read(texts: tuple[str, ...]) -> DefaultCertificates:
    specs = object_of(decoded(texts[0]), CERTIFICATES, "the default certificates")
    for name, spec in specs.items():
        if spec is not None:
            _check_keys(object_of(spec, FIELDS, f"a certificate ({name})"))
    try:
        found = msgspec.convert(specs, DefaultCertificates)
    except msgspec.ValidationError as error:
        raise ValueError(f"is not a certificate spec ({error}): correct it") from error
    for name, one in zip(CERTIFICATES, (found.balancerd_external, found.console_external, found.internal), strict=True):
        if one is not None:
            _check(name, one)
    return found


def _check_keys(spec: Json) -> None:
    for field, keys in NESTED.items():
        if spec.get(field) is not None:
            object_of(spec[field], keys, field)


def _check(name: str, spec: CertificateSpec) -> None:
    for field, text in (("duration", spec.duration), ("renewBefore", spec.renew_before)):
        if text is None:
            continue
        try:
            positive = parse_go(text) > 0
        except ValueError as error:
            raise ValueError(f"has a {field} of {name} that is no time: {error}") from error
        if not positive:
            raise ValueError(f'has the {field} "{text}" of {name}: set it to a time longer than 0s')
    algorithm, size = spec.private_key_algorithm, spec.private_key_size
    if size is None:
        return
    if algorithm is None:
        raise ValueError(f"has a privateKeySize of {name} without a privateKeyAlgorithm: give both")
    if algorithm == "RSA" and size < LEAST_RSA:
        raise ValueError(f"has the privateKeySize {size} of {name}: RSA needs {LEAST_RSA} or more")
    if algorithm == "ECDSA" and size not in CURVES:
        raise ValueError(f"has the privateKeySize {size} of {name}: ECDSA has 256, 384 and 521")
    if algorithm == "Ed25519":
        raise ValueError(f"has a privateKeySize of {name}: Ed25519 has one size, leave it out")


SPECS: FlagKind[DefaultCertificates | None] = FlagKind("JSON", _read, nothing, document)
