"""Certificates and their keys: making them, and telling what a stored pair is worth.

What is made has this shape: an authority that signs one server certificate and whose key is
forgotten at once, both RSA 4096. Making a pair takes seconds of a processor, so callers do it in a thread.
"""

from __future__ import annotations

import ssl
import warnings
from datetime import datetime, timedelta
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from fairlead.engine.decide.certificate import KEYS, CertificateFacts
from fairlead.engine.decide.trust import Authority, kept_after, kept_beside
from kubeloop.memory_file import as_file
from kubeloop.sealed import Unshown

KEY_SIZE = 4096
BACKDATED = timedelta(minutes=5)
"""A certificate is valid from a little before it was made, for clocks that are behind."""
_AUTHORITY_SERIAL = 2022
_SERVER_SERIAL = 1024


class CertificateRequest(Struct, frozen=True):
    """What a self-signed certificate is to say."""

    dns_name: str
    organisation: str
    lifetime: timedelta
    common_name: str


class Signer(Unshown, frozen=True):
    """PEM of an authority and of its key."""

    certificate: bytes
    key: bytes


class Pair(Unshown, frozen=True):
    """PEM of the certificate served, of its key, and of the authorities that its clients are to trust."""

    certificate: bytes
    key: bytes
    authority: bytes = b""

    def entries(self) -> dict[str, bytes]:
        """As the Secret holds them."""
        return dict(zip(KEYS, (self.authority, self.certificate, self.key), strict=True))


def make(wanted: CertificateRequest, now: datetime, key_size: int = KEY_SIZE) -> Pair:
    """A pair signed by an authority of its own, valid from now for the lifetime."""
    authority_key, key = _new_key(key_size), _new_key(key_size)
    organisation = x509.NameAttribute(NameOID.ORGANIZATION_NAME, wanted.organisation)
    issuer = x509.Name([organisation])
    authority = (
        _to_sign(issuer, issuer, authority_key, _AUTHORITY_SERIAL, wanted, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    subject = x509.Name([organisation, x509.NameAttribute(NameOID.COMMON_NAME, wanted.common_name)])
    certificate = (
        _to_sign(subject, issuer, key, _SERVER_SERIAL, wanted, now)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(wanted.dns_name)]), critical=False)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return Pair(certificate.public_bytes(Encoding.PEM), private, authority.public_bytes(Encoding.PEM))


def succeeding(new: Pair, old: Pair, now: datetime) -> Pair:
    """The new pair, trusted together with the authorities of the old one that have not expired."""
    fresh = _described(new.authority)
    kept = kept_after(fresh, _described(old.authority), now)
    return Pair(new.certificate, new.key, b"".join(each.pem for each in (*fresh, *kept)))


def trusting(authority: bytes, held: bytes, now: datetime, *, alone: bool = False) -> bytes:
    """A bundle that trusts these authorities, and of those held the ones that another replica may still show.

    With `alone` no replica shows another.
    """
    kept = kept_beside(_described(authority), _described(held), now, alone=alone)
    return held if kept is None else authority + b"".join(each.pem for each in kept)


def facts_of(entries: dict[str, bytes]) -> CertificateFacts:
    """What the entries of a Secret are worth."""
    present = tuple(key for key in KEYS if entries.get(key))
    if present != KEYS:
        return CertificateFacts(present, empty=not entries)
    return inspected(Pair(entries["cert"], entries["key"], entries["ca"]))


@lru_cache(maxsize=4)
def inspected(pair: Pair) -> CertificateFacts:
    """What a certificate and its key are worth, and its authorities where there are any.

    To see whether a key of RSA is sound takes a tenth of a second, and the same pairs are looked at again and again.
    """
    try:
        served = read(pair.certificate)
        key = load_pem_private_key(pair.key, password=None)
        matches = _public(key.public_key()) == _public(served[0].public_key())
        names = _names(served[0])
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidSignature) as error:
        return CertificateFacts(problem=f"holds a certificate or a key that cannot be read ({_short(error)})")
    if not matches:
        return CertificateFacts(problem="holds a certificate and a key that do not belong together")
    try:
        load(ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), pair)
    except ssl.SSLError as error:
        return CertificateFacts(
            problem=f"holds a certificate or a key that TLS refuses ({error.reason or _short(error)})"
        )
    authorities = _certificates(pair.authority)
    if pair.authority and not any(_is_trusted(each, authorities) for each in served):
        return CertificateFacts(problem="holds a ca that did not issue the certificate")
    return CertificateFacts(
        not_before=max(each.not_valid_before_utc for each in served),
        not_after=min(each.not_valid_after_utc for each in served),
        names=names,
        by_contract=served[0].serial_number == _SERVER_SERIAL
        and any(each.serial_number == _AUTHORITY_SERIAL for each in authorities),
    )


def authorities(pem: bytes) -> tuple[tuple[bytes, datetime], ...]:
    """PEM and end of every certificate in a bundle, each once; none when it cannot be read."""
    found = {each.public_bytes(Encoding.PEM): each.not_valid_after_utc for each in _certificates(pem)}
    return tuple(found.items())


def served_until(certificate: bytes) -> tuple[datetime, tuple[str, ...]] | None:
    """When a served chain ends, and the names that it is for; None when it cannot be read."""
    try:
        served = read(certificate)
        return min(each.not_valid_after_utc for each in served), _names(served[0])
    except (ValueError, UnsupportedAlgorithm):
        return None


def is_trusted(certificate: bytes, authority: bytes) -> bool:
    """Whether clients that trust this bundle trust the certificate that is served, or one of its chain."""
    trusted = _certificates(authority)
    return any(_is_trusted(each, trusted) for each in _certificates(certificate))


def load(context: ssl.SSLContext, pair: Pair) -> None:
    """Has the context show this pair; raises SSLError for what TLS refuses, such as a short key."""
    with as_file(pair.certificate + b"\n" + pair.key) as path:
        context.load_cert_chain(path)


def _is_trusted(certificate: x509.Certificate, authorities: list[x509.Certificate]) -> bool:
    return certificate in authorities or any(_issued(certificate, each) for each in authorities)


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidSignature):
        return False
    return True


def _public(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    return tuple(found.value.get_values_for_type(x509.DNSName))


def read(pem: bytes) -> list[x509.Certificate]:
    """All that are in it; raises ValueError. An authority of cert-controller has the number 0, which is let pass."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Parsed a serial number which wasn't positive")
        return x509.load_pem_x509_certificates(pem)


def _certificates(pem: bytes) -> list[x509.Certificate]:
    try:
        return read(pem)
    except ValueError:
        return []


def _described(pem: bytes) -> tuple[Authority, ...]:
    return tuple(
        Authority(each.public_bytes(Encoding.PEM), each.subject.public_bytes(), each.not_valid_after_utc)
        for each in _certificates(pem)
    )


def _short(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:120]


def _new_key(size: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=size)


def _to_sign(
    subject: x509.Name,
    issuer: x509.Name,
    key: rsa.RSAPrivateKey,
    serial: int,
    wanted: CertificateRequest,
    now: datetime,
) -> x509.CertificateBuilder:
    both = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + wanted.lifetime)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
