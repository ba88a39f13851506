"""The command line of environmentd, in the order of the contract: one function per stretch of it.

Order is part of the contract: what comes later wins, and the user's own arguments come almost last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from fairlead.contracts.environments.decide.images import at_least, companion
from fairlead.contracts.environments.decide.objects.accounts import service_account_name
from fairlead.contracts.environments.decide.objects.environment import uses_internal_tls
from fairlead.contracts.environments.decide.objects.listeners import reads_listeners
from fairlead.contracts.environments.decide.objects.names import pubsub_service_name
from fairlead.contracts.environments.decide.objects.owner import owner_of_environment, without_nulls
from fairlead.contracts.environments.decide.objects.pods import user_of
from fairlead.contracts.environments.decide.objects.wanted import Environment
from fairlead.contracts.environments.kinds import LISTENERS_FILE, LOGS_IN, Json, Text
from fairlead.contracts.environments.settings import Settings
from fairlead.core.uuids import parse

CERTIFICATE_AT = "/etc/materialized"
SYSTEM_PARAMETERS_AT = "/system-params"
LISTENERS_AT = "/listeners"
UNPRIVILEGED_FROM = "26.33.0"
"""From this version on images run as an unprivileged user that others use as well."""

_SPREADS = ("aws", "gcp", "azure", "generic")
"""Clouds whose nodes are spread over zones."""


def arguments(environment: Environment, generation: int, settings: Settings) -> list[str]:
    spec = environment.spec
    return [
        *_identity(environment, settings),
        *_sizes(settings),
        *_defaults(environment, settings),
        "--persist-isolated-runtime-threads=-1",
        *_aws(environment, settings),
        *_orchestrator(environment, settings),
        *_tracing(environment, settings),
        *_tls(environment, settings),
        *_optional("--orchestrator-kubernetes-ephemeral-volume-class", settings.ephemeral_volume_class),
        f"--orchestrator-kubernetes-service-fs-group={environmentd_user(spec.environmentd_image_ref)}",
        *_system_parameters(environment),
        *_sentry(settings),
        *_generation(environment, generation, settings),
        *_metrics_and_license(environment, settings),
        *(spec.environmentd_extra_args or ()),
        *_listening(environment, settings),
    ]


def environmentd_user(image: str) -> int:
    """As which environmentd runs, and whose group clusterd's volumes get: both have the same version."""
    return user_of(image, unprivileged_from=UNPRIVILEGED_FROM)


def has_system_parameters(environment: Environment) -> bool:
    """Whether environmentd follows a ConfigMap of system parameters."""
    spec = environment.spec
    return bool(spec.system_parameter_configmap_name) and at_least(spec.environmentd_image_ref, "26.1.0-dev.0")


def _identity(environment: Environment, settings: Settings) -> Iterator[str]:
    yield from _optional("--helm-chart-version", settings.helm_chart_version)
    yield f"--environment-id={settings.cloud_provider}-{settings.region}-{_environment_id(environment)}-0"
    yield f"--clusterd-image={companion(environment.spec.environmentd_image_ref, 'clusterd')}"


def _sizes(settings: Settings) -> Iterator[str]:
    yield from _optional("--cluster-replica-sizes", settings.cluster_replica_sizes)
    yield from (f"--{flag}={value}" for flag, value in (*settings.bootstrap_sizes, *settings.replication_factors))
    yield from (f"--cors-allowed-origin={origin}" for origin in settings.allowed_origins)
    yield f"--secrets-controller={settings.secrets_controller}"


def _defaults(environment: Environment, settings: Settings) -> Iterator[str]:
    """Of system parameters; what an administrator sets wins over them."""
    sizes = _size_names(settings.cluster_replica_sizes)
    if sizes is not None:
        yield _default("allowed_cluster_replica_sizes", ", ".join(f"'{size}'" for size in sizes))
    if settings.cloud_provider not in _SPREADS:
        yield _default("cluster_enable_topology_spread", "false")
    if settings.internal_statement_logging:
        yield _default("enable_internal_statement_logging", "true")
    if settings.disable_statement_logging:
        yield _default("statement_logging_max_sample_rate", "0")
    if not environment.spec.enable_rbac:
        yield _default("enable_rbac_checks", "false")


def _aws(environment: Environment, settings: Settings) -> Iterator[str]:
    if settings.cloud_provider != "aws":
        return
    role = environment.spec.environmentd_connection_role_arn or settings.environmentd_connection_role_arn
    yield from (f"--availability-zone={zone}" for zone in settings.availability_zones)
    yield from _optional("--aws-connection-role-arn", role)
    yield from _optional("--aws-account-id", settings.aws_account_id)
    yield f"--aws-secrets-controller-tags=Environment={environment.name}"
    yield from settings.aws_secrets_controller_tags


