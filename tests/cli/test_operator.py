"""`fairlead operator`: what its arguments come down to."""

from __future__ import annotations

import argparse

import pytest

from fairlead.cli.commands.operator import add_arguments, options_of
from fairlead.cli.main import main
from fairlead.contracts.zones.settings import Settings
from fairlead.engine.options import OperatorOptions, WebhookOptions
from fairlead.engine.serving.cluster_label import ClusterLabel
from tests.operator_parts import zone_settings


def options(*words: str) -> OperatorOptions:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return options_of(parser.parse_args(["-n", "test", *words]))


def test_by_default_no_webhooks_are_served_and_no_request_is_checked() -> None:
    made = options()

    assert (made.webhooks, made.cluster) == (None, None)
    assert zone_settings(made) == Settings(tracker_name="")
    assert made.lease == "fairlead-operator"


def test_rounds_are_kept_only_where_a_folder_is_named() -> None:
    assert options().record == ""
    assert options("--record", "/var/rounds").record == "/var/rounds"


def test_phased_deployments_are_off_and_need_webhooks_to_be_on() -> None:
    assert not zone_settings(options("--webhooks")).phased_deployments
    assert zone_settings(options("--webhooks", "--phased-deployments")).phased_deployments
    with pytest.raises(ValueError, match="--phased-deployments needs --webhooks"):
        options("--phased-deployments")


def test_webhooks_have_a_certificate_of_their_own_that_is_renewed() -> None:
    assert options("--webhooks").webhooks == WebhookOptions(
        port=8443, secret="fairlead-webhooks", organisation="fairlead", renews=True
    )


def test_every_argument_about_webhooks_counts() -> None:
    made = options(
        "--webhooks",
        "--webhooks-port=1234",
        "--webhooks-timeout=7s",
        "--certificate-secret=s",
        "--certificate-dns-name=d",
        "--no-ca-injection",
        "--cluster-domain=example.org.",
        "--pods-timeout=2s",
        "--zone-tracker=times",
        "--cluster-label=here",
        "--cluster-label-soft",
    )

    assert made.webhooks == WebhookOptions(
        port=1234, secret="s", dns_name="d", organisation="fairlead", renews=True, injects=False
    )
    assert zone_settings(made) == Settings(
        cluster_domain="example.org.",
        pods_timeout=2.0,
        request_timeout=7.0,
        use_zone_tracker=True,
        tracker_name="times",
    )
    assert made.cluster == ClusterLabel("here", soft=True)


def test_files_replace_the_certificate_that_is_made() -> None:
    made = options("--webhooks", "--certificate-file=c", "--certificate-key-file=k").webhooks

    assert made is not None
    assert (made.certificate_file, made.key_file) == ("c", "k")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--webhooks-port=70000",), "--webhooks-port is 70000: set it to a port"),
        (("--port=-1",), "--port is -1: set it to a port"),
        (("--webhooks-timeout=0s",), "--webhooks-timeout is 0s: set it to a time longer than 0s"),
        (("--pods-timeout=soon",), "--pods-timeout"),
        (("--interval=-1s",), "--interval is -1s: set it to 0s or longer"),
        (("--cluster-domain=",), "--cluster-domain is empty"),
        (("--webhooks", "--certificate-file=c"), "belong together"),
        (("--cluster-label-soft",), "needs --cluster-label"),
    ],
)
def test_what_cannot_be_used_is_said_with_what_to_set(words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        options(*words)


@pytest.mark.parametrize("flag", ["--certificate-dns-name", "--certificate-secret", "--zone-tracker"])
def test_what_is_no_name_is_refused_before_the_start(flag: str) -> None:
    with pytest.raises(ValueError, match=f'{flag} is "A b": '):
        options("--webhooks", f"{flag}=A b")


def test_the_help_says_what_is_served_without_a_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["operator", "--help"])

    told = " ".join(capsys.readouterr().out.split())
    assert "namespace to serve; may be repeated; default all of them" in told
    assert "serve all namespaces, the default" in told
