"""Certificates: what is merged, which keys are asked for, and what is refused with a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.environments.decide.objects.balancer import balancer_objects, balancer_trouble
from fairlead.contracts.environments.decide.objects.certificates import effective
from fairlead.contracts.environments.decide.objects.console import console_objects, console_trouble
from fairlead.contracts.environments.decide.objects.environment import (
    environment_objects,
    environment_trouble,
    uses_internal_tls,
)
from fairlead.contracts.environments.kinds import CertificateSpec, IssuerRef, SecretTemplate
from fairlead.contracts.environments.settings import DefaultCertificates, Settings
from tests.contracts.environments.decide.objects.samples import a_balancer, a_console, an_environment, identity, trees

ISSUER = IssuerRef("ca")
ISSUED = CertificateSpec(issuer_ref=ISSUER)


def by_default(**spec: Any) -> Settings:
    """The same default for every kind of certificate."""
    given = CertificateSpec(**{"issuer_ref": ISSUER, **spec})
    return Settings(default_certificates=DefaultCertificates(given, given, given))


def internal(**own: Any) -> Any:
    """Spec of the internal certificate of an environment that says this of it."""
    environment = an_environment(internal_certificate_spec=CertificateSpec(**own))
    return trees(environment_objects(environment, Settings()))["Certificate/mzabcdefgh12-environmentd-external"]["spec"]


def external(settings: Settings, **own: Any) -> Any:
    """That of balancerd; the Console's is made in the same way."""
    balancerd = trees(balancer_objects(a_balancer(externalCertificateSpec=own), settings))
    console = trees(console_objects(a_console(externalCertificateSpec=own), settings))
    spec = balancerd["Certificate/mzabcdefgh12-balancerd-external"]["spec"]
    other = console["Certificate/mzabcdefgh12-console-external"]["spec"]
    assert other == spec | {"secretName": "mzabcdefgh12-console-external-tls"}
    return spec


@pytest.mark.parametrize(
    ("field", "own", "default"),
    [
        ("dns_names", ("own",), ("default",)),
        ("duration", "1h", "2h"),
        ("renew_before", "1h", "2h"),
        ("issuer_ref", IssuerRef("own"), IssuerRef("default", "Issuer", "g")),
        ("secret_template", SecretTemplate({"a": "own"}), SecretTemplate({"b": "default"})),
        ("private_key_algorithm", "RSA", "ECDSA"),
        ("private_key_size", 2048, 4096),
    ],
)
def test_every_field_is_the_objects_else_the_operators(field: str, own: object, default: object) -> None:
    whole = effective(CertificateSpec(**{field: own}), CertificateSpec(**{field: default}))  # type: ignore[arg-type]
    only = effective(CertificateSpec(), CertificateSpec(**{field: default}))  # type: ignore[arg-type]
    none = effective(CertificateSpec(**{field: own}), None)  # type: ignore[arg-type]

    assert (getattr(whole, field), getattr(only, field), getattr(none, field)) == (own, default, own)
    assert effective(None, None) == CertificateSpec()


@pytest.mark.parametrize(
    ("own", "default", "answer"),
    [
        (None, None, False),
        (CertificateSpec(dns_names=("a",)), None, False),
        (ISSUED, None, True),
        (None, ISSUED, True),
        (CertificateSpec(duration="1h"), ISSUED, True),
    ],
)
def test_there_is_internal_tls_where_somebody_names_an_issuer(
    own: CertificateSpec | None, default: CertificateSpec | None, answer: bool
) -> None:
    environment = an_environment(internal_certificate_spec=own)
    settings = Settings(default_certificates=DefaultCertificates(internal=default))

    assert uses_internal_tls(environment, settings) is answer
    assert any("Certificate" in each for each in trees(environment_objects(environment, settings))) is answer


def test_without_an_issuer_companions_have_no_certificate() -> None:
    assert not any("Certificate" in each for each in trees(balancer_objects(a_balancer(), Settings())))
    assert not any("Certificate" in each for each in trees(console_objects(a_console(), Settings())))


@pytest.mark.parametrize(
    ("own", "key"),
    [
        ({}, {"algorithm": "Ed25519"}),
        ({"private_key_algorithm": "ECDSA"}, {"algorithm": "ECDSA", "size": 256}),
        ({"private_key_algorithm": "RSA"}, {"algorithm": "RSA", "size": 4096}),
        ({"private_key_algorithm": "RSA", "private_key_size": 2048}, {"algorithm": "RSA", "size": 2048}),
    ],
)
def test_the_internal_key_is_ed25519_unless_an_algorithm_is_named(own: dict[str, Any], key: dict[str, Any]) -> None:
    spec = internal(issuer_ref=ISSUER, **own)

    assert spec["privateKey"] == {"encoding": "PKCS8", "rotationPolicy": "Always", **key}