def _orchestrator(environment: Environment, settings: Settings) -> Iterator[str]:
    """How environmentd runs its clusterds: where, under which name, with which labels."""
    spec, clusterd = environment.spec, settings.clusterd
    image = spec.environmentd_image_ref
    yield "--orchestrator=kubernetes"
    yield f"--orchestrator-kubernetes-service-account={service_account_name(environment)}"
    yield f"--orchestrator-kubernetes-image-pull-policy={settings.image_pull_policy}"
    yield from _pairs("--orchestrator-kubernetes-service-node-selector", clusterd.node_selector.items())
    if at_least(image, "0.144.0"):
        if clusterd.affinity:
            yield f"--orchestrator-kubernetes-service-affinity={_json(without_nulls(clusterd.affinity))}"
        if clusterd.tolerations:
            tolerations = [without_nulls(each) for each in clusterd.tolerations]
            yield f"--orchestrator-kubernetes-service-tolerations={_json(tolerations)}"
    yield from _optional("--orchestrator-kubernetes-scheduler-name", settings.scheduler_name)
    if at_least(image, "0.154.0"):
        yield from _pairs("--orchestrator-kubernetes-service-annotation", _sorted(spec.pod_annotations))
    labels = (*owner_of_environment(environment).identity.items(), *_sorted(spec.pod_labels))
    yield from _pairs("--orchestrator-kubernetes-service-label", labels)
    yield f"--orchestrator-kubernetes-name-prefix={environment.prefix}"


def _tracing(environment: Environment, settings: Settings) -> Iterator[str]:
    yield "--log-format=json"
    yield from _optional("--opentelemetry-endpoint", settings.opentelemetry_endpoint)
    yield f"--opentelemetry-resource=organization_id={_environment_id(environment)}"
    yield f"--opentelemetry-resource=environment_name={environment.name}"
    if settings.segment_api_key:
        yield f"--segment-api-key={settings.segment_api_key}"
        if settings.segment_client_side:
            yield "--segment-client-side"


def _tls(environment: Environment, settings: Settings) -> tuple[str, ...]:
    if not uses_internal_tls(environment, settings):
        return ("--tls-mode=disable",)
    return (
        "--tls-mode=require",
        f"--tls-cert={CERTIFICATE_AT}/tls.crt",
        f"--tls-key={CERTIFICATE_AT}/tls.key",
    )


def _system_parameters(environment: Environment) -> tuple[str, ...]:
    if not has_system_parameters(environment):
        return ()
    return (f"--config-sync-file-path={SYSTEM_PARAMETERS_AT}/system-params.json", "--config-sync-loop-interval=1s")


def _sentry(settings: Settings) -> Iterator[str]:
    if settings.sentry_dsn:
        yield f"--sentry-dsn={settings.sentry_dsn}"
        yield from _optional("--sentry-environment", settings.sentry_environment)
        yield f"--sentry-tag=region={settings.region}"


def _generation(environment: Environment, generation: int, settings: Settings) -> Iterator[str]:
    pubsub, port = pubsub_service_name(environment.resource_id, generation), settings.ports.internal_persist_pubsub
    yield f"--persist-pubsub-url=http://{pubsub}:{port}"
    yield f"--internal-persist-pubsub-listen-addr=0.0.0.0:{port}"
    yield f"--deploy-generation={generation}"
    yield f"--internal-console-redirect-url={settings.internal_console_proxy_url}"


def _metrics_and_license(environment: Environment, settings: Settings) -> Iterator[str]:
    image = environment.spec.environmentd_image_ref
    if not settings.collect_pod_metrics:
        yield "--orchestrator-kubernetes-disable-pod-metrics-collection"
    if settings.prometheus_scrape_annotations:
        yield "--orchestrator-kubernetes-enable-prometheus-scrape-annotations"
    # The only versions in which the checks could be switched off.
    if settings.disable_license_key_checks and at_least(image, "0.143.0") and not at_least(image, "0.153.0"):
        yield "--disable-license-key-checks"


def _listening(environment: Environment, settings: Settings) -> Iterator[str]:
    spec, ports = environment.spec, settings.ports
    if reads_listeners(spec.environmentd_image_ref):
        yield f"--listeners-config-path={LISTENERS_AT}/{LISTENERS_FILE}"
        if spec.authenticator_kind in LOGS_IN:
            yield _default("enable_password_auth", "true")
        return
    yield f"--sql-listen-addr=0.0.0.0:{ports.sql}"
    yield f"--http-listen-addr=0.0.0.0:{ports.http}"
    yield f"--internal-sql-listen-addr=0.0.0.0:{ports.internal_sql}"
    yield f"--internal-http-listen-addr=0.0.0.0:{ports.internal_http}"


def _environment_id(environment: Environment) -> str:
    """In one spelling, so that the same id spelled otherwise is the same environment to the database."""
    given = environment.spec.environment_id
    return parse(given) or given


def _size_names(sizes: str | None) -> list[str] | None:
    """None where the text is no JSON object; the database then refuses it in its own words."""
    try:
        decoded = msgspec.json.decode(sizes or "null", type=dict[str, object] | None)
    except msgspec.MsgspecError:
        return None
    return None if decoded is None else sorted(decoded)


def _optional(flag: str, value: str | None) -> tuple[str, ...]:
    return (f"{flag}={value}",) if value else ()


def _default(parameter: str, value: str) -> str:
    return f"--system-parameter-default={parameter}={value}"


def _pairs(flag: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (f"{flag}={key}={value}" for key, value in pairs)


def _sorted(texts: Text | None) -> list[tuple[str, str]]:
    return sorted((texts or {}).items())


def _json(value: Json | list[Json]) -> str:
    return msgspec.json.encode(value).decode()
