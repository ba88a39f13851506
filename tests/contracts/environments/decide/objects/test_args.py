"""The command line, condition by condition: which arguments appear when something is set, and at which versions."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.environments.decide.objects.args import arguments
from fairlead.contracts.environments.kinds import CertificateSpec, IssuerRef
from fairlead.contracts.environments.settings import DefaultCertificates, Placement, Ports, Settings
from tests.contracts.environments.decide.objects.samples import ENVIRONMENT_ID, an_environment

PLAIN = Settings()
SIZES = "--system-parameter-default=allowed_cluster_replica_sizes="
KUBERNETES = "--orchestrator-kubernetes"
ISSUED = DefaultCertificates(internal=CertificateSpec(issuer_ref=IssuerRef("ca")))
PICKY = Placement(affinity={"podAffinity": {}}, tolerations=({"operator": "Exists"},))


def added(image: str = "v26.0.0", settings: Settings = PLAIN, **spec: Any) -> list[str]:
    """What the command line has beyond that of the same image with nothing set."""
    plain = arguments(an_environment(image), 1, Settings())
    given = arguments(an_environment(image, **spec), 1, settings)
    return [each for each in given if each not in plain]


def missing(image: str = "v26.0.0", settings: Settings = PLAIN, **spec: Any) -> list[str]:
    """What it lacks."""
    plain = arguments(an_environment(image), 1, Settings())
    given = arguments(an_environment(image, **spec), 1, settings)
    return [each for each in plain if each not in given]


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        (Settings(helm_chart_version="v1"), ["--helm-chart-version=v1"]),
        (
            Settings(cluster_replica_sizes='{"b": {}, "a": {}}'),
            ['--cluster-replica-sizes={"b": {}, "a": {}}', f"{SIZES}'a', 'b'"],
        ),
        (Settings(cluster_replica_sizes="[1]"), ["--cluster-replica-sizes=[1]"]),
        (Settings(cluster_replica_sizes="{"), ["--cluster-replica-sizes={"]),
        (
            Settings(bootstrap_sizes=(("bootstrap-default-cluster-replica-size", "a"),)),
            ["--bootstrap-default-cluster-replica-size=a"],
        ),
        (
            Settings(replication_factors=(("bootstrap-builtin-probe-cluster-replication-factor", 0),)),
            ["--bootstrap-builtin-probe-cluster-replication-factor=0"],
        ),
        (
            Settings(internal_statement_logging=True),
            ["--system-parameter-default=enable_internal_statement_logging=true"],
        ),
        (
            Settings(disable_statement_logging=True),
            ["--system-parameter-default=statement_logging_max_sample_rate=0"],
        ),
        (Settings(clusterd=Placement(node_selector={"k": "v"})), [f"{KUBERNETES}-service-node-selector=k=v"]),
        (Settings(scheduler_name="s"), [f"{KUBERNETES}-scheduler-name=s"]),
        (Settings(opentelemetry_endpoint="http://o"), ["--opentelemetry-endpoint=http://o"]),
        (Settings(segment_api_key="k"), ["--segment-api-key=k"]),
        (Settings(segment_client_side=True), []),
        (Settings(segment_api_key="k", segment_client_side=True), ["--segment-api-key=k", "--segment-client-side"]),
        (Settings(ephemeral_volume_class="c"), [f"{KUBERNETES}-ephemeral-volume-class=c"]),
        (Settings(sentry_dsn="https://s"), ["--sentry-dsn=https://s", "--sentry-tag=region=kind"]),
        (Settings(sentry_environment="e"), []),
        (
            Settings(prometheus_scrape_annotations=True),
            [f"{KUBERNETES}-enable-prometheus-scrape-annotations"],
        ),
        (Settings(secrets_controller="local-file"), ["--secrets-controller=local-file"]),
        (Settings(image_pull_policy="never"), [f"{KUBERNETES}-image-pull-policy=never"]),
        (Settings(availability_zones=("z",), aws_account_id="1", aws_secrets_controller_tags=("--t",)), []),
        (Settings(environmentd_connection_role_arn="arn"), []),
        (
            Settings(ports=Ports(internal_persist_pubsub=1)),
            [
                "--persist-pubsub-url=http://mzabcdefgh12-persist-pubsub-1:1",
                "--internal-persist-pubsub-listen-addr=0.0.0.0:1",
            ],
        ),
    ],
)
def test_a_setting_adds_its_arguments(settings: Settings, more: list[str]) -> None:
    assert added(settings=settings) == more


@pytest.mark.parametrize(
    ("spec", "more", "fewer"),
    [
        ({"enable_rbac": True}, [], ["--system-parameter-default=enable_rbac_checks=false"]),
        ({"environmentd_extra_args": ("--a", "--b=1")}, ["--a", "--b=1"], []),
        ({"pod_labels": {"k": "v"}}, [f"{KUBERNETES}-service-label=k=v"], []),
        ({"pod_annotations": {"k": "v"}}, [f"{KUBERNETES}-service-annotation=k=v"], []),
        (
            {"service_account_name": "sa"},
            [f"{KUBERNETES}-service-account=sa"],
            [f"{KUBERNETES}-service-account=m"],
        ),
        (
            {"internal_certificate_spec": CertificateSpec(issuer_ref=IssuerRef("ca"))},
            [
                "--tls-mode=require",
                "--tls-cert=/etc/materialized/tls.crt",
                "--tls-key=/etc/materialized/tls.key",
            ],
            ["--tls-mode=disable"],
        ),
        ({"internal_certificate_spec": CertificateSpec(duration="1h")}, [], []),
    ],
)
def test_a_field_of_the_spec_changes_its_arguments(spec: dict[str, Any], more: list[str], fewer: list[str]) -> None:
    assert added(**spec) == more
    assert missing(**spec) == fewer


@pytest.mark.parametrize("kind", ["Password", "Sasl", "Oidc"])
def test_passwords_are_switched_on_where_users_log_in(kind: str) -> None:
    assert added(authenticator_kind=kind) == ["--system-parameter-default=enable_password_auth=true"]


@pytest.mark.parametrize("kind", ["Frontegg", "None"])
def test_passwords_stay_off_elsewhere(kind: str) -> None:
    assert added(authenticator_kind=kind) == []


@pytest.mark.parametrize(
    ("image", "settings", "spec", "more"),
    [
        ("v0.143.9", Settings(clusterd=PICKY), {}, []),
        (
            "v0.144.0",
            Settings(clusterd=PICKY),
            {},
            [
                f'{KUBERNETES}-service-affinity={{"podAffinity":{{}}}}',
                f'{KUBERNETES}-service-tolerations=[{{"operator":"Exists"}}]',
            ],
        ),
        ("v0.153.9", Settings(), {"pod_annotations": {"k": "v"}}, []),
        ("v0.154.0", Settings(), {"pod_annotations": {"k": "v"}}, [f"{KUBERNETES}-service-annotation=k=v"]),
        ("v26.0.9", Settings(), {"system_parameter_configmap_name": "p"}, []),
        (
            "v26.1.0-dev.0",
            Settings(),
            {"system_parameter_configmap_name": "p"},
            ["--config-sync-file-path=/system-params/system-params.json", "--config-sync-loop-interval=1s"],
        ),
        ("v0.142.9", Settings(disable_license_key_checks=True), {}, []),
        ("v0.143.0", Settings(disable_license_key_checks=True), {}, ["--disable-license-key-checks"]),
        ("v0.152.9", Settings(disable_license_key_checks=True), {}, ["--disable-license-key-checks"]),
        ("v0.153.0", Settings(disable_license_key_checks=True), {}, []),
        ("latest", Settings(disable_license_key_checks=True), {}, []),
        ("v0.146.9", Settings(), {"authenticator_kind": "Password"}, []),
    ],
)
def test_arguments_wait_for_the_version_that_knows_them(
    image: str, settings: Settings, spec: dict[str, Any], more: list[str]
) -> None:
    assert added(image, settings, **spec) == more


@pytest.mark.parametrize("provider", ["aws", "gcp", "azure", "generic"])
def test_clusters_are_spread_in_clouds(provider: str) -> None:
    lacks = missing(settings=Settings(cloud_provider=provider))

    assert "--system-parameter-default=cluster_enable_topology_spread=false" in lacks


@pytest.mark.parametrize("provider", ["local", "docker", "mzcompose", "cloudtest"])
def test_clusters_are_not_spread_elsewhere(provider: str) -> None:
    args = arguments(an_environment(), 1, Settings(cloud_provider=provider, region="r"))

    assert "--system-parameter-default=cluster_enable_topology_spread=false" in args
    assert args[0] == f"--environment-id={provider}-r-{ENVIRONMENT_ID}-0"


@pytest.mark.parametrize(
    ("own", "flag", "more"),
    [
        ("own", "flag", ["--aws-connection-role-arn=own"]),
        (None, "flag", ["--aws-connection-role-arn=flag"]),
        (None, None, []),
    ],
)
def test_the_connection_role_is_the_specs_else_the_operators(
    own: str | None, flag: str | None, more: list[str]
) -> None:
    settings = Settings(cloud_provider="aws", environmentd_connection_role_arn=flag)

    args = arguments(an_environment(environmentd_connection_role_arn=own), 1, settings)

    assert [each for each in args if each.startswith("--aws-connection-role-arn")] == more


def test_metrics_of_pods_are_collected_when_that_is_asked_for() -> None:
    assert missing(settings=Settings(collect_pod_metrics=True)) == [
        "--orchestrator-kubernetes-disable-pod-metrics-collection"
    ]


def test_the_operators_default_issuer_switches_tls_on() -> None:
    assert "--tls-mode=require" in added(settings=Settings(default_certificates=ISSUED))


def test_an_environment_id_is_spelled_in_one_way_however_it_is_stored() -> None:
    stored = ENVIRONMENT_ID.replace("-", "").upper()

    assert arguments(an_environment(environment_id=stored), 1, Settings()) == arguments(an_environment(), 1, Settings())


@pytest.mark.parametrize(("image", "group"), [("v26.32.9", 999), ("v26.33.0", 65532), ("latest", 65532)])
def test_the_volumes_of_clusterd_belong_to_the_group_that_its_image_runs_as(image: str, group: int) -> None:
    assert f"{KUBERNETES}-service-fs-group={group}" in arguments(an_environment(image), 1, Settings())


def test_old_versions_listen_on_the_ports_that_are_set() -> None:
    ports = Ports(sql=1, http=2, internal_sql=3, internal_http=4)

    args = arguments(an_environment("v0.146.0"), 1, Settings(ports=ports))

    assert args[-4:] == [
        "--sql-listen-addr=0.0.0.0:1",
        "--http-listen-addr=0.0.0.0:2",
        "--internal-sql-listen-addr=0.0.0.0:3",
        "--internal-http-listen-addr=0.0.0.0:4",
    ]
