"""What `fairlead operator` is told about versions of APIs (section 2.2)."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import yaml

from fairlead.cli.commands.operator import add_arguments, options_of
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.engine.decide.guard import USUAL_POLICY
from fairlead.engine.options import OperatorOptions

SERVICE = ("--webhook-service-name=fairlead", "--webhook-service-namespace=ops")


def told(*words: str, parts: str = "apiversions") -> OperatorOptions:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return options_of(parser.parse_args([f"--parts={parts}", *words]))


def settings(*words: str) -> ApiVersionsSettings:
    (part,) = told(*SERVICE, *words).parts
    assert isinstance(part.settings, ApiVersionsSettings)
    return part.settings


def sentence(*words: str, parts: str = "apiversions") -> str:
    with pytest.raises(ValueError, match=r"\w") as refused:
        told(*words, parts=parts)
    return str(refused.value)


def test_the_part_serves_webhooks_on_port_9443_and_keeps_its_certificate_in_its_own_secret() -> None:
    made = told(*SERVICE)

    assert made.webhooks is not None
    assert (made.webhooks.port, made.webhooks.secret) == (9443, "fairlead-webhook-cert")
    assert made.webhooks.dns_name == "fairlead.ops.svc"
    assert made.plain_paths.serving == ("/readyz",)
    assert "/healthz" in made.plain_paths.alive
    assert made.rejoins


def test_without_the_part_webhooks_are_off_and_stay_on_their_old_port() -> None:
    assert told(parts="zones").webhooks is None
    on = told("--enable-webhook", parts="zones").webhooks
    assert on is not None
    assert (on.port, on.secret) == (8443, "fairlead-webhooks")


def test_both_names_of_a_setting_say_the_same() -> None:
    old = told("--webhooks", "--webhooks-port=9000", "--certificate-secret=mine", "--no-lease", parts="zones")
    new = told("--enable-webhook", "--webhook-port=9000", "--webhook-secret=mine", "--enable-leader-election=false",
               parts="zones")  # fmt: skip

    assert old.webhooks == new.webhooks
    assert old.lease is None
    assert new.lease is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--webhooks-port=1", "--webhook-port=2"), "are one setting"),
        (("--certificate-secret=a", "--webhook-secret=b"), "are one setting"),
        (("--webhooks", "--enable-webhook=false"), "exclude each other"),
        (("--cert-validity=1h",), "--cert-rotate-before is 24h0m0s, longer than --cert-validity (1h0m0s)"),
        (("--ca-cert-rotate-before=90000h",), "longer than --ca-cert-validity"),
        (("--cert-rotate-before=8760h",), "longer than --cert-validity (8760h0m0s) less a minute: set it to less"),
        (("--cert-rotate-before=8759h59m30s",), "longer than --cert-validity"),
        (("--ca-cert-rotate-before=87600h",), "longer than --ca-cert-validity"),
        (
            ("--ca-cert-validity=12h", "--ca-cert-rotate-before=1h"),
            "--cert-rotate-before is 24h0m0s, longer than --ca-cert-validity (12h0m0s)",
        ),
        (("--convert-timeout=30s",), "API servers wait 30s"),
        (("--max-concurrent-conversions=0",), "set it to 1 or more"),
        (("--webhook-cert-source=secret",), "--webhook-secret is missing"),
        (("--enable-webhook=false", "--conversion=webhook"), "needs webhooks"),
        (("--adopt=maybe",), "compatible, never or always"),
        (("--migration-qps=-1",), "a number of 0 or more"),
        (("--offline-upgrade=auto",), "needs --backup-dir"),
        (("--webhook-cert-dir=/x", "--certificate-file=a", "--certificate-key-file=b"), "exclude each other"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_does_not_fit_together_is_refused_in_a_sentence(words: tuple[str, ...], said: str) -> None:
    assert said in sentence(*SERVICE, *words)


def test_definitions_need_the_name_of_the_service_unless_nobody_manages_them() -> None:
    assert "--webhook-service-name is missing" in sentence()
    assert told("--manage-crds=false").webhooks is not None


def test_an_option_of_the_part_is_refused_where_the_part_is_not_served() -> None:
    assert "add it to --parts" in sentence("--migrate-storage=off", parts="zones")


def test_options_about_other_versions_are_for_all_parts() -> None:
    made = told("--adopt", "always", "--on-newer", "handle", "--allow-downgrade", parts="zones").versions

    assert (made.adopt.value, made.on_newer.value, made.allow_downgrade, made.legacy) == (
        "always",
        "handle",
        True,
        False,
    )
    assert told(*SERVICE).versions == USUAL_POLICY


def test_the_command_line_goes_before_variables_and_these_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.yaml"
    section = {"adopt": "never", "on-newer": "handle", "convert-timeout": "5s", "manage-crds": False}
    file.write_text(yaml.safe_dump({"apiversions": section}))
    monkeypatch.setenv("FAIRLEAD_ADOPT", "always")
    monkeypatch.setenv("FAIRLEAD_CONVERT_TIMEOUT", "6s")

    made = settings(f"--config={file}", "--convert-timeout=7s")

    assert made.upgrades.on_newer == "handle"
    assert made.upgrades.adopt == "always"
    assert made.reviews.timeout == 7
    assert made.manages_definitions is False


def test_the_variable_that_kubelets_set_for_a_service_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLEAD_WEBHOOK_PORT", "tcp://10.0.0.1:443")

    made = told(*SERVICE)

    assert made.webhooks is not None
    assert made.webhooks.port == 9443


def test_rules_may_be_several_files_and_certificates_somebody_elses() -> None:
    made = settings("--conversion-rules=a.yaml", "--conversion-rules=b", "--manage-webhook-certs=false",
                    "--webhook-secret=theirs")  # fmt: skip

    assert made.rules == ("a.yaml", "b")
    assert (made.certificates.source, made.certificates.secret) == ("secret", "theirs")
