"""Certificates, as cert-manager is asked for them (section 2.3).

What an object says wins over the operator's default of the same kind, field by field; without an issuer from either
there is no certificate, and that connection is plain text. The key's size belongs to its algorithm: where an object
names another algorithm than the default does, the default's size is not taken over.
`certificate_trouble` says what cannot be built; whoever has asked it may build.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.decide.objects.owner import Owner, filled
from fairlead.contracts.environments.decide.objects.wanted import Wanted
from fairlead.contracts.environments.kinds import CERTIFICATES, CertificateSpec, Json

Algorithm = Literal["RSA", "ECDSA", "Ed25519"]

LEAST_RSA = 2048
_DEFAULT_SIZES: dict[str, int] = {"RSA": 4096, "ECDSA": 256}
_CURVES = (256, 384, 521)


class PrivateKey(Struct, frozen=True):
    algorithm: str
    size: int | None
    """None for an algorithm whose keys have one size (B7)."""

    @property
    def trouble(self) -> str:
        """One sentence, empty when there is none."""
        if self.algorithm == "Ed25519" and self.size is not None:
            return f"privateKeySize is {self.size}, but keys of Ed25519 have one size: remove privateKeySize"
        if self.algorithm == "ECDSA" and self.size not in _CURVES:
            return f"privateKeySize is {self.size}, but keys of ECDSA have 256, 384 or 521 bits: set it to one of these"
        if self.algorithm == "RSA" and (self.size or 0) < LEAST_RSA:
            return f"privateKeySize is {self.size}, but keys of RSA need at least {LEAST_RSA} bits: raise it"
        return ""


class Certificate(Struct, frozen=True):
    """One certificate of an owner, before it is known whether there is one."""

    name: str
    """Without the prefix of its owner's names."""
    kept_in: str
    """Name of the Secret, likewise."""
    own: CertificateSpec | None
    default: CertificateSpec | None
    """The operator's, for certificates of this kind."""
    algorithm: Algorithm = "ECDSA"
    """Where nobody names one."""
    also_for: tuple[str, ...] = ()
    """DNS names beside those that are configured."""

    @property
    def spec(self) -> CertificateSpec:
        return effective(self.own, self.default)

    @property
    def is_wanted(self) -> bool:
        return self.spec.issuer_ref is not None

    @property
    def key(self) -> PrivateKey:
        spec, default = self.spec, self.default or CertificateSpec()
        algorithm = spec.private_key_algorithm or self.algorithm
        size = spec.private_key_size
        if algorithm != (default.private_key_algorithm or self.algorithm):
            size = self.own.private_key_size if self.own else None
        return PrivateKey(algorithm, _DEFAULT_SIZES.get(algorithm) if size is None else size)

    def secret_in(self, owner: Owner) -> str:
        """Name of the Secret."""
        return owner.prefixed(self.kept_in)

    def wanted(self, owner: Owner) -> tuple[Wanted, ...]:
        """The Certificate, if there is to be one."""
        if not self.is_wanted:
            return ()
        spec, key = self.spec, self.key
        template = spec.secret_template
        labels = (template.labels if template and template.labels else {}) | owner.identity
        body: Json = {
            "secretName": self.secret_in(owner),
            "dnsNames": filled(tuple(dict.fromkeys((*(spec.dns_names or ()), *self.also_for)))),
            "duration": spec.duration,
            "renewBefore": spec.renew_before,
            "issuerRef": msgspec.to_builtins(spec.issuer_ref),
            "secretTemplate": {"labels": labels, "annotations": filled(template.annotations if template else None)},
            "privateKey": {
                "algorithm": key.algorithm,
                "size": key.size,
                "encoding": "PKCS8",
                "rotationPolicy": "Always",
            },
        }
        return (owner.wanted(CERTIFICATES, owner.prefixed(self.name), {"spec": body}),)


def effective(own: CertificateSpec | None, default: CertificateSpec | None) -> CertificateSpec:
    """Field by field what the object says, else the operator's default."""
    own, default = own or CertificateSpec(), default or CertificateSpec()
    merged = {
        field: getattr(own, field) if getattr(own, field) is not None else getattr(default, field)
        for field in CertificateSpec.__struct_fields__
    }
    return CertificateSpec(**merged)


def certificate_trouble(certificate: Certificate) -> str:
    """Why the certificate cannot be made, in one sentence; empty when it can or when there is none."""
    trouble = certificate.key.trouble if certificate.is_wanted else ""
    return f"The {certificate.name} certificate cannot be asked for: {trouble}." if trouble else ""


def environmentd_certificate(owner: Owner, own: CertificateSpec | None, default: CertificateSpec | None) -> Certificate:
    """For the connections to environmentd, within the cluster."""
    service = owner.prefixed("environmentd")
    return Certificate(
        name="environmentd-external",
        kept_in="environmentd-tls",
        own=own,
        default=default,
        algorithm="Ed25519",
        also_for=(service, f"{service}.{owner.namespace}.svc.cluster.local"),
    )


def external_certificate(app: str, own: CertificateSpec | None, default: CertificateSpec | None) -> Certificate:
    """For the connections of users to balancerd or console."""
    return Certificate(name=f"{app}-external", kept_in=f"{app}-external-tls", own=own, default=default)
