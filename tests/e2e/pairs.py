"""Certificates as the Go program writes them into its Secret, made here from the specification and not by fairlead."""

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kubeloop.objects.core import SECRETS
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.zones import change

SECRET = "rollout-operator-self-signed-certificate"
LOCAL = "localhost"
"""The name under which the API server of a test reaches an operator on this machine."""
YEAR = timedelta(days=365)


@cache
def keys() -> tuple[rsa.RSAPrivateKey, rsa.RSAPrivateKey]:
    """Of the authority and of the server; as short as TLS allows, because nobody looks at their length."""
    first, second = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    return first, second


def a_pair(
    name: str = LOCAL,
    *,
    age: timedelta = timedelta(hours=1),
    left: timedelta = YEAR,
    organisation: str = "Grafana Labs",
) -> dict[str, bytes]:
    """`ca`, `cert` and `key`, made `age` ago and valid for what is `left`."""
    authority_key, key = keys()
    now = datetime.now(UTC)
    usage = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    owner = x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation)
    issuer = x509.Name([owner])

    def to_sign(subject: x509.Name, serial: int, signed: rsa.RSAPrivateKey, *, signs: bool) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(signed.public_key())
            .serial_number(serial)
            .not_valid_before(now - age)
            .not_valid_after(now + left)
            .add_extension(_usage(signs=signs), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        )

    authority = (
        to_sign(issuer, 2022, authority_key, signs=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    subject = x509.Name([owner, x509.NameAttribute(NameOID.COMMON_NAME, "rollout-operator")])
    certificate = (
        to_sign(subject, 1024, key, signs=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return {"ca": authority.public_bytes(Encoding.PEM), "cert": certificate.public_bytes(Encoding.PEM), "key": private}


async def store(site: Site, entries: dict[str, bytes], secret: str = SECRET) -> Tree:
    """The Secret with these entries, in place of what it held; as it is then."""
    if await site.get(SECRETS, secret) is None:
        return await site.create(SECRETS, {"metadata": {"name": secret}, "type": "Opaque", "data": _encoded(entries)})
    await change(site, SECRETS, secret, {"data": None})
    return await change(site, SECRETS, secret, {"data": _encoded(entries) or None})


async def stored(site: Site, secret: str = SECRET) -> dict[str, bytes]:
    """What the Secret holds."""
    found = await site.get(SECRETS, secret)
    assert found is not None, f"there is no Secret {secret}"
    return entries_of(found)


def entries_of(secret: Tree) -> dict[str, bytes]:
    return {key: b64decode(value) for key, value in (secret.get("data") or {}).items()}


def names_of(certificate: bytes) -> list[str]:
    """DNS names that it is valid for."""
    extensions = x509.load_pem_x509_certificate(certificate).extensions
    return extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)


def _encoded(entries: dict[str, bytes]) -> dict[str, str]:
    return {key: b64encode(value).decode() for key, value in entries.items()}


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
