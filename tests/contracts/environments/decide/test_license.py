"""License keys: which environment they are for, and what is wrong with those that are for none."""

from __future__ import annotations

from functools import cache

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as an_elliptic_key
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS, PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as some

from fairlead.contracts.environments.decide.license import LicenseWrong, environment_of, is_public_key
from tests.licenses import CLAIMS, HEADER, a_license_key, a_private_key, encoded, public_half, text_of

ENVIRONMENT = "12345678-1234-1234-1234-123456789012"
NIL = "00000000-0000-0000-0000-000000000000"


@cache
def signer() -> RSAPrivateKey:
    return a_private_key()


@cache
def stranger() -> RSAPrivateKey:
    return a_private_key()


def wrong(key: str | bytes, *trusted: bytes) -> str:
    answer = environment_of(key, trusted)
    assert isinstance(answer, LicenseWrong), answer
    return answer.text


def test_a_signed_key_says_which_environment_it_is_for() -> None:
    key = a_license_key(signer())

    assert environment_of(key, (public_half(signer()),)) == ENVIRONMENT
    assert environment_of(f"\n{key}\n".encode(), (public_half(signer()),)) == ENVIRONMENT


def test_any_of_the_trusted_keys_will_do() -> None:
    trusted = (b"not a key", public_half(stranger()), public_half(signer()))

    assert environment_of(a_license_key(signer()), trusted) == ENVIRONMENT


def test_without_trusted_keys_the_claims_are_believed() -> None:
    assert environment_of(a_license_key(), ()) == ENVIRONMENT
    assert environment_of(a_license_key(stranger()), ()) == ENVIRONMENT


@pytest.mark.parametrize("audience", [NIL, NIL.replace("-", ""), ENVIRONMENT.upper()])
def test_an_environment_id_comes_in_one_form(audience: str) -> None:
    assert environment_of(a_license_key(aud=audience), ()) in (NIL, ENVIRONMENT)


def test_an_expired_key_still_says_which_environment_it_is_for() -> None:
    assert environment_of(a_license_key(nbf=1, iat=2, exp=3), ()) == ENVIRONMENT


def test_a_key_signed_by_somebody_else_is_refused() -> None:
    text = wrong(a_license_key(stranger()), public_half(signer()))

    assert "not signed with any of the trusted public keys (--license-key-public-key)" in text


def test_claims_that_were_changed_after_signing_are_refused() -> None:
    header, _, signature = a_license_key(signer()).split(".")

    text = wrong(f"{header}.{encoded(CLAIMS | {'aud': NIL})}.{signature}", public_half(signer()))

    assert "not signed" in text


def test_other_ways_to_sign_are_refused() -> None:
    message = f"{encoded(HEADER)}.{encoded(CLAIMS)}"
    older = signer().sign(message.encode(), PKCS1v15(), SHA256())
    salted = signer().sign(message.encode(), PSS(MGF1(SHA256()), 20), SHA256())

    for signature in (older, salted, b"", b"x"):
        wrong(f"{message}.{text_of(signature)}", public_half(signer()))


def test_a_trusted_key_that_is_no_key_trusts_nobody() -> None:
    elliptic = an_elliptic_key(SECP256R1()).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    assert "not signed with any of the trusted" in wrong(a_license_key(signer()), b"", elliptic)
    assert [is_public_key(each) for each in (b"", elliptic, public_half(signer()))] == [False, False, True]


BYTES = b'{"a":"\xff"}'
BROKEN: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "three parts"),
    "one word": ("license", "three parts"),
    "four parts": (f"{a_license_key()}.x", "three parts"),
    "bytes that are no text": (b"\xff\xfe", "three parts"),
    "text that is not ASCII": ("\ud800.é.x", "header is not encoded in base64url"),
    "a header that is not base64": (f"!.{encoded(CLAIMS)}.eA", "header is not encoded in base64url"),
    "a header that is padded": (f"{encoded(HEADER)}=.{encoded(CLAIMS)}.eA", "header is not encoded in base64url"),
    "an impossible length": (f"aaaaa.{encoded(CLAIMS)}.eA", "header is not encoded in base64url"),
    "a header that is not JSON": (f"{text_of(b'{')}.{encoded(CLAIMS)}.eA", "header cannot be read as JSON"),
    "a header that is a list": (f"{encoded([])}.{encoded(CLAIMS)}.eA", "header is not a JSON object"),
    "claims that are not text": (f"{encoded(HEADER)}.{text_of(BYTES)}.eA", "claims cannot be read as JSON"),
    "claims that are too deep": (f"{encoded(HEADER)}.{text_of(b'[' * 100_000)}.eA", "claims cannot be read as JSON"),
    "claims that are a number": (f"{encoded(HEADER)}.{encoded(7)}.eA", "claims is not a JSON object"),
    "no signature": (f"{encoded(HEADER)}.{encoded(CLAIMS)}.", "signature is not encoded in base64url"),
    "no type": (a_license_key(header={"typ": None}), "does not have the type JWT"),
    "another type": (a_license_key(header={"typ": "JOSE"}), "does not have the type JWT"),
    "no algorithm": (a_license_key(header={"alg": "none"}), "not signed with PS256"),
    "another algorithm": (a_license_key(header={"alg": "HS256"}), "not signed with PS256"),
    **{f"no {name}": (a_license_key(**{name: None}), f"has no claim {name}") for name in ("exp", "nbf", "aud")},
    **{f"no {name}": (a_license_key(**{name: None}), f"has no claim {name}") for name in ("iss", "sub")},
    "another issuer": (a_license_key(iss="Somebody"), "not issued by Materialize, Inc."),
    "no version": (a_license_key(version=None), "version is not 1"),
    "another version": (a_license_key(version=2), "version is not 1"),
    "a version that is true": (a_license_key(version=True), "version is not 1"),
    "a version in words": (a_license_key(version="1"), "version is not 1"),
    "no time of issue": (a_license_key(iat=None), "iat is not a number"),
    "a time in words": (a_license_key(nbf="today"), "nbf is not a number"),
    "a time that is true": (a_license_key(exp=True), "exp is not a number"),
    "issued before it is valid": (a_license_key(iat=1), "outside of its validity"),
    "issued after it ended": (a_license_key(iat=1_900_000_000), "outside of its validity"),
    "an audience in words": (a_license_key(aud="everybody"), "(aud) is not a UUID"),
    "several audiences": (a_license_key(aud=[ENVIRONMENT]), "(aud) is not a UUID"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_every_fault_has_its_sentence(case: str) -> None:
    key, expected = BROKEN[case]

    text = wrong(key)

    assert text.startswith("the license key is not valid: ")
    assert expected in text
    assert text.endswith("put the key into the Secret as it was issued")


def test_a_key_that_was_revoked_is_refused() -> None:
    answer = environment_of(a_license_key(jti="key-7"), (), frozenset({"key-7"}))

    assert isinstance(answer, LicenseWrong)
    assert "it was revoked" in answer.text
    assert environment_of(a_license_key(jti="key-8"), (), frozenset({"key-7"})) == ENVIRONMENT
    assert environment_of(a_license_key(jti=None), (), frozenset({"key-7"})) == ENVIRONMENT


@given(some.one_of(some.binary(), some.text(), some.lists(some.binary(max_size=9), min_size=3, max_size=3)))
def test_anything_else_is_a_sentence_too(key: str | bytes | list[bytes]) -> None:
    given_one = ".".join(map(text_of, key)) if isinstance(key, list) else key

    assert isinstance(environment_of(given_one, (public_half(signer()),)), LicenseWrong)
