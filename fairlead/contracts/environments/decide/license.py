"""License keys (section 2.10): JSON web tokens whose audience is the environment they are for.

Without trusted keys the claims are believed as they stand: the database verifies the key again before it serves. Time
plays no part, as a key that has expired still says which environment it is for.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.kinds import Json
from fairlead.core.uuids import parse
from kubeloop.unreadable import UNREADABLE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

ISSUER = "Materialize, Inc."
VERSION = 1
REVOKED: frozenset[str] = frozenset()
"""Identifiers (`jti`) of keys that were withdrawn; there is none."""

_REQUIRED = ("exp", "nbf", "aud", "iss", "sub")
_BASE64URL = re.compile(rb"[A-Za-z0-9_-]+")


class LicenseWrong(Struct, frozen=True):
    """Why a license key is of no use, in a sentence that says what to do and holds nothing of the key."""

    text: str


class _Wrong(Exception):
    pass


def environment_of(
    key: str | bytes, trusted: tuple[bytes, ...], revoked: frozenset[str] = REVOKED
) -> str | LicenseWrong:
    """The environment id, lower-case with hyphens, that a license key is for; `trusted` are public keys in PEM."""
    try:
        return _environment_of(key, trusted, revoked)
    except _Wrong as wrong:
        return LicenseWrong(f"the license key is not valid: {wrong}; put the key into the Secret as it was issued")


def is_public_key(pem: bytes) -> bool:
    """Whether a license key can be signed with the private half of this."""
    return _public(pem) is not None


def _environment_of(key: str | bytes, trusted: tuple[bytes, ...], revoked: frozenset[str]) -> str:
    text = key.encode(errors="replace") if isinstance(key, str) else key
    parts = text.strip().split(b".")
    if len(parts) != 3:
        raise _Wrong("it does not have three parts with dots between them")
    header, claims, signature = parts
    _check_header(_json(header, "header"))
    signed = _decoded(signature, "signature")
    if trusted:
        _check_signature(trusted, header + b"." + claims, signed)
    return _check_claims(_json(claims, "claims"), revoked)


def _check_header(header: Json) -> None:
    if header.get("typ") != "JWT":
        raise _Wrong("its header does not have the type JWT")
    if header.get("alg") != "PS256":
        raise _Wrong("it is not signed with PS256")


def _check_claims(claims: Json, revoked: frozenset[str]) -> str:
    for name in _REQUIRED:
        if claims.get(name) is None:
            raise _Wrong(f"it has no claim {name}")
    if claims["iss"] != ISSUER:
        raise _Wrong(f"it was not issued by {ISSUER}")
    version = claims.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise _Wrong(f"its claim version is not {VERSION}")
    begin, issued, end = (_time(claims, name) for name in ("nbf", "iat", "exp"))
    if not begin <= issued <= end:
        raise _Wrong("its time of issue (iat) is outside of its validity (nbf to exp)")
    identifier = claims.get("jti")
    if isinstance(identifier, str) and identifier in revoked:
        raise _Wrong("it was revoked")
    environment = parse(claims["aud"])
    if environment is None:
        raise _Wrong("its audience (aud) is not a UUID")
    return environment


def _time(claims: Json, name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Wrong(f"its claim {name} is not a number of seconds")
    return value


def _json(part: bytes, name: str) -> Json:
    try:
        tree = msgspec.json.decode(_decoded(part, name))
    except UNREADABLE:
        raise _Wrong(f"its {name} cannot be read as JSON") from None
    if not isinstance(tree, dict):
        raise _Wrong(f"its {name} is not a JSON object")
    return tree


def _decoded(part: bytes, name: str) -> bytes:
    if not _BASE64URL.fullmatch(part) or len(part) % 4 == 1:
        raise _Wrong(f"its {name} is not encoded in base64url")
    return urlsafe_b64decode(part + b"=" * (-len(part) % 4))


def _check_signature(trusted: tuple[bytes, ...], message: bytes, signature: bytes) -> None:
    """By one of the keys; a key that cannot be read signs nothing."""
    # 40 ms, spent only where keys are trusted.
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS  # noqa: PLC0415
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415

    for public in filter(None, map(_public, trusted)):
        try:
            public.verify(signature, message, PSS(MGF1(SHA256()), SHA256.digest_size), SHA256())
        except InvalidSignature:
            continue
        return
    raise _Wrong("it is not signed with any of the trusted public keys (--license-key-public-key)")


def _public(pem: bytes) -> RSAPublicKey | None:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    try:
        public = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        return None
    return public if isinstance(public, RSAPublicKey) else None
