"""A certificate authority that lives as long as one control plane.

Its certificates hold for any clock a machine may show: they are worth nothing once the control plane is gone, and its
keys never leave a folder that only its owner may read. Keys are P-256, which takes a millisecond where RSA takes
hundreds.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

_SINCE = datetime(2020, 1, 1, tzinfo=UTC)
_UNTIL = datetime(2120, 1, 1, tzinfo=UTC)


class Pair(Struct, frozen=True):
    """What proves an identity: PEM of a certificate and of its key."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs what a control plane's servers and users show each other."""

    def __init__(self) -> None:
        self._key = _new_key()
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "control plane")])
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        signed = (
            self._to_sign(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = signed.public_bytes(Encoding.PEM)

    def server(self, hosts: Sequence[str]) -> Pair:
        """For a server reached under these names and IP addresses."""
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        names = x509.SubjectAlternativeName([_host(host) for host in hosts])
        return self._issue(name, ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, groups: Sequence[str] = ()) -> Pair:
        """For a user as the API server reads it: common name and organizations."""
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
        attributes += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        return self._issue(x509.Name(attributes), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issue(
        self, subject: x509.Name, purpose: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None = None
    ) -> Pair:
        key = _new_key()
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        to_sign = (
            self._to_sign(subject, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(issuer, critical=False)
        )
        if names is not None:
            to_sign = to_sign.add_extension(names, critical=False)
        return Pair(to_sign.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM), _pem(key))

    def _to_sign(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_SINCE)
            .not_valid_after(_UNTIL)
        )


def signing_pair() -> tuple[bytes, bytes]:
    """PEM of a private key and of its public key, for service-account tokens."""
    key = _new_key()
    return _pem(key), key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    # The traditional form is the one that every released API server reads.
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
