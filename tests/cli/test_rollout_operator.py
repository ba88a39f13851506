"""The process `rollout-operator`: the flags of zones section 2.3, their checks, their exit codes."""

from __future__ import annotations

import io
import sys
from types import ModuleType

import pytest

from fairlead.cli.flags.go import parse
from fairlead.cli.process import rollout_operator as main
from fairlead.contracts.zones.flags import FLAGS
from fairlead.contracts.zones.options import NO_TIMEOUT, PROCESS, options_of, warnings
from fairlead.contracts.zones.settings import Settings
from fairlead.engine.options import OperatorOptions, WebhookOptions
from fairlead.engine.serving.cluster_label import ClusterLabel
from tests.operator_parts import zone_settings

CONTRACT = {
    "log.level": "debug",
    "server.port": 8001,
    "kubernetes.api-url": "",
    "kubernetes.config-file": "",
    "kubernetes.namespace": "",
    "reconcile.interval": 5.0,
    "server-tls.enabled": False,
    "server-tls.port": 8443,
    "server-tls.cert-file": "",
    "server-tls.key-file": "",
    "server-tls.self-signed-cert.enabled": True,
    "server-tls.self-signed-cert.secret-name": "rollout-operator-self-signed-certificate",
    "server-tls.self-signed-cert.dns-name": "",
    "server-tls.self-signed-cert.org": "Grafana Labs",
    "server-tls.self-signed-cert.expiration": 365 * 86400.0,
    "webhooks.update-ca-bundle": True,
    "use-zone-tracker": False,
    "zone-tracker.config-map-name": "rollout-operator-zone-tracker",
    "log.format": "logfmt",
    "kubernetes.client-timeout": 300.0,
    "server.cluster-validation.http.enabled": False,
    "server.cluster-validation.http.soft-validation": False,
    "server.cluster-validation.http.excluded-paths": ("admission/", "pods/eviction"),
    "server.cluster-validation.http.excluded-user-agents": (),
    "kubernetes.cluster-domain": "cluster.local.",
    "kubernetes.client-qps": 5.0,
    "kubernetes.client-burst": 10,
    "server-tls.request-timeout": 10.0,
    "pods.client-timeout": 5.0,
    "zpdb.pod-ready-annotation-patch-timeout": 5.0,
}


def options(*words: str) -> OperatorOptions:
    return options_of(parse(PROCESS, FLAGS, ("-kubernetes.namespace=test", *words)))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[OperatorOptions]:
    """What the process would run with, instead of running it."""
    ran: list[OperatorOptions] = []
    run = ModuleType("fairlead.engine.process")
    run.run = ran.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fairlead.engine.process", run)
    return ran


def test_the_flags_are_exactly_those_of_the_contract_with_its_defaults() -> None:
    assert {flag.name: flag.default for flag in FLAGS} == CONTRACT


def test_without_flags_but_the_namespace_it_runs_as_the_contract_says() -> None:
    made = options()

    assert made.namespaces == ("test",)
    assert (made.log_level, made.log_format, made.server_port) == ("debug", "logfmt", 8001)
    assert (made.qps, made.client_timeout) == (0.0, 300.0)
    assert made.lease is None
    assert made.process == "rollout-operator"


def test_the_interval_paces_passes_only_when_it_is_given() -> None:
    assert options().interval is None
    assert options("-reconcile.interval=5s").interval == 5.0
    assert options("-reconcile.interval=0").interval == 0.0
    assert options("-reconcile.interval=-1s").interval == 0.0


def test_calls_are_limited_only_when_the_rate_is_given() -> None:
    assert options("-kubernetes.client-burst=20").qps == 0
    given = options("-kubernetes.client-qps=5")
    assert (given.qps, given.burst) == (5.0, 10)


def test_a_burst_without_a_rate_is_said_to_limit_nothing() -> None:
    alone = parse(PROCESS, FLAGS, ["-kubernetes.client-burst=20"])
    both = parse(PROCESS, FLAGS, ["-kubernetes.client-burst=20", "-kubernetes.client-qps=5"])

    assert list(warnings(alone)) == [
        "-kubernetes.client-burst is given without -kubernetes.client-qps: nothing is limited; give both for a limit"
    ]
    assert list(warnings(both)) == []


def test_no_limit_is_asked_for_with_zero_or_less() -> None:
    assert options("-kubernetes.client-qps=0", "-kubernetes.client-burst=0").qps == 0
    assert options("-kubernetes.client-qps=-1").qps == 0
    assert options("-kubernetes.client-timeout=0").client_timeout == NO_TIMEOUT


