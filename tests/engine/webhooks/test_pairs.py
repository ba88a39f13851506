"""Pairs are made in the contract's shape, and a stored pair is told what it is worth."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.engine.certificates.pairs import (
    KEY_SIZE,
    CertificateRequest,
    Pair,
    facts_of,
    inspected,
    make,
    succeeding,
    trusting,
)
from tests.engine.webhooks.world import a_pair_of_others

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SMALL = 2048
"""Keys of this size are made in a moment; only the size differs."""


@lru_cache
def a_pair(name: str = "rollout-operator.test.svc", days: int = 365, key_size: int = SMALL) -> Pair:
    return make(CertificateRequest(name, "Grafana Labs", timedelta(days=days), "rollout-operator"), NOW, key_size)


def test_rule_46_the_server_certificate_is_signed_by_an_authority_of_its_own() -> None:
    pair = make(
        CertificateRequest("rollout-operator.test.svc", "Grafana Labs", timedelta(days=365), "rollout-operator"), NOW
    )

    authority = x509.load_pem_x509_certificate(pair.authority)
    server = x509.load_pem_x509_certificate(pair.certificate)

    server.verify_directly_issued_by(authority)
    authority.verify_directly_issued_by(authority)
    assert (authority.serial_number, server.serial_number) == (2022, 1024)
    assert [each.rfc4514_attribute_name for each in authority.subject] == ["O"]
    assert server.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "rollout-operator"
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = authority.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.key_cert_sign
    assert usage.digital_signature
    for each in (authority, server):
        key = each.public_key()
        assert isinstance(key, rsa.RSAPublicKey)
        assert key.key_size == KEY_SIZE
        assert each.not_valid_after_utc == NOW + timedelta(days=365)
        assert NOW - timedelta(minutes=5) <= each.not_valid_before_utc <= NOW
        purposes = each.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert set(purposes) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
    assert pair.key.startswith(b"-----BEGIN RSA PRIVATE KEY-----")


def test_a_stored_pair_is_known_by_its_names_and_its_life() -> None:
    facts = facts_of(a_pair().entries())

    assert facts.problem == ""
    assert facts.names == ("rollout-operator.test.svc",)
    assert facts.not_after == NOW + timedelta(days=365)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"key": a_pair("other").key}, "do not belong together", id="the key of another certificate"),
        pytest.param({"cert": b"-----BEGIN CERTIFICATE-----\nAAAA"}, "cannot be read", id="half a certificate"),
        pytest.param({"cert": b"nonsense"}, "cannot be read", id="no certificate"),
        pytest.param({"key": b"nonsense"}, "cannot be read", id="no key"),
        pytest.param({"key": a_pair().certificate}, "cannot be read", id="a certificate for a key"),
        pytest.param({"ca": b"nonsense"}, "did not issue the certificate", id="no ca"),
        pytest.param({"ca": a_pair("other").authority}, "did not issue the certificate", id="the ca of another one"),
    ],
)
def test_a_pair_that_cannot_be_used_has_a_problem(changes: dict[str, bytes], problem: str) -> None:
    assert problem in facts_of({**a_pair().entries(), **changes}).problem


@pytest.mark.parametrize("between", [False, True], ids=["by its ca", "through an intermediate"])
def test_certificates_of_others_are_used_when_their_ca_vouches_for_them(between: bool) -> None:
    pair = a_pair_of_others("a.test.svc", NOW, timedelta(days=1), between=between)

    facts = facts_of(pair.entries())

    assert facts.problem == ""
    assert not facts.by_contract
    assert facts_of(a_pair().entries()).by_contract


def test_a_certificate_may_be_its_own_authority_and_one_of_several_suffices() -> None:
    pair, other = a_pair_of_others("a.test.svc", NOW, timedelta(days=1)), a_pair()

    assert facts_of({**pair.entries(), "ca": pair.certificate}).problem == ""
    assert facts_of({**pair.entries(), "ca": other.authority + pair.authority}).problem == ""


def test_a_secret_without_entries_is_empty_and_one_with_empty_entries_is_not() -> None:
    assert facts_of({}).empty
    assert not facts_of({"ca": b"", "cert": b"", "key": b""}).empty
    assert facts_of({"ca": b"x", "cert": b"", "key": b"y"}).keys == ("ca", "key")


def test_a_pair_ends_with_the_first_certificate_of_its_chain_to_end() -> None:
    short, long = a_pair(days=2), a_pair()

    facts = inspected(Pair(long.certificate + short.certificate, long.key))

    assert facts.not_after == NOW + timedelta(days=2)


def test_a_successor_is_trusted_together_with_the_authority_before_it_unless_that_has_expired() -> None:
    old, new = a_pair(days=10), a_pair(days=20)

    both = succeeding(new, old, NOW)
    alone = succeeding(new, old, NOW + timedelta(days=11))

    assert both.authority == new.authority + old.authority
    assert alone.authority == new.authority
    assert (both.certificate, both.key) == (new.certificate, new.key)


def test_authorities_that_other_replicas_still_show_stay_trusted_until_they_expire() -> None:
    old, new, stranger = a_pair(days=10), a_pair(days=20), b"no certificate"

    assert trusting(new.authority, b"", NOW) == new.authority
    assert trusting(new.authority, old.authority, NOW) == new.authority + old.authority
    assert trusting(new.authority, old.authority, NOW + timedelta(days=11)) == new.authority
    assert trusting(new.authority, stranger, NOW) == new.authority
    both = new.authority + old.authority
    assert trusting(old.authority, both, NOW) == both
    assert trusting(new.authority, both, NOW + timedelta(days=11)) == new.authority


def test_authorities_of_others_do_not_stay_trusted() -> None:
    ours = a_pair()
    stranger = make(CertificateRequest("a", "Somebody else", timedelta(days=1), "rollout-operator"), NOW, key_size=2048)

    assert trusting(ours.authority, stranger.authority, NOW) == ours.authority
