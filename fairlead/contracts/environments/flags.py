"""The flags of the environment contract (section 2.11), under its names and with its defaults."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.environments.certificate_specs import SPECS
from fairlead.contracts.environments.flag_values import COLUMNS, HTTPS, SIZES, TEMPLATE
from fairlead.contracts.environments.pod_values import AN_AFFINITY, SOME_RESOURCES, SOME_TOLERATIONS
from fairlead.contracts.environments.settings import CLOUDS, ORIGINS, URL_TEMPLATE
from fairlead.core.flag_kinds import (
    ADDRESS,
    BOOL,
    COUNT,
    EVERYWHERE,
    FILE,
    FILES,
    LABEL,
    LIST,
    MAP,
    MAYBE,
    NAME,
    PORT,
    RANGES,
    TEXT,
    TIME,
    Json,
    one_of,
)
from fairlead.core.flags import Flag, FlagKind

PULL_POLICIES = ("always", "if-not-present", "never")
LOG_FORMATS = ("text", "json")

# The webhook that converts between the versions of the kind.
WEBHOOK_ADDRESS = Flag(
    "webhook-listen-address", ADDRESS, (EVERYWHERE, 8001), "Address of the HTTPS server with /convert and /healthz."
)
SERVICE_NAME = Flag(
    "webhook-service-name", LABEL, "", "Service under which the API server finds it.", "the name of that Service"
)
SERVICE_NAMESPACE = Flag(
    "webhook-service-namespace",
    LABEL,
    "",
    "Namespace of that Service, of the operator and of its Lease.",
    "the namespace in which the operator runs",
)
SERVICE_PORT = Flag("webhook-service-port", PORT, 8001, "Port of that Service.")
WEBHOOK_URL = Flag(
    "webhook-url", HTTPS, "", "Where the API server finds it instead, when the operator runs outside of the cluster."
)
TLS_CA = Flag("tls-ca", FILE, "/etc/tls/ca.crt", "Authority of the webhook's certificate, PEM.")
TLS_CERT = Flag("tls-cert", FILE, "/etc/tls/tls.crt", "The webhook's certificate, PEM.")
TLS_KEY = Flag("tls-key", FILE, "/etc/tls/tls.key", "Its private key, PEM.")
RELOAD = Flag("webhook-cert-reload-interval", TIME, 3600.0, "Time after which these files are read again.")
COLUMNS_FLAG = Flag("additional-crd-columns", COLUMNS, (), "Further columns of the kind in tables.")

# Where it runs.
CLOUD = Flag(
    "cloud-provider",
    one_of(CLOUDS),
    "",
    f"Cloud around the cluster: {', '.join(CLOUDS)}.",
    f"one of {', '.join(CLOUDS)}",
)
REGION = Flag("region", TEXT, "", "Region of the cluster.", "the region of the cluster, such as us-east-1")
CHART = Flag("helm-chart-version", MAYBE, None, "Version of the chart that installed the operator.")
LABELS = Flag("orchestratord-pod-selector-labels", MAP, {}, "Labels of the operator's pods, for network policies.")
ACCOUNT = Flag("aws-account-id", MAYBE, None, "Account, required on aws.")
IAM_ROLE = Flag("environmentd-iam-role-arn", MAYBE, None, "Role of the environments' accounts, on aws.")
CONNECTION_ROLE = Flag("environmentd-connection-role-arn", MAYBE, None, "Role of their connections, on aws.")
TAGS = Flag("aws-secrets-controller-tags", LIST, (), "Tags of their secrets, on aws.")
ZONES = Flag("environmentd-availability-zones", LIST, (), "Availability zones for their replicas, on aws.")

# What environments are made of.
CONSOLE_TAG = Flag("console-image-tag-default", TEXT, "", "Tag of the console's image.", "a tag of the console's image")
CONSOLE_TAGS = Flag("console-image-tag-map", MAP, {}, "Tag of the console's image by that of environmentd's.")
BALANCERS = Flag("create-balancers", BOOL, False, "Run balancerd for every environment.")
CONSOLES = Flag("create-console", BOOL, False, "Run a console for every environment.")
SECRETS = Flag("secrets-controller", TEXT, "kubernetes", "What keeps an environment's secrets.")
POD_METRICS = Flag("collect-pod-metrics", BOOL, False, "Let environments collect metrics of their pods.")
SCRAPING = Flag("enable-prometheus-scrape-annotations", BOOL, False, "Annotate pods for Prometheus.")
CONTEXT = Flag("enable-security-context", BOOL, False, "Take from the pods every right that they do not need.")
INTERNAL_LOGGING = Flag("enable-internal-statement-logging", BOOL, False, "Log statements of internal users.")
NO_LOGGING = Flag("disable-statement-logging", BOOL, False, "Log no statements.")
SEGMENT_KEY = Flag("segment-api-key", MAYBE, None, "Key for Segment.")
SEGMENT_CLIENT = Flag("segment-client-side", BOOL, False, "Let browsers report to Segment too.")
PULL_POLICY = Flag(
    "image-pull-policy", one_of(PULL_POLICIES), "always", f"When images are pulled: {', '.join(PULL_POLICIES)}."
)
REPLICA_SIZES = Flag("environmentd-cluster-replica-sizes", SIZES, None, "Sizes of clusters, by name.")
ORIGINS_FLAG = Flag("environmentd-allowed-origins", LIST, ORIGINS, "Origins that browsers may ask from.")
PROXY = Flag("internal-console-proxy-url", TEXT, "https://console.materialize.com", "Where the internal console is.")
CERTIFICATES = Flag("default-certificate-specs", SPECS, None, "Certificates of environments that ask for no other.")
NO_LICENSE = Flag("disable-license-key-checks", BOOL, False, "Tell releases that can to check no license key.")
LICENSE_KEYS = Flag(
    "license-key-public-key",
    FILES,
    (),
    "Public key, PEM, of those who sign license keys; none: all are believed.",
)
VOLUME_CLASS = Flag("ephemeral-volume-class", NAME, None, "StorageClass of clusters' scratch volumes.")
SCHEDULER = Flag("scheduler-name", NAME, None, "Scheduler of the pods.")
TELEMETRY = Flag("opentelemetry-endpoint", MAYBE, None, "Where environments send their traces.")
SENTRY = Flag("sentry-dsn", MAYBE, None, "Where environments report their errors.")
SENTRY_ENVIRONMENT = Flag("sentry-environment", MAYBE, None, "What they call themselves there.")
URLS = Flag("environmentd-url-template", TEMPLATE, URL_TEMPLATE, "Where environmentd's HTTP server is reached.")

BOOTSTRAP_SIZES: tuple[Flag[str | None], ...] = tuple(
    Flag(f"bootstrap-{cluster}-cluster-replica-size", MAYBE, None, f"Size at first of the cluster {cluster}.")
    for cluster in (
        "default",
        *(f"builtin-{name}" for name in ("system", "probe", "support", "catalog-server", "analytics")),
    )
)
FACTORS: tuple[Flag[int | None], ...] = tuple(
    Flag(f"bootstrap-builtin-{name}-cluster-replication-factor", COUNT, None, f"Replicas at first of builtin-{name}.")
    for name in ("system", "probe", "support", "analytics")
)

INTERNAL = Flag("network-policies-internal-enabled", BOOL, False, "Policies between an environment's pods.")
INGRESS = Flag("network-policies-ingress-enabled", BOOL, False, "Policies for what reaches balancerd and console.")
INGRESS_RANGES = Flag("network-policies-ingress-cidrs", RANGES, (), "From where they may be reached.")
EGRESS = Flag("network-policies-egress-enabled", BOOL, False, "Policies for what environments reach.")
EGRESS_RANGES = Flag("network-policies-egress-cidrs", RANGES, (), "What they may reach.")

SQL_PORT = Flag("environmentd-sql-port", PORT, 6875, "Port of environmentd.")
HTTP_PORT = Flag("environmentd-http-port", PORT, 6876, "Port of environmentd.")
INTERNAL_SQL_PORT = Flag("environmentd-internal-sql-port", PORT, 6877, "Port of environmentd.")
INTERNAL_HTTP_PORT = Flag("environmentd-internal-http-port", PORT, 6878, "Port of environmentd.")
PUBSUB_PORT = Flag("environmentd-internal-persist-pubsub-port", PORT, 6879, "Port of environmentd.")
BALANCERD_SQL_PORT = Flag("balancerd-sql-port", PORT, 6875, "Port of balancerd.")
BALANCERD_HTTP_PORT = Flag("balancerd-http-port", PORT, 6876, "Port of balancerd.")
BALANCERD_INTERNAL_PORT = Flag("balancerd-internal-http-port", PORT, 8080, "Port of balancerd.")
ENVIRONMENTD_PORTS = (SQL_PORT, HTTP_PORT, INTERNAL_SQL_PORT, INTERNAL_HTTP_PORT, PUBSUB_PORT)
BALANCERD_PORTS = (BALANCERD_SQL_PORT, BALANCERD_HTTP_PORT, BALANCERD_INTERNAL_PORT)
CONSOLE_PORT = Flag("console-http-port", PORT, 8080, "Port of the console.")

PROGRAMS = ("environmentd", "clusterd", "balancerd", "console")


def _of_each(
    programs: tuple[str, ...], option: str, kind: FlagKind[Any], default: object, usage: str
) -> dict[str, Flag[Any]]:
    return {name: Flag(f"{name}-{option}", kind, default, usage.format(name)) for name in programs}


NODES: dict[str, Flag[dict[str, str]]] = _of_each(PROGRAMS, "node-selector", MAP, {}, "Labels of nodes for {}.")
AFFINITIES: dict[str, Flag[Json | None]] = _of_each(PROGRAMS, "affinity", AN_AFFINITY, None, "Affinity of {}.")
TOLERATIONS: dict[str, Flag[tuple[Json, ...]]] = _of_each(
    PROGRAMS, "toleration", SOME_TOLERATIONS, (), "Toleration of {}, or a list of them."
)
DEFAULT_RESOURCES: dict[str, Flag[Json | None]] = _of_each(
    ("environmentd", "balancerd", "console"), "default-resources", SOME_RESOURCES, None, "Resources of {} by default."
)

CONTRACT: tuple[Flag[Any], ...] = (
    CLOUD,
    REGION,
    CONSOLE_TAG,
    SERVICE_NAME,
    SERVICE_NAMESPACE,
    SERVICE_PORT,
    WEBHOOK_URL,
    WEBHOOK_ADDRESS,
    TLS_CA,
    TLS_CERT,
    TLS_KEY,
    RELOAD,
    COLUMNS_FLAG,
    CHART,
    LABELS,
    ACCOUNT,
    IAM_ROLE,
    CONNECTION_ROLE,
    TAGS,
    ZONES,
    CONSOLE_TAGS,
    BALANCERS,
    CONSOLES,
    SECRETS,
    POD_METRICS,
    SCRAPING,
    CONTEXT,
    INTERNAL_LOGGING,
    NO_LOGGING,
    SEGMENT_KEY,
    SEGMENT_CLIENT,
    PULL_POLICY,
    REPLICA_SIZES,
    *BOOTSTRAP_SIZES,
    *FACTORS,
    ORIGINS_FLAG,
    PROXY,
    CERTIFICATES,
    NO_LICENSE,
    LICENSE_KEYS,
    VOLUME_CLASS,
    SCHEDULER,
    *NODES.values(),
    *AFFINITIES.values(),
    *TOLERATIONS.values(),
    *DEFAULT_RESOURCES.values(),
    INTERNAL,
    INGRESS,
    INGRESS_RANGES,
    EGRESS,
    EGRESS_RANGES,
    SQL_PORT,
    HTTP_PORT,
    INTERNAL_SQL_PORT,
    INTERNAL_HTTP_PORT,
    PUBSUB_PORT,
    BALANCERD_SQL_PORT,
    BALANCERD_HTTP_PORT,
    BALANCERD_INTERNAL_PORT,
    CONSOLE_PORT,
    TELEMETRY,
    SENTRY,
    SENTRY_ENVIRONMENT,
    URLS,
)
"""What environments are made of and how the kind is served: the flags that are also keys of a section."""

# How the process itself runs.
METRICS_ADDRESS = Flag(
    "metrics-listen-address", ADDRESS, (EVERYWHERE, 3100), "Address of the HTTP server with /metrics."
)
IDENTITY = Flag("leader-election-identity", MAYBE, None, "Who holds the Lease; else HOSTNAME, else a random name.")
LOG_FILTER = Flag("log-filter", TEXT, "", "Level of the logs; wins over --startup-log-filter.")
STARTUP_FILTER = Flag(
    "startup-log-filter", TEXT, "info", "Level of the logs, or levels by target: warn,mz_orchestratord=debug."
)
LOG_FORMAT = Flag("log-format", one_of(LOG_FORMATS), "text", "Form of logs: text or json.")
KUBECONFIG = Flag("kubeconfig", FILE, "", "Kubeconfig to run with outside of a cluster; this program's own.")
KUBECONFIG_CONTEXT = Flag("context", TEXT, "", "Context of the kubeconfig; this program's own.")

FLAGS: tuple[Flag[Any], ...] = (
    *CONTRACT,
    METRICS_ADDRESS,
    IDENTITY,
    LOG_FILTER,
    STARTUP_FILTER,
    LOG_FORMAT,
    KUBECONFIG,
    KUBECONFIG_CONTEXT,
)
