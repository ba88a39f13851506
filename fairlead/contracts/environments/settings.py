"""The settings that environments are served under."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from fairlead.contracts.environments.kinds import CertificateSpec, Json, Text


class DefaultCertificates(Struct, frozen=True, rename="camel"):
    """`--default-certificate-specs`."""

    balancerd_external: CertificateSpec | None = None
    console_external: CertificateSpec | None = None
    internal: CertificateSpec | None = None


class Placement(Struct, frozen=True):
    """Where the pods of one program may run, and with what."""

    node_selector: Text = {}
    affinity: Json | None = None
    tolerations: tuple[Json, ...] = ()
    default_resources: Json | None = None


class Ports(Struct, frozen=True):
    """Of environmentd, balancerd and console."""

    sql: int = 6875
    http: int = 6876
    internal_sql: int = 6877
    internal_http: int = 6878
    internal_persist_pubsub: int = 6879
    balancerd_sql: int = 6875
    balancerd_http: int = 6876
    balancerd_internal_http: int = 8080
    console_http: int = 8080


class NetworkPolicies(Struct, frozen=True):
    internal: bool = False
    ingress: bool = False
    egress: bool = False
    ingress_cidrs: tuple[str, ...] = ()
    egress_cidrs: tuple[str, ...] = ()


ORIGINS = (
    "http://local.dev.materialize.com:3000",
    "http://local.mtrlz.com:3000",
    "http://localhost:3000",
    "https://staging.console.materialize.com",
)
URL_TEMPLATE = "{scheme}://{service}.{namespace}.svc.cluster.local:{port}"
CLOUDS = ("local", "docker", "mzcompose", "cloudtest", "aws", "gcp", "azure", "generic")


class Settings(Struct, frozen=True, kw_only=True):
    """What the flags of the contract say, except those about the process itself."""

    cloud_provider: str = "local"
    region: str = "kind"
    operator_namespace: str = "default"
    operator_labels: Text = {}
    """Of the operator's pods, for network policies."""
    aws_account_id: str | None = None
    environmentd_iam_role_arn: str | None = None
    environmentd_connection_role_arn: str | None = None
    aws_secrets_controller_tags: tuple[str, ...] = ()
    availability_zones: tuple[str, ...] = ()
    helm_chart_version: str | None = None
    secrets_controller: str = "kubernetes"
    collect_pod_metrics: bool = False
    prometheus_scrape_annotations: bool = False
    security_context: bool = False
    internal_statement_logging: bool = False
    disable_statement_logging: bool = False
    segment_api_key: str | None = None
    segment_client_side: bool = False
    image_pull_policy: Literal["always", "if-not-present", "never"] = "always"
    cluster_replica_sizes: str | None = None
    """JSON text, handed on as it is."""
    bootstrap_sizes: tuple[tuple[str, str], ...] = ()
    """Flags of environmentd without their dashes (`bootstrap-default-cluster-replica-size`) and their values, in
    order."""
    replication_factors: tuple[tuple[str, int], ...] = ()
    """Likewise (`bootstrap-builtin-system-cluster-replication-factor`)."""
    allowed_origins: tuple[str, ...] = ORIGINS
    internal_console_proxy_url: str = "https://console.materialize.com"
    console_image_tag_default: str = "latest"
    console_image_tags: Text = {}
    create_balancers: bool = False
    create_console: bool = False
    environmentd: Placement = Placement()
    clusterd: Placement = Placement()
    balancerd: Placement = Placement()
    console: Placement = Placement()
    ephemeral_volume_class: str | None = None
    scheduler_name: str | None = None
    network_policies: NetworkPolicies = NetworkPolicies()
    ports: Ports = Ports()
    default_certificates: DefaultCertificates = DefaultCertificates()
    disable_license_key_checks: bool = False
    license_keys: tuple[bytes, ...] = ()
    """Public keys, PEM, that a license key may be signed with; none: its claims are believed."""
    opentelemetry_endpoint: str | None = None
    sentry_dsn: str | None = None
    sentry_environment: str | None = None
    url_template: str = URL_TEMPLATE
    """Of environmentd's HTTP server; may hold {scheme} {service} {namespace} {port} {generation}."""


class ConversionOptions(Struct, frozen=True, kw_only=True):
    """How the conversion webhook of the environment kinds is served and registered."""

    service_name: str
    service_namespace: str
    service_port: int = 8001
    host: str = "::"
    """All interfaces by default."""
    port: int = 8001
    """0: any free port."""
    url: str = ""
    """Instead of the Service: where the API server finds the webhook when the operator runs outside the cluster."""
    authority_file: str = "/etc/tls/ca.crt"
    certificate_file: str = "/etc/tls/tls.crt"
    key_file: str = "/etc/tls/tls.key"
    reload_interval: float = 3600.0
    columns: tuple[Json, ...] = ()
    """Printer columns of v1alpha2 and v1 before the three of the contract."""


class EnvironmentsOptions(Struct, frozen=True, kw_only=True):
    """What an operator of environments is started with."""

    settings: Settings
    conversion: ConversionOptions | None = None
    """None: the definitions are neither registered nor converted here."""
