"""License keys for tests, signed or not."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import msgspec
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

HEADER: dict[str, object] = {"typ": "JWT", "alg": "PS256"}
CLAIMS: dict[str, object] = {
    "exp": 1_800_000_000,
    "nbf": 1_700_000_000,
    "iat": 1_700_000_000,
    "iss": "Materialize, Inc.",
    "sub": "license",
    "aud": "12345678-1234-1234-1234-123456789012",
    "jti": "key-1",
    "version": 1,
}


def a_private_key(bits: int = 2048) -> RSAPrivateKey:
    return generate_private_key(65537, bits)


def public_half(key: RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def a_license_key(
    signer: RSAPrivateKey | None = None, *, header: dict[str, object] | None = None, **claims: object
) -> str:
    """One that is fine but for what is given; without a signer the signature is a made-up one."""
    message = f"{encoded(HEADER | (header or {}))}.{encoded(CLAIMS | claims)}"
    signature = b"nobody signed this"
    if signer is not None:
        signature = signer.sign(message.encode(), PSS(MGF1(SHA256()), SHA256.digest_size), SHA256())
    return f"{message}.{text_of(signature)}"


def encoded(tree: object) -> str:
    return text_of(msgspec.json.encode(tree))


def text_of(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
