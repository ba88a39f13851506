"""An authority with its key, and certificates that it signs, as Secrets of TLS have them.

An authority of ten years signs a certificate for one name and one year, both RSA 2048. What cert-controller stores has
the same shape, so that either goes on with what the other left.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.pairs import Pair, Signer
from fairlead.engine.decide.kept_authority import Worth
from fairlead.engine.options import KeptAuthority

AUTHORITY = "ca.crt"
AUTHORITY_KEY = "ca.key"
CERTIFICATE = "tls.crt"
KEY = "tls.key"

KEY_SIZE = 2048
BACKDATED = timedelta(hours=1)
"""A certificate is valid from a little before it was made, for clocks that are behind."""
AUTHORITY_LIFETIME = timedelta(days=3650)
LIFETIME = timedelta(days=365)


def make_signer(names: KeptAuthority, now: datetime) -> Signer:
    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_SIZE)
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, names.organisation),
            x509.NameAttribute(NameOID.COMMON_NAME, names.common_name),
        ]
    )
    certificate = (
        _to_sign(name, name, key, names.common_name, now, AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Signer(certificate.public_bytes(Encoding.PEM), _private(key))


def sign(signer: Signer, name: str, now: datetime) -> Pair:
    """A certificate for this name; raises ValueError for an authority that cannot sign."""
    authority, authority_key = _first(signer.certificate), _rsa(signer.key)
    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_SIZE)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)] if len(name) <= _LONGEST_COMMON_NAME else [])
    certificate = (
        _to_sign(subject, authority.subject, key, name, now, LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_identifier(authority), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return Pair(certificate.public_bytes(Encoding.PEM), _private(key), signer.certificate)


_LONGEST_COMMON_NAME = 64
"""Of X.509; whoever checks a certificate goes by its other names."""


def _identifier(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """As the authority has it, whoever made that: a certificate with another one is not taken for its own."""
    try:
        known = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())  # type: ignore[arg-type]
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known.value)


def signer_of(entries: Mapping[str, bytes]) -> Signer:
    return Signer(entries.get(AUTHORITY, b""), entries.get(AUTHORITY_KEY, b""))


def pair_of(entries: Mapping[str, bytes]) -> Pair:
    return Pair(entries.get(CERTIFICATE, b""), entries.get(KEY, b""), entries.get(AUTHORITY, b""))


def entries_of(signer: Signer, pair: Pair) -> dict[str, bytes]:
    """As the Secret holds them."""
    return {
        AUTHORITY: signer.certificate,
        AUTHORITY_KEY: signer.key,
        CERTIFICATE: pair.certificate,
        KEY: pair.key,
    }


def worth_of_signer(signer: Signer, names: KeptAuthority) -> Worth:
    if missing := _missing({AUTHORITY: signer.certificate, AUTHORITY_KEY: signer.key}):
        return Worth(missing)
    try:
        certificate, key = _first(signer.certificate), _rsa(signer.key)
        is_authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        known = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        certificate.verify_directly_issued_by(certificate)
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidSignature, x509.ExtensionNotFound) as error:
        return Worth(f"or its key cannot be used ({_short(error)})")
    if key.public_key() != certificate.public_key():
        return Worth("and its key do not belong together")
    if not is_authority or names.common_name not in known.get_values_for_type(x509.DNSName):
        return Worth(f"is not {names.common_name}")
    return Worth("", certificate.not_valid_before_utc, certificate.not_valid_after_utc)


def worth_of_pair(pair: Pair, name: str) -> Worth:
    if missing := _missing({CERTIFICATE: pair.certificate, KEY: pair.key}):
        return Worth(missing)
    facts = pairs.inspected(pair)
    if facts.problem:
        return Worth(facts.problem)
    if name not in facts.names:
        return Worth(f"is for {', '.join(facts.names) or 'no name'} and not for {name}")
    return Worth("", facts.not_before, facts.not_after)


def _missing(entries: Mapping[str, bytes]) -> str:
    absent = [key for key, value in entries.items() if not value]
    return f"is not there, as the Secret has no {' and no '.join(absent)}" if absent else ""


def _first(pem: bytes) -> x509.Certificate:
    """The authority that signs; what may be behind it is only trusted."""
    return pairs.read(pem)[0]


def _rsa(pem: bytes) -> rsa.RSAPrivateKey:
    key = load_pem_private_key(pem, password=None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("the key is not RSA")  # noqa: TRY004  as of any other that cannot be used
    return key


def _private(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


def _short(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:120]


def _to_sign(
    subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey, name: str, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=not list(subject))
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=signs,
        crl_sign=False,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
