"""The process `vela-core`: its flags and what they come down to (section 2.13)."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.cli.flags.go import parse
from fairlead.cli.flags.leave import Leave
from fairlead.contracts.plans.flags import FLAGS, UNUSED
from fairlead.contracts.plans.options import PROCESS, options_of, own_namespace, warnings
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.flags import FlagError
from fairlead.core.go_flag_kinds import DURATION
from fairlead.engine.options import LeaseTimes, OperatorOptions
from fairlead.engine.serving.plain_paths import PlainPaths

WITH_EFFECT = {
    "use-webhook": False,
    "webhook-port": 9443,
    "webhook-cert-dir": "/k8s-webhook-server/serving-certs",
    "webhook-secret": "",
    "webhook-service": "vela-core-webhook",
    "metrics-addr": ":8080",
    "health-addr": ":9440",
    "enable-leader-election": False,
    "leader-election-namespace": "",
    "revision-limit": 50,
    "application-revision-limit": 10,
    "concurrent-reconciles": 4,
    "system-definition-namespace": "vela-system",
    "metrics-server": "",
    "mesh-provider": "",
    "slack-url": "",
    "slack-user": "fairlead",
    "slack-channel": "general",
    "event-webhook": "",
    "reconcile-timeout": 180.0,
    "log-debug": False,
    "informer-re-sync-interval": 36000.0,
    "kube-api-qps": 50.0,
    "kube-api-burst": 100,
    "leader-election-lease-duration": 15.0,
    "leader-election-renew-deadline": 10.0,
    "leader-election-retry-period": 2.0,
    "register-kinds": True,
    "kubeconfig": "",
}
WITHOUT_EFFECT = {
    "log-file-path",
    "log-file-max-size",
    "log-retain-date",
    "log-compress",
    "apply-once-only",
    "disable-caps",
    "storage-driver",
    "custom-revision-hook-url",
    "use-trait-injector",
    "long-wait",
    "depend-check-wait",
    "definition-revision-limit",
    "app-config-installed",
    "autogen-workload-definition",
    "oam-spec-ver",
    "pprof-addr",
    "perf-enabled",
    "enable-cluster-gateway",
    "leader-election-resource-lock",
    "application-re-sync-period",
    "max-workflow-wait-backoff-time",
    "max-workflow-failed-backoff-time",
    "max-workflow-step-error-retry-times",
}


def options(*words: str) -> OperatorOptions:
    return options_of(parse(PROCESS, FLAGS, words))


def test_the_flags_are_those_of_the_contract_with_its_defaults() -> None:
    assert {flag.name: flag.default for flag in FLAGS if flag not in UNUSED} == WITH_EFFECT
    assert {flag.name for flag in UNUSED} == WITHOUT_EFFECT


def test_without_flags_it_runs_as_the_contract_says() -> None:
    made = options()

    assert (made.process, made.namespaces, made.log_level) == ("vela-core", (), "info")
    assert (made.server_host, made.server_port) == ("::", 9440)
    assert made.plain_paths == PlainPaths(ready=("/readyz",), alive=("/healthz",), metrics=())
    assert made.metrics_address == ("::", 8080)
    assert (made.lease, made.webhooks, made.resync) == (None, None, None)
    assert (made.qps, made.burst) == (50.0, 100)
    assert made.parts[0].settings == PlanSettings()


def test_one_or_two_dashes_are_the_same() -> None:
    assert options("-log-debug", "--enable-leader-election=true").log_level == "debug"
    assert options("-enable-leader-election").lease == "kubevela"


def test_the_lease_is_where_it_is_said_to_be_and_counts_as_long() -> None:
    made = options(
        "--enable-leader-election",
        "--leader-election-namespace=elsewhere",
        "--leader-election-lease-duration=30s",
        "--leader-election-renew-deadline=20s",
        "--leader-election-retry-period=5s",
    )

    assert (made.lease, made.home) == ("kubevela", "elsewhere")
    assert made.lease_times == LeaseTimes(30.0, 20.0, 5.0)


def test_webhooks_have_the_certificate_of_a_folder() -> None:
    hooks = options("--use-webhook", "--webhook-port=10250", "--webhook-cert-dir=/etc/certs").webhooks

    assert hooks is not None
    assert (hooks.port, hooks.renews, hooks.injects) == (10250, True, False)
    assert (hooks.certificate_file, hooks.key_file) == ("/etc/certs/tls.crt", "/etc/certs/tls.key")


def test_webhooks_have_a_certificate_of_their_own_where_a_secret_is_named() -> None:
    hooks = options("--use-webhook", "--webhook-secret=admission", "--webhook-service=hooks").webhooks

    assert hooks is not None
    assert (hooks.certificate_file, hooks.secret, hooks.injects) == ("", "admission", True)
    assert hooks.dns_name == "hooks.vela-system.svc"


def test_the_namespace_is_that_of_the_account(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("oam\n")

    assert own_namespace(tmp_path / "namespace") == "oam"
    assert own_namespace(tmp_path / "none") == "vela-system"


def test_metrics_and_probes_may_have_one_address_or_none() -> None:
    shared = options("--metrics-addr=127.0.0.1:9000", "--health-addr=127.0.0.1:9000")
    silent = options("--metrics-addr=0", "--health-addr=")

    assert (shared.server_host, shared.server_port, shared.metrics_address) == ("127.0.0.1", 9000, None)
    assert shared.plain_paths.metrics == ("/metrics",)
    assert (silent.server_port, silent.metrics_address) == (None, None)


def test_settings_are_what_flags_say() -> None:
    made = options(
        "--metrics-server=http://prometheus:9090",
        "--mesh-provider=linkerd",
        "--revision-limit=3",
        "--application-revision-limit=0",
        "--system-definition-namespace=defs",
        "--concurrent-reconciles=9",
        "--reconcile-timeout=1m30s",
        "--slack-url=https://chat.example/hook",
        "--slack-user=bot",
        "--slack-channel=rollouts",
        "--event-webhook=https://events.example/",
        "--register-kinds=false",
        "--informer-re-sync-interval=1h",
    )

    assert made.resync == 3600.0
    assert made.parts[0].settings == PlanSettings(
        metrics_server="http://prometheus:9090",
        mesh_provider="linkerd",
        revision_limit=3,
        application_revision_limit=0,
        system_namespace="defs",
        concurrent=9,
        reconcile_timeout=90.0,
        slack_url="https://chat.example/hook",
        slack_user="bot",
        slack_channel="rollouts",
        event_webhook="https://events.example/",
        registers_kinds=False,
    )


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("--revision-limit=-1", "-revision-limit is -1: set it to 0 or more"),
        ("--application-revision-limit=-2", "-application-revision-limit is -2: set it to 0 or more"),
        ("--concurrent-reconciles=0", "-concurrent-reconciles is 0: set it to 1 or more"),
        ("--reconcile-timeout=0s", "-reconcile-timeout is 0s: set it to a time longer than 0"),
        ("--informer-re-sync-interval=-1s", "-informer-re-sync-interval is -1s: set it to a time longer than 0"),
        ("--mesh-provider=consul", '-mesh-provider is "consul": set it to istio or linkerd, or leave it out'),
        (
            "--metrics-server=prometheus",
            '-metrics-server is "prometheus": write an address with http or https, such as http://prometheus:9090',
        ),
        (
            "--slack-url=https://[x",
            '-slack-url is "https://[x": write an address with http or https, such as http://prometheus:9090',
        ),
        (
            "--event-webhook=ftp://x/",
            '-event-webhook is "ftp://x/": write an address with http or https, such as http://prometheus:9090',
        ),
        (
            "--system-definition-namespace=",
            '-system-definition-namespace is "": a name has up to 253 of a to z, 0 to 9, - and . inside',
        ),
        (
            "--leader-election-namespace=A B",
            '-leader-election-namespace is "A B": a name has up to 253 of a to z, 0 to 9, - and . inside',
        ),
        ("--webhook-port=70000", "-webhook-port is 70000: set it to a port from 0 to 65535"),
        ("--kube-api-qps=NaN", "-kube-api-qps is nan: set it to a number, or to 0 for no limit"),
        ("--kube-api-burst=0", "-kube-api-burst is 0: set it to 1 or more, or -kube-api-qps to 0"),
        (
            "--leader-election-renew-deadline=20s",
            (
                "-leader-election-lease-duration, renew deadline and retry period are 15s, 20s, 2s: set the first to "
                "1s or more, above the renew deadline, and that above 1.2 times the retry period"
            ),
        ),
    ],
)
def test_a_value_that_will_not_do_is_one_sentence(word: str, sentence: str) -> None:
    with pytest.raises(FlagError) as caught:
        options(word)

    assert str(caught.value) == sentence


@pytest.mark.parametrize("flag", ["metrics-addr", "health-addr"])
def test_an_address_that_is_none_is_refused(flag: str) -> None:
    with pytest.raises(FlagError, match=f"^-{flag} .*; 0 serves nothing$"):
        options(f"--{flag}=somewhere")


def test_a_secret_needs_a_service() -> None:
    with pytest.raises(FlagError, match=r"^-webhook-service is empty: name the Service that the API server calls$"):
        options("--use-webhook", "--webhook-secret=admission", "--webhook-service=")


def test_a_mistake_in_a_flag_ends_with_the_usage() -> None:
    with pytest.raises(Leave) as caught:
        options("--unknown")

    assert caught.value.code == 2
    assert caught.value.text.startswith("flag provided but not defined: -unknown\nUsage of vela-core:")


@pytest.mark.parametrize("name", sorted(WITHOUT_EFFECT))
def test_a_flag_without_effect_is_taken_and_told_once(name: str) -> None:
    flag = next(each for each in FLAGS if each.name == name)
    value = "1s" if flag.kind is DURATION else str(flag.default or "0").lower()
    given = parse(PROCESS, FLAGS, (f"--{name}={value}",))

    assert options_of(given).parts[0].settings == PlanSettings()
    assert [*warnings(given)] == [f"-{name} is taken and has no effect here"]
    assert [*warnings(parse(PROCESS, FLAGS, ()))] == []


def test_words_that_are_no_flags_are_told() -> None:
    (told,) = warnings(parse(PROCESS, FLAGS, ("-log-debug", "true", "x")))

    assert told.startswith('"true" is no flag: it and everything after it is ignored')