def test_a_burst_below_the_rate_is_fine() -> None:
    assert options("-kubernetes.client-qps=50", "-kubernetes.client-burst=1").burst == 1


OWN_CERTIFICATE = ("-server-tls.enabled", "-server-tls.self-signed-cert.enabled=false")
FILES = ("-server-tls.cert-file=c", "-server-tls.key-file=k")


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (("-kubernetes.namespace=",), "-kubernetes.namespace"),
        (("-log.level=loud",), "-log.level"),
        (("-log.level=INFO",), "-log.level"),
        (("-log.format=xml",), "-log.format"),
        (("-server.port=70000",), "-server.port"),
        (("-server-tls.port=-1",), "-server-tls.port"),
        (("-kubernetes.api-url=http://x",), "-kubernetes.config-file"),
        (("-kubernetes.config-file=x",), "-kubernetes.api-url"),
        (("-kubernetes.client-burst=0",), "-kubernetes.client-burst"),
        (("-kubernetes.client-qps=NaN",), "-kubernetes.client-qps"),
        (("-kubernetes.cluster-domain=",), "-kubernetes.cluster-domain"),
        (("-use-zone-tracker", "-zone-tracker.config-map-name="), "-zone-tracker.config-map-name"),
        (("-server.cluster-validation.http.soft-validation",), "-server.cluster-validation.http.enabled"),
        (("-server.cluster-validation.http.excluded-user-agents=(",), "regular expression"),
        (("-server-tls.request-timeout=0",), "-server-tls.request-timeout"),
        (("-zpdb.pod-ready-annotation-patch-timeout=-1s",), "-zpdb.pod-ready-annotation-patch-timeout"),
        (
            ("-server-tls.enabled", "-server-tls.self-signed-cert.expiration=0"),
            "-server-tls.self-signed-cert.expiration",
        ),
        (("-server-tls.enabled", "-server-tls.self-signed-cert.dns-name=a b"), "-server-tls.self-signed-cert.dns-name"),
        (("-server-tls.enabled", "-server-tls.self-signed-cert.dns-name=ä"), "-server-tls.self-signed-cert.dns-name"),
        (("-server-tls.enabled", "-server-tls.self-signed-cert.org="), "-server-tls.self-signed-cert.org"),
        (("-server-tls.enabled", f"-server-tls.self-signed-cert.org={'o' * 65}"), "-server-tls.self-signed-cert.org"),
        (("-server-tls.enabled", "-server-tls.self-signed-cert.secret-name=A_b"), "self-signed-cert.secret-name"),
        (("-use-zone-tracker", "-zone-tracker.config-map-name=A_b"), "-zone-tracker.config-map-name"),
        (OWN_CERTIFICATE, "-server-tls.cert-file"),
        ((*OWN_CERTIFICATE, "-server-tls.cert-file=c"), "-server-tls.key-file"),
        ((*OWN_CERTIFICATE, *FILES), "-webhooks.update-ca-bundle=false"),
    ],
)
def test_a_value_that_cannot_be_used_is_one_line_that_says_what_to_set_and_exit_1(
    words: tuple[str, ...], flag: str, started: list[OperatorOptions], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["-kubernetes.namespace=test", *words])

    (line,) = capsys.readouterr().err.splitlines()
    assert code == 1
    assert flag in line
    assert started == []


@pytest.mark.parametrize(
    "words",
    [
        (*OWN_CERTIFICATE, *FILES, "-webhooks.update-ca-bundle=false"),
        ("-server-tls.self-signed-cert.enabled=false",),
        ("-kubernetes.api-url=http://x", "-kubernetes.config-file=y"),
        ("-server.cluster-validation.http.enabled", "-server.cluster-validation.http.soft-validation"),
    ],
)
def test_values_that_fit_together_are_accepted(words: tuple[str, ...], started: list[OperatorOptions]) -> None:
    assert main(["-kubernetes.namespace=test", *words]) == 0
    assert len(started) == 1


def test_no_namespace_at_all_is_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert "-kubernetes.namespace is missing" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["-unknown", "-server.port=x", "-reconcile.interval=1d", "-log.level"])
def test_what_cannot_be_parsed_is_exit_2_with_the_usage(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 2
    assert "Usage of rollout-operator:" in capsys.readouterr().err


def test_a_reader_that_leaves_before_the_end_of_the_usage_does_not_change_the_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())

    assert main(["-unknown"]) == 2


