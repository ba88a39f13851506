"""Authorities that are kept with their key, and the certificates that they sign: ECDSA P-256, back-dated ten minutes.

What a certificate is worth, whoever made it, is told by `pairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.pairs import Pair, Signer
from fairlead.engine.decide.rotation_snapshot import BACKDATED


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """All names of a Service; the API server asks for the first."""
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local", f"{service}.{namespace}", service)


def new_signer(common_name: str, lifetime: timedelta, now: datetime) -> Signer:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    certificate = (
        _to_sign(name, name, key, now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Signer(certificate.public_bytes(Encoding.PEM), _private(key))


def issue(signer: Signer, names: Sequence[str], lifetime: timedelta, now: datetime) -> Pair:
    """A certificate for these names, which ends no later than its authority; raises ValueError where it cannot sign."""
    authority, authority_key = _opened(signer)
    key = ec.generate_private_key(ec.SECP256R1())
    left = authority.not_valid_after_utc - now
    certificate = (
        # Without a subject: whoever checks a certificate goes by its other names, and some are longer than one may be.
        _to_sign(x509.Name([]), authority.subject, key, now, min(lifetime, left))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return Pair(certificate.public_bytes(Encoding.PEM), _private(key), signer.certificate)


def trouble_of(signer: Signer) -> str:
    """Why it cannot sign; empty when it can."""
    try:
        _opened(signer)
    except ValueError as error:
        return str(error)
    return ""


def _opened(signer: Signer) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    try:
        authority = pairs.read(signer.certificate)[0]
        key = load_pem_private_key(signer.key, password=None)
        is_authority = authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, TypeError, UnsupportedAlgorithm, IndexError, x509.ExtensionNotFound):
        # What was wrong may quote what is secret.
        raise ValueError("the authority or its key cannot be read") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != authority.public_key():
        raise ValueError("the authority and its key do not belong together")
    if not is_authority:
        raise ValueError("the certificate is not that of an authority")
    return authority, key


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _to_sign(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + lifetime)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
