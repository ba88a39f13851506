"""The process `lws-manager`: its flags, its configuration file, and what both come down to (section 2.11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.cli.flags.go import parse
from fairlead.cli.flags.leave import Leave
from fairlead.contracts.leaderworker.flags import FLAGS
from fairlead.contracts.leaderworker.options import PROCESS, PROGRAM, options_of, own_namespace, version, warnings
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.flags import FlagError
from fairlead.engine.options import KeptAuthority, LeaseTimes, OperatorOptions, WebhookOptions
from fairlead.engine.serving.plain_paths import PlainPaths
from fairlead.engine.serving.tls_limits import TlsLimits

CONTRACT = {
    "config": "",
    "metrics-bind-address": ":8443",
    "health-probe-bind-address": ":8081",
    "kube-api-qps": 500.0,
    "kube-api-burst": 500,
    "leader-elect": True,
    "leader-elect-lease-duration": 15.0,
    "leader-elect-renew-deadline": 10.0,
    "leader-elect-retry-period": 2.0,
    "leader-elect-resource-lock": "leases",
    "leader-elect-resource-name": "b8b2488c.x-k8s.io",
    "kubeconfig": "",
    "zap-log-level": "debug",
    "zap-encoder": "console",
    "zap-devel": True,
    "zap-stacktrace-level": "warn",
    "zap-time-encoding": "epoch",
    "version": False,
    "lws-revision-history-limit": 0,
    "lws-disruption-budgets": False,
    "lws-eviction-webhook": False,
}
HEAD = "apiVersion: config.lws.x-k8s.io/v1alpha1\nkind: Configuration\n"


def options(*words: str, **variables: str) -> OperatorOptions:
    return options_of(parse(PROCESS, FLAGS, words), variables)


def filed(folder: Path, text: str, *words: str) -> OperatorOptions:
    file = folder / "config.yaml"
    file.write_text(HEAD + text)
    return options(f"--config={file}", *words)


def refusal(folder: Path, text: str, *words: str) -> str:
    with pytest.raises(FlagError) as caught:
        filed(folder, text, *words)
    said = str(caught.value)
    assert "\n" not in said
    return said.removeprefix(f"{folder / 'config.yaml'}: ")


def webhooks_of(given: OperatorOptions) -> WebhookOptions:
    assert given.webhooks is not None
    return given.webhooks


def test_the_flags_are_exactly_those_of_the_contract_with_its_defaults() -> None:
    assert {flag.name: flag.default for flag in FLAGS} == CONTRACT


def test_without_flags_it_runs_as_the_contract_says() -> None:
    made = options()

    assert (made.process, made.namespaces) == ("lws-manager", ())
    assert (made.log_level, made.log_format) == ("debug", "logfmt")
    assert (made.server_host, made.server_port) == ("::", 8081)
    assert made.plain_paths == PlainPaths(ready=("/readyz",), alive=("/healthz",), metrics=())
    assert made.ready_when_served
    assert (made.qps, made.burst) == (500.0, 500)
    assert (made.lease, made.lease_times) == ("b8b2488c.x-k8s.io", LeaseTimes(15.0, 10.0, 2.0))
    assert made.grace_seconds == 10.0
    assert made.parts[0].settings == Settings(0, "", "lws-system")
    assert made.secure_metrics is not None
    assert (made.secure_metrics.host, made.secure_metrics.port) == ("::", 8443)
    assert made.secure_metrics.certificate_file == "/tmp/k8s-metrics-server/serving-certs/tls.crt"


def test_webhooks_are_served_with_a_certificate_of_an_authority_that_is_kept() -> None:
    made = webhooks_of(options())

    assert (made.port, made.secret) == (9443, "lws-webhook-server-cert")
    assert made.dns_name == "lws-webhook-service.lws-system.svc"
    assert made.authority == KeptAuthority("lws-ca", "lws")
    assert (made.renews, made.injects, made.certificate_file) == (True, True, "")


def test_a_variable_switches_webhooks_off() -> None:
    assert options(ENABLE_WEBHOOKS="false").webhooks is None
    assert options(ENABLE_WEBHOOKS="0").webhooks is not None


@pytest.mark.parametrize(
    ("word", "level"),
    [("debug", "debug"), ("INFO", "info"), ("error", "error"), ("panic", "error"), ("2", "debug"), ("+7", "debug")],
)
def test_levels_are_words_or_numbers_above_zero(word: str, level: str) -> None:
    assert options(f"--zap-log-level={word}").log_level == level


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("--unknown",), "flag provided but not defined: -unknown"),
        (("--zap-log-level=0",), 'invalid value "0" for flag -zap-log-level: invalid log level "0"'),
        (("--zap-log-level=loud",), 'invalid value "loud" for flag -zap-log-level: invalid log level "loud"'),
        (("--zap-encoder=xml",), 'invalid value "xml" for flag -zap-encoder: invalid encoder value "xml"'),
        (
            ("--zap-stacktrace-level=warn",),
            'invalid value "warn" for flag -zap-stacktrace-level: invalid stacktrace level "warn"',
        ),
        (
            ("--zap-time-encoding=noon",),
            'invalid value "noon" for flag -zap-time-encoding: invalid time-encoding value "noon"',
        ),
        (("-leader-elect=maybe",), 'invalid boolean value "maybe" for -leader-elect: parse error'),
        (("-kube-api-burst", "x"), 'invalid value "x" for flag -kube-api-burst: parse error'),
    ],
)
def test_a_mistake_in_a_flag_ends_with_the_usage(words: tuple[str, ...], first: str) -> None:
    with pytest.raises(Leave) as caught:
        options(*words)

    assert caught.value.code == 2
    assert caught.value.text.splitlines()[:2] == [first, "Usage of lws-manager:"]


@pytest.mark.parametrize("word", ["epoch", "millis", "nano", "iso8601", "RFC3339", "rfc3339nano"])
def test_flags_of_the_log_that_have_no_effect_are_taken(word: str) -> None:
    made = options(f"--zap-time-encoding={word}", "--zap-devel=false", "--zap-stacktrace-level=panic")

    assert (made.log_level, made.log_format) == ("debug", "logfmt")
    assert options("--zap-encoder=json").log_format == "json"


def test_the_version_is_three_lines() -> None:
    lines = version(parse(PROCESS, FLAGS, ("-version",))).splitlines()

    assert [line.partition(": ")[0] for line in lines] == ["Version", "Build Date", "Git Commit"]
    assert PROGRAM.asked(parse(PROCESS, FLAGS, ())) == ""


def test_the_file_beats_defaults_and_flags_that_are_given_beat_the_file(tmp_path: Path) -> None:
    text = (
        "metrics: {bindAddress: '127.0.0.1:9000'}\n"
        "health: {healthProbeBindAddress: ':9001', readinessEndpointName: ready, livenessEndpointName: /alive}\n"
        "clientConnection: {qps: 20.5, burst: 7}\n"
        "leaderElection: {leaderElect: true, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 3s,"
        " resourceName: mine, resourceLock: leases, resourceNamespace: ignored}\n"
    )

    made = filed(tmp_path, text)
    assert made.secure_metrics is not None
    assert (made.secure_metrics.host, made.secure_metrics.port) == ("127.0.0.1", 9000)
    assert made.server_port == 9001
    assert made.plain_paths == PlainPaths(ready=("/ready",), alive=("/alive",), metrics=())
    assert (made.qps, made.burst) == (20.5, 7)
    assert (made.lease, made.lease_times) == ("mine", LeaseTimes(30.0, 20.0, 3.0))

    words = (
        "--metrics-bind-address=:8443",
        "--health-probe-bind-address=localhost:8081",
        "--kube-api-qps=500",
        "--kube-api-burst=500",
        "--leader-elect-lease-duration=15s",
        "--leader-elect-renew-deadline=10s",
        "--leader-elect-retry-period=2s",
        "--leader-elect-resource-name=b8b2488c.x-k8s.io",
    )
    made = filed(tmp_path, text, *words)
    assert made.secure_metrics is not None
    assert made.secure_metrics.port == 8443
    assert (made.server_host, made.server_port) == ("127.0.0.1", 8081)
    assert (made.qps, made.burst) == (500.0, 500)
    assert (made.lease, made.lease_times) == ("b8b2488c.x-k8s.io", LeaseTimes(15.0, 10.0, 2.0))
    assert filed(tmp_path, text, "--leader-elect=false").lease is None
    assert filed(tmp_path, "leaderElection: {leaderElect: false}\n").lease is None
    assert filed(tmp_path, "leaderElection: {leaderElect: false}\n", "-leader-elect").lease == "b8b2488c.x-k8s.io"


def test_zero_instead_of_an_address_serves_nothing(tmp_path: Path) -> None:
    made = filed(tmp_path, "metrics: {bindAddress: '0'}\nhealth: {healthProbeBindAddress: '0'}\n")

    assert made.secure_metrics is None
    assert made.server_port is None
    assert options("--metrics-bind-address=0").secure_metrics is None


def test_certificates_of_others_are_read_from_their_folder(tmp_path: Path) -> None:
    text = "webhook: {port: 9444, host: 127.0.0.1, certDir: /certs}\ninternalCertManagement: {enable: false}\n"

    made = webhooks_of(filed(tmp_path, text))

    assert (made.port, made.host) == (9444, "127.0.0.1")
    assert (made.certificate_file, made.key_file) == ("/certs/tls.crt", "/certs/tls.key")
    assert (made.injects, made.renews) == (False, True)


def test_names_of_service_and_secret_come_from_the_file(tmp_path: Path) -> None:
    names = "internalCertManagement: {webhookServiceName: hooks, webhookSecretName: certs.hooks}\n"

    made = webhooks_of(filed(tmp_path, names))

    assert (made.secret, made.dns_name) == ("certs.hooks", "hooks.lws-system.svc")


def test_the_file_says_who_schedules_groups_and_which_tls_is_spoken(tmp_path: Path) -> None:
    made = filed(
        tmp_path,
        "gangSchedulingManagement: {schedulerProvider: volcano}\n"
        "tls: {minVersion: VersionTLS12, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]}\n",
        "--lws-revision-history-limit=3",
    )

    assert made.parts[0].settings == Settings(3, "volcano", "lws-system")
    assert webhooks_of(made).tls == TlsLimits(ciphers=("ECDHE-RSA-AES128-GCM-SHA256",))
    assert made.secure_metrics is not None
    assert made.secure_metrics.tls == webhooks_of(made).tls
    assert webhooks_of(filed(tmp_path, "tls: {minVersion: VersionTLS13}\n")).tls == TlsLimits(only_newest=True)


def test_flags_switch_budgets_and_the_review_of_evictions_on() -> None:
    made = options("--lws-disruption-budgets", "--lws-eviction-webhook")

    assert made.parts[0].settings == Settings(0, "", "lws-system", keeps_budgets=True, reviews_evictions=True)


def test_what_is_null_in_the_file_counts_as_absent(tmp_path: Path) -> None:
    assert filed(tmp_path, "webhook:\nmetrics: {bindAddress: null}\n").secure_metrics == options().secure_metrics


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "metrics: {bindAdress: ':1'}",
            "metrics.bindAdress is unknown (did you mean bindAddress?): correct or remove it",
        ),
        ("webhooks: {}", "webhooks is unknown (did you mean webhook?): correct or remove it"),
        ("webhook: {port: '9443'}", "webhook.port is of the wrong type (str): write a whole number"),
        ("webhook: []", "webhook is of the wrong type (array): write a mapping"),
        (
            "metrics: {bindAddress: 8443}",
            "metrics.bindAddress is of the wrong type (int): write a text, in quotes where YAML needs them",
        ),
        (
            "leaderElection: {leaderElect: 'yes'}",
            "leaderElection.leaderElect is of the wrong type (str): write true or false",
        ),
        ("tls: {cipherSuites: AES}", "tls.cipherSuites is of the wrong type (str): write a list"),
        ("metrics: {}\nmetrics: {}", "line 4 gives metrics a second time: give it once"),
        ("webhook:\n  port: 1\n  port: 1", "line 5 gives port a second time: give it once"),
        ("webhook: {port: 70000}", "webhook.port is 70000: set it to a port from 1 to 65535"),
        (
            "leaderElection: {leaseDuration: soon}",
            'leaderElection.leaseDuration is "soon": write a duration such as 15s',
        ),
        (
            "internalCertManagement: {webhookServiceName: 2hooks}",
            (
                'internalCertManagement.webhookServiceName is "2hooks": the name of a Service starts with a letter and'
                " has up to 63 of a to z, 0 to 9 and - inside"
            ),
        ),
        (
            "internalCertManagement: {webhookSecretName: A}",
            'internalCertManagement.webhookSecretName is "A": a name has up to 253 of a to z, 0 to 9, - and . inside',
        ),
        (
            "gangSchedulingManagement: {}",
            "gangSchedulingManagement.schedulerProvider is missing: set it to volcano, or leave the section out",
        ),
        (
            "gangSchedulingManagement: {schedulerProvider: kueue}",
            'gangSchedulingManagement.schedulerProvider is "kueue": this release supports volcano',
        ),
        ("tls: {minVersion: VersionTLS11}", 'tls.minVersion is "VersionTLS11": set it to VersionTLS12 or VersionTLS13'),
        (
            "tls: {minVersion: VersionTLS13, cipherSuites: [TLS_RSA_WITH_AES_128_CBC_SHA]}",
            "tls.cipherSuites cannot be chosen with TLS 1.3: leave them out, or set minVersion to VersionTLS12",
        ),
        (
            "tls: {cipherSuites: [MINE]}",
            'tls.cipherSuites holds "MINE": use names such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
        ),
        (
            "leaderElection: {resourceLock: endpoints}",
            'leaderElection.resourceLock is "endpoints": only leases can be held',
        ),
        ("clientConnection: {qps: 5, burst: 0}", "clientConnection.burst is 0: set it to 1 or more"),
        (
            "metrics: {bindAddress: here}",
            (
                'metrics.bindAddress is "here": set it to an address and a port, such as [::]:8001, 127.0.0.1:8001 or'
                " :8001; 0 serves nothing"
            ),
        ),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence_that_names_the_field(tmp_path: Path, text: str, said: str) -> None:
    assert refusal(tmp_path, text) == said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is no mapping: write a Configuration of config.lws.x-k8s.io/v1alpha1"),
        ("- 1\n", "is no mapping: write a Configuration of config.lws.x-k8s.io/v1alpha1"),
        ("kind: Configuration\n", ": apiVersion is missing: set it to config.lws.x-k8s.io/v1alpha1"),
        ("apiVersion: v1\nkind: Configuration\n", ': apiVersion is "v1": set it to config.lws.x-k8s.io/v1alpha1'),
        ("a: [", "is not YAML: "),
        ("[" * 100_000, "is nested too deeply: no field of it is"),
        ("a: &a [*a]\n", ": apiVersion is missing: set it to config.lws.x-k8s.io/v1alpha1"),
    ],
)
def test_a_file_that_is_no_configuration_is_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(content)

    with pytest.raises(FlagError) as caught:
        options(f"--config={file}")

    assert str(caught.value).startswith(f"{file} {said}" if not said.startswith(":") else f"{file}{said}")
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FlagError, match="which cannot be read \\(No such file or directory\\): correct the path"):
        options(f"--config={tmp_path / 'absent'}")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--leader-elect-renew-deadline=15s",), "are 15s, 15s, 2s: set the first to 1s or more"),
        (("--leader-elect-resource-name=A B",), '-leader-elect-resource-name is "A B": a name has'),
        (("--kube-api-qps=nan",), "-kube-api-qps is nan: set it to a number, or to 0 for no limit"),
        (("--lws-revision-history-limit=-1",), "-lws-revision-history-limit is -1: set it to 0 or more"),
        (("--health-probe-bind-address=:99999",), '-health-probe-bind-address is ":99999": set it to an address'),
    ],
)
def test_flags_that_do_not_fit_are_one_sentence(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(FlagError) as caught:
        options(*words)

    assert said in str(caught.value)


def test_the_own_namespace_is_that_of_the_account(tmp_path: Path) -> None:
    file = tmp_path / "namespace"
    assert own_namespace(file) == "lws-system"

    file.write_text("models\n")
    assert own_namespace(file) == "models"


def test_a_word_that_is_no_flag_is_told() -> None:
    told = list(warnings(parse(PROCESS, FLAGS, ("-leader-elect", "false"))))

    assert told == ['"false" is no flag: it and everything after it is ignored; write booleans as -flag=true']