def test_help_is_exit_0_with_the_usage_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-help"]) == 0
    assert capsys.readouterr().err.startswith("Usage of rollout-operator:\n")


def test_no_flag_of_the_contract_is_warned_of() -> None:
    words = [f"-{flag.name}={flag.kind.show(flag.default)}" for flag in FLAGS]

    given = parse(PROCESS, FLAGS, words)

    assert set(given.values) == {flag.name for flag in FLAGS}
    assert list(warnings(given)) == []


def test_words_that_go_does_not_read_are_warned_of() -> None:
    (ignored,) = warnings(parse(PROCESS, FLAGS, ("-use-zone-tracker", "true", "-server.port=1")))

    assert '"true" is no flag' in ignored


def test_warnings_are_log_records_in_the_chosen_form_and_then_it_runs(
    started: list[OperatorOptions], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["-kubernetes.namespace=test", "-log.format=json", "word"])

    (line,) = capsys.readouterr().err.splitlines()
    assert code == 0
    assert '"level":"warn"' in line.replace('": "', '":"')
    assert "is no flag" in line
    assert started[0].log_format == "json"


def test_flags_about_the_process_and_its_cluster_become_options() -> None:
    made = options(
        "-kubernetes.api-url=https://cluster",
        "-kubernetes.config-file=/config",
        "-kubernetes.client-timeout=90s",
        "-kubernetes.client-qps=2.5",
        "-kubernetes.client-burst=7",
        "-log.level=warn",
        "-log.format=json",
        "-server.port=1234",
    )

    assert (made.api_url, made.config_file, made.by_contract) == ("https://cluster", "/config", True)
    assert (made.client_timeout, made.qps, made.burst) == (90.0, 2.5, 7)
    assert (made.log_level, made.log_format, made.server_port) == ("warn", "json", 1234)


def test_flags_about_deciding_become_settings() -> None:
    made = options(
        "-kubernetes.cluster-domain=example.org",
        "-pods.client-timeout=2s",
        "-server-tls.request-timeout=7s",
        "-use-zone-tracker",
        "-zone-tracker.config-map-name=times",
        "-zpdb.pod-ready-annotation-patch-timeout=3s",
    )

    assert zone_settings(made) == Settings(
        cluster_domain="example.org",
        pods_timeout=2.0,
        request_timeout=7.0,
        use_zone_tracker=True,
        tracker_name="times",
        stamp_timeout=3.0,
    )
    assert zone_settings(options()) == Settings()
    assert zone_settings(options("-pods.client-timeout=0")).pods_timeout == NO_TIMEOUT


def test_webhooks_are_served_only_when_tls_is_enabled() -> None:
    assert options("-server-tls.port=1234").webhooks is None
    assert options("-server-tls.enabled").webhooks == WebhookOptions(
        secret="rollout-operator-self-signed-certificate", organisation="Grafana Labs"
    )


def test_flags_about_the_certificate_say_how_webhooks_are_secured() -> None:
    made = options(
        "-server-tls.enabled",
        "-server-tls.port=1234",
        "-server-tls.self-signed-cert.secret-name=s",
        "-server-tls.self-signed-cert.dns-name=d",
        "-server-tls.self-signed-cert.org=o",
        "-server-tls.self-signed-cert.expiration=1d",
        "-webhooks.update-ca-bundle=false",
        "-server-tls.cert-file=ignored-while-self-signed",
    )

    assert made.webhooks == WebhookOptions(
        port=1234, secret="s", dns_name="d", organisation="o", lifetime=86400.0, injects=False
    )


def test_own_files_replace_the_self_signed_certificate() -> None:
    made = options(*OWN_CERTIFICATE, *FILES, "-webhooks.update-ca-bundle=false").webhooks

    assert made is not None
    assert (made.certificate_file, made.key_file, made.injects, made.renews) == ("c", "k", False, False)


def test_cluster_validation_expects_the_namespace() -> None:
    made = options(
        "-server.cluster-validation.http.enabled",
        "-server.cluster-validation.http.soft-validation",
        "-server.cluster-validation.http.excluded-paths=a,b",
        "-server.cluster-validation.http.excluded-user-agents=x.*",
    )

    assert made.cluster == ClusterLabel("test", True, ("a", "b"), ("x.*",))
    assert options("-server.cluster-validation.http.enabled").cluster == ClusterLabel("test")
    assert options().cluster is None