@pytest.mark.parametrize(
    ("default", "own", "key"),
    [
        ({}, {}, {"algorithm": "ECDSA", "size": 256}),
        ({}, {"privateKeySize": 521}, {"algorithm": "ECDSA", "size": 521}),
        ({}, {"privateKeyAlgorithm": "RSA"}, {"algorithm": "RSA", "size": 4096}),
        ({}, {"privateKeyAlgorithm": "Ed25519"}, {"algorithm": "Ed25519"}),
        ({"private_key_size": 384}, {"privateKeyAlgorithm": "ECDSA"}, {"algorithm": "ECDSA", "size": 384}),
        (
            {"private_key_algorithm": "RSA", "private_key_size": 8192},
            {},
            {"algorithm": "RSA", "size": 8192},
        ),
        (
            {"private_key_algorithm": "RSA", "private_key_size": 8192},
            {"privateKeyAlgorithm": "ECDSA"},
            {"algorithm": "ECDSA", "size": 256},
        ),
        (
            {"private_key_algorithm": "RSA", "private_key_size": 8192},
            {"privateKeyAlgorithm": "Ed25519"},
            {"algorithm": "Ed25519"},
        ),
        (
            {"private_key_algorithm": "RSA", "private_key_size": 8192},
            {"privateKeyAlgorithm": "ECDSA", "privateKeySize": 384},
            {"algorithm": "ECDSA", "size": 384},
        ),
    ],
)
def test_an_external_key_is_ecdsa_and_a_size_stays_with_its_algorithm(
    default: dict[str, Any], own: dict[str, Any], key: dict[str, Any]
) -> None:
    spec = external(by_default(**default), **own)

    assert spec["privateKey"] == {"encoding": "PKCS8", "rotationPolicy": "Always", **key}


@pytest.mark.parametrize(
    ("algorithm", "size", "why"),
    [
        ("RSA", 2047, "privateKeySize is 2047, but keys of RSA need at least 2048 bits: raise it"),
        ("RSA", 0, "privateKeySize is 0, but keys of RSA need at least 2048 bits: raise it"),
        (
            "ECDSA",
            255,
            "privateKeySize is 255, but keys of ECDSA have 256, 384 or 521 bits: set it to one of these",
        ),
        ("Ed25519", 256, "privateKeySize is 256, but keys of Ed25519 have one size: remove privateKeySize"),
    ],
)
def test_a_size_that_no_key_has_is_refused_with_what_to_do(algorithm: Any, size: int, why: str) -> None:
    own = CertificateSpec(issuer_ref=ISSUER, private_key_algorithm=algorithm, private_key_size=size)
    spec = {"issuerRef": {"name": "ca"}, "privateKeyAlgorithm": algorithm, "privateKeySize": size}

    environment = environment_trouble(an_environment(internal_certificate_spec=own), Settings())
    balancer = balancer_trouble(a_balancer(externalCertificateSpec=spec), Settings())
    console = console_trouble(a_console(externalCertificateSpec=spec), Settings())

    assert environment == f"The environmentd-external certificate cannot be asked for: {why}."
    assert balancer == f"The balancerd-external certificate cannot be asked for: {why}."
    assert console == f"The console-external certificate cannot be asked for: {why}."


def test_the_size_of_a_key_does_not_matter_where_there_is_no_certificate() -> None:
    own = CertificateSpec(private_key_algorithm="RSA", private_key_size=1)

    assert environment_trouble(an_environment(internal_certificate_spec=own), Settings()) == ""


@pytest.mark.parametrize(("algorithm", "size"), [("RSA", 2048), ("ECDSA", 384), ("ECDSA", 521), ("Ed25519", None)])
def test_the_sizes_that_keys_have_are_no_trouble(algorithm: Any, size: int | None) -> None:
    own = CertificateSpec(issuer_ref=ISSUER, private_key_algorithm=algorithm, private_key_size=size)

    assert environment_trouble(an_environment(internal_certificate_spec=own), Settings()) == ""


def test_a_name_that_is_asked_for_twice_is_in_the_certificate_once() -> None:
    spec = internal(issuer_ref=ISSUER, dns_names=("mzabcdefgh12-environmentd", "other"))

    assert spec["dnsNames"] == [
        "mzabcdefgh12-environmentd",
        "other",
        "mzabcdefgh12-environmentd.e.svc.cluster.local",
    ]


def test_an_external_certificate_is_for_the_configured_names_alone() -> None:
    assert external(by_default(dns_names=("db.example.com",)))["dnsNames"] == ["db.example.com"]
    assert "dnsNames" not in external(by_default())


def test_the_secrets_labels_cannot_hide_whose_it_is() -> None:
    template = SecretTemplate(labels={"materialize.cloud/mz-resource-id": "other", "tier": "x"})

    spec = internal(issuer_ref=ISSUER, secret_template=template)

    assert spec["secretTemplate"] == {"labels": identity() | {"tier": "x"}}
