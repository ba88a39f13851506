"""The flags of `vela-core`, under the names of section 2.13 and with its defaults."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.flags import Flag
from fairlead.core.go_flag_kinds import BOOL, DURATION, FLOAT, INT, STRING

USUAL = PlanSettings()

WEBHOOKS = Flag("use-webhook", BOOL, False, "Whether to answer the API server's reviews.")
WEBHOOK_PORT = Flag("webhook-port", INT, 9443, "Port of the webhooks.")
CERTIFICATES = Flag(
    "webhook-cert-dir",
    STRING,
    "/k8s-webhook-server/serving-certs",
    "Folder with the certificate of the webhooks: tls.crt and tls.key.",
)
WEBHOOK_SECRET = Flag(
    "webhook-secret",
    STRING,
    "",
    "Secret in which the operator keeps a certificate of its own, instead of -webhook-cert-dir.",
)
WEBHOOK_SERVICE = Flag(
    "webhook-service", STRING, "vela-core-webhook", "Service of the webhooks, for the name in that certificate."
)
METRICS = Flag("metrics-addr", STRING, ":8080", "Address of the metrics; 0 for none.")
HEALTH = Flag("health-addr", STRING, ":9440", "Address of the probes; 0 for none.")
ELECTS = Flag("enable-leader-election", BOOL, False, "Whether to act only while holding a Lease.")
ELECTION_NAMESPACE = Flag(
    "leader-election-namespace", STRING, "", "Namespace of that Lease; empty: the operator's own."
)
LEASE_DURATION = Flag(
    "leader-election-lease-duration", DURATION, 15.0, "After how long others may take a Lease that is not renewed."
)
RENEW_DEADLINE = Flag(
    "leader-election-renew-deadline", DURATION, 10.0, "For how long the holder tries to renew before it stops."
)
RETRY_PERIOD = Flag("leader-election-retry-period", DURATION, 2.0, "Between two attempts to take or renew the Lease.")
REVISION_LIMIT = Flag("revision-limit", INT, USUAL.revision_limit, "Revisions of a component that are kept.")
APPLICATION_LIMIT = Flag(
    "application-revision-limit",
    INT,
    USUAL.application_revision_limit,
    "Inactive ApplicationConfigurations that are kept.",
)
CONCURRENT = Flag("concurrent-reconciles", INT, USUAL.concurrent, "Rollouts that are worked on at once.")
SYSTEM_NAMESPACE = Flag(
    "system-definition-namespace",
    STRING,
    USUAL.system_namespace,
    "Namespace of definitions that an application's own lacks.",
)
METRICS_SERVER = Flag("metrics-server", STRING, "", "Address of the Prometheus that built-in metrics are read from.")
MESH = Flag("mesh-provider", STRING, "", "Whose series built-in metrics are: istio, linkerd, or empty for pods.")
SLACK_URL = Flag("slack-url", STRING, "", "Address of a chat that is told of every rollout.")
SLACK_USER = Flag("slack-user", STRING, USUAL.slack_user, "Who messages to it come from.")
SLACK_CHANNEL = Flag("slack-channel", STRING, USUAL.slack_channel, "Channel that messages to it go to.")
EVENT_WEBHOOK = Flag("event-webhook", STRING, "", "Address that is told of every rollout.")
RECONCILE_TIMEOUT = Flag(
    "reconcile-timeout",
    DURATION,
    USUAL.reconcile_timeout,
    "How long a pass may take, unless its webhooks may take longer.",
)
DEBUG = Flag("log-debug", BOOL, False, "Whether to log in detail.")
RESYNC = Flag("informer-re-sync-interval", DURATION, 36000.0, "Between two looks at everything.")
QPS = Flag("kube-api-qps", FLOAT, 50.0, "Calls per second to the Kubernetes API; no limit when 0.")
BURST = Flag("kube-api-burst", INT, 100, "Calls that may exceed the rate at once.")
REGISTERS = Flag("register-kinds", BOOL, True, "Whether the leader registers the kinds that it serves at its start.")
KUBECONFIG = Flag("kubeconfig", STRING, "", "Path of a kubeconfig file; not needed inside a cluster.")

_NOTHING = "Has no effect."
UNUSED: tuple[Flag[Any], ...] = (
    Flag("log-file-path", STRING, "", _NOTHING),
    Flag("log-file-max-size", INT, 1024, _NOTHING),
    Flag("log-retain-date", INT, 7, _NOTHING),
    Flag("log-compress", BOOL, True, _NOTHING),
    Flag("apply-once-only", STRING, "false", _NOTHING),
    Flag("disable-caps", STRING, "", _NOTHING),
    Flag("storage-driver", STRING, "Local", _NOTHING),
    Flag("custom-revision-hook-url", STRING, "", _NOTHING),
    Flag("use-trait-injector", BOOL, False, _NOTHING),
    Flag("long-wait", DURATION, 60.0, _NOTHING),
    Flag("depend-check-wait", DURATION, 30.0, _NOTHING),
    Flag("definition-revision-limit", INT, 20, _NOTHING),
    Flag("app-config-installed", BOOL, True, _NOTHING),
    Flag("autogen-workload-definition", BOOL, True, _NOTHING),
    Flag("oam-spec-ver", STRING, "v0.3", _NOTHING),
    Flag("pprof-addr", STRING, "", _NOTHING),
    Flag("perf-enabled", BOOL, False, _NOTHING),
    Flag("enable-cluster-gateway", BOOL, False, _NOTHING),
    Flag("leader-election-resource-lock", STRING, "configmapsleases", _NOTHING),
    Flag("application-re-sync-period", DURATION, 300.0, _NOTHING),
    Flag("max-workflow-wait-backoff-time", INT, 60, _NOTHING),
    Flag("max-workflow-failed-backoff-time", INT, 300, _NOTHING),
    Flag("max-workflow-step-error-retry-times", INT, 10, _NOTHING),
)
"""Taken because charts give them, the last four those of 1.2 and later; each is told in one warning."""

FLAGS: tuple[Flag[Any], ...] = (
    WEBHOOKS,
    WEBHOOK_PORT,
    CERTIFICATES,
    WEBHOOK_SECRET,
    WEBHOOK_SERVICE,
    METRICS,
    HEALTH,
    ELECTS,
    ELECTION_NAMESPACE,
    LEASE_DURATION,
    RENEW_DEADLINE,
    RETRY_PERIOD,
    REVISION_LIMIT,
    APPLICATION_LIMIT,
    CONCURRENT,
    SYSTEM_NAMESPACE,
    METRICS_SERVER,
    MESH,
    SLACK_URL,
    SLACK_USER,
    SLACK_CHANNEL,
    EVENT_WEBHOOK,
    RECONCILE_TIMEOUT,
    DEBUG,
    RESYNC,
    QPS,
    BURST,
    REGISTERS,
    KUBECONFIG,
    *UNUSED,
)
