"""What is known of certificates in a Secret or in files, and why some cannot be served."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.issuing import issue, new_signer, service_names, trouble_of
from fairlead.engine.certificates.pairs import Pair, Signer
from fairlead.engine.certificates.secret_facts import certificates_in, leaf_of, pair_of, trouble_with

NOW = datetime(2026, 11, 18, tzinfo=UTC)
NAMES = service_names("fairlead", "operators")
SIGNER = new_signer("one", timedelta(days=10), NOW)
PAIR = issue(SIGNER, NAMES, timedelta(days=5), NOW)


def test_a_certificate_is_for_every_name_of_the_service_and_for_servers_alone() -> None:
    (found,) = x509.load_pem_x509_certificates(PAIR.certificate)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    usage = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value

    assert names.get_values_for_type(x509.DNSName) == [
        "fairlead.operators.svc",
        "fairlead.operators.svc.cluster.local",
        "fairlead.operators",
        "fairlead",
    ]
    assert [each.dotted_string for each in usage] == ["1.3.6.1.5.5.7.3.1"]
    assert isinstance(found.public_key(), ec.EllipticCurvePublicKey)
    assert found.not_valid_before_utc == NOW - timedelta(minutes=10)


def test_a_certificate_ends_no_later_than_its_authority() -> None:
    (found,) = x509.load_pem_x509_certificates(issue(SIGNER, NAMES, timedelta(days=99), NOW).certificate)

    assert found.not_valid_after_utc == NOW + timedelta(days=10)


@pytest.mark.parametrize(
    ("certificate", "key", "said"),
    [
        (b"", b"", "has no tls.crt and no tls.key"),
        (PAIR.certificate, b"", "has no tls.key"),
        (b"nonsense", PAIR.key, "cannot be read"),
        (PAIR.certificate, SIGNER.key, "do not belong together"),
        (SIGNER.certificate, SIGNER.key, "is for no name and not for fairlead.operators.svc"),
    ],
)
def test_what_cannot_be_served_is_told_in_words(certificate: bytes, key: bytes, said: str) -> None:
    assert said in trouble_with(Pair(certificate, key), NAMES[0], NOW)


def test_a_certificate_is_served_while_it_is_valid() -> None:
    assert trouble_with(PAIR, NAMES[0], NOW) == ""
    assert "is not valid before" in trouble_with(PAIR, NAMES[0], NOW - timedelta(hours=1))
    assert "ended on" in trouble_with(PAIR, NAMES[0], NOW + timedelta(days=6))


def test_an_authority_that_issued_another_certificate_is_told() -> None:
    other = new_signer("two", timedelta(days=10), NOW)

    assert "a ca that did not issue" in trouble_with(Pair(PAIR.certificate, PAIR.key, other.certificate), NAMES[0], NOW)


def test_without_an_authority_the_end_of_the_chain_is_trusted_if_it_is_one() -> None:
    chain = PAIR.certificate + SIGNER.certificate

    assert pair_of({"tls.crt": chain, "tls.key": PAIR.key}).authority == SIGNER.certificate
    assert pair_of({"tls.crt": PAIR.certificate, "tls.key": PAIR.key}).authority == b""
    assert pair_of({"tls.crt": chain, "tls.key": PAIR.key, "ca.crt": b"given"}).authority == b"given"


def test_a_chain_is_served_whole_and_is_valid_as_long_as_all_of_it() -> None:
    chain = PAIR.certificate + SIGNER.certificate
    leaf = leaf_of(chain)

    assert leaf is not None
    assert (leaf.pem.encode(), leaf.not_after) == (PAIR.certificate, NOW + timedelta(days=5))
    assert [each.pem.encode() for each in certificates_in(chain)] == [PAIR.certificate, SIGNER.certificate]
    assert pairs.is_trusted(chain, SIGNER.certificate)


@pytest.mark.parametrize("bundle", [b"", b"\n", b"nonsense"])
def test_a_bundle_that_holds_nothing_to_read_holds_nobody(bundle: bytes) -> None:
    assert certificates_in(bundle) == ()


def test_who_cannot_sign_is_told() -> None:
    other = new_signer("two", timedelta(days=10), NOW)

    assert trouble_of(SIGNER) == ""
    assert "do not belong together" in trouble_of(Signer(SIGNER.certificate, other.key))
    assert "not that of an authority" in trouble_of(Signer(PAIR.certificate, PAIR.key))
    assert "cannot be read" in trouble_of(Signer(SIGNER.certificate, b""))
