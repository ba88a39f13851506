"""The flags of the zone contract, under its names and with its defaults."""

from __future__ import annotations

from typing import Any

from fairlead.core.flags import Flag
from fairlead.core.go_flag_kinds import BOOL, DURATION, FLOAT, INT, LIST, PROMETHEUS, STRING
from fairlead.core.unchecked_paths import UNCHECKED_PATHS

LOG_LEVEL = Flag("log.level", STRING, "debug", "The log level: debug, info, warn or error.")
LOG_FORMAT = Flag("log.format", STRING, "logfmt", "The log format: logfmt or json.")
PORT = Flag("server.port", INT, 8001, "Port of the HTTP server with /ready and /metrics.")
API_URL = Flag("kubernetes.api-url", STRING, "", "URL of the Kubernetes API server; empty in a cluster.")
CONFIG_FILE = Flag("kubernetes.config-file", STRING, "", "Path of a kubeconfig file; empty in a cluster.")
NAMESPACE = Flag("kubernetes.namespace", STRING, "", "The namespace whose StatefulSets are rolled. Required.")
CLIENT_TIMEOUT = Flag("kubernetes.client-timeout", DURATION, 300.0, "Time-out of calls to the Kubernetes API.")
CLIENT_QPS = Flag(
    "kubernetes.client-qps",
    FLOAT,
    5.0,
    "Calls per second to each API group, live reads and Events not counted; no limit when 0 or not given.",
)
CLIENT_BURST = Flag(
    "kubernetes.client-burst", INT, 10, "Calls to an API group that may exceed the rate of client-qps at once."
)
CLUSTER_DOMAIN = Flag("kubernetes.cluster-domain", STRING, "cluster.local.", "Domain of the cluster's DNS names.")
INTERVAL = Flag(
    "reconcile.interval",
    DURATION,
    5.0,
    "Least time between two passes of a group; when not given, a pass follows the facts without a pause.",
)
TLS = Flag("server-tls.enabled", BOOL, False, "Serve the webhooks over HTTPS.")
TLS_PORT = Flag("server-tls.port", INT, 8443, "Port of the HTTPS server.")
TLS_CERT = Flag("server-tls.cert-file", STRING, "", "Path of the certificate when it is not self-signed.")
TLS_KEY = Flag("server-tls.key-file", STRING, "", "Path of the private key when it is not self-signed.")
TLS_TIMEOUT = Flag("server-tls.request-timeout", DURATION, 10.0, "Time-out of a webhook request.")
SELF_SIGNED = Flag("server-tls.self-signed-cert.enabled", BOOL, True, "Make and keep a self-signed certificate.")
SELF_SIGNED_SECRET = Flag(
    "server-tls.self-signed-cert.secret-name",
    STRING,
    "rollout-operator-self-signed-certificate",
    "Secret that holds the self-signed certificate.",
)
SELF_SIGNED_DNS = Flag(
    "server-tls.self-signed-cert.dns-name",
    STRING,
    "",
    "DNS name in the self-signed certificate; empty for rollout-operator.<namespace>.svc.",
)
SELF_SIGNED_ORG = Flag(
    "server-tls.self-signed-cert.org", STRING, "Grafana Labs", "Organisation in the self-signed certificate."
)
SELF_SIGNED_EXPIRATION = Flag(
    "server-tls.self-signed-cert.expiration", PROMETHEUS, 31536000.0, "How long the self-signed certificate is valid."
)
UPDATE_CA_BUNDLE = Flag(
    "webhooks.update-ca-bundle", BOOL, True, "Write the certificate's CA into the labelled webhook configurations."
)
ZONE_TRACKER = Flag("use-zone-tracker", BOOL, False, "Keep the times of downscales in a ConfigMap.")
ZONE_TRACKER_MAP = Flag(
    "zone-tracker.config-map-name", STRING, "rollout-operator-zone-tracker", "ConfigMap of the zone tracker."
)
VALIDATION = Flag("server.cluster-validation.http.enabled", BOOL, False, "Refuse requests meant for other clusters.")
VALIDATION_SOFT = Flag(
    "server.cluster-validation.http.soft-validation", BOOL, False, "Only count and log such requests."
)
VALIDATION_PATHS = Flag(
    "server.cluster-validation.http.excluded-paths",
    LIST,
    UNCHECKED_PATHS,
    "Paths that are not checked, separated by commas.",
)
VALIDATION_AGENTS = Flag(
    "server.cluster-validation.http.excluded-user-agents",
    LIST,
    (),
    "Regular expressions of user agents that are not checked, separated by commas.",
)
PODS_TIMEOUT = Flag("pods.client-timeout", DURATION, 5.0, "Time-out of calls to pods.")
READY_PATCH_TIMEOUT = Flag(
    "zpdb.pod-ready-annotation-patch-timeout", DURATION, 5.0, "Time-out of writing a pod's ready time."
)

FLAGS: tuple[Flag[Any], ...] = (
    LOG_LEVEL,
    LOG_FORMAT,
    PORT,
    API_URL,
    CONFIG_FILE,
    NAMESPACE,
    CLIENT_TIMEOUT,
    CLIENT_QPS,
    CLIENT_BURST,
    INTERVAL,
    CLUSTER_DOMAIN,
    TLS,
    TLS_PORT,
    TLS_CERT,
    TLS_KEY,
    TLS_TIMEOUT,
    SELF_SIGNED,
    SELF_SIGNED_SECRET,
    SELF_SIGNED_DNS,
    SELF_SIGNED_ORG,
    SELF_SIGNED_EXPIRATION,
    UPDATE_CA_BUNDLE,
    ZONE_TRACKER,
    ZONE_TRACKER_MAP,
    VALIDATION,
    VALIDATION_SOFT,
    VALIDATION_PATHS,
    VALIDATION_AGENTS,
    PODS_TIMEOUT,
    READY_PATCH_TIMEOUT,
)
