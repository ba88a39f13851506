"""The flags of `lws-manager`, under the names of section 2.11 and with its defaults."""

from __future__ import annotations

import re
from typing import Any

from fairlead.contracts.leaderworker.kinds import LEASE
from fairlead.core.flags import Flag, FlagKind
from fairlead.core.go_flag_kinds import BOOL, DURATION, FLOAT, INT, STRING

LEVELS = ("debug", "info", "error", "panic")
ENCODERS = ("json", "console")
STACK_LEVELS = ("info", "error", "panic")
TIME_ENCODINGS = ("epoch", "millis", "nano", "nanos", "iso8601", "rfc3339", "rfc3339nano")
_POSITIVE = re.compile(r"\+?[0-9]{1,18}")


def _level(texts: tuple[str, ...]) -> str:
    """Any number above 0 is a debug level of its own upstream, and debug here."""
    text = texts[-1]
    if text.lower() in LEVELS:
        return text.lower()
    if _POSITIVE.fullmatch(text) and int(text) > 0:
        return "debug"
    raise ValueError(f'invalid log level "{text}"')


def _word(what: str, known: tuple[str, ...], default: str) -> FlagKind[str]:
    def read(texts: tuple[str, ...]) -> str:
        if texts[-1].lower() not in known:
            raise ValueError(f'invalid {what} "{texts[-1]}"')
        return texts[-1].lower()

    return FlagKind("value", read, str, zero=default)


LEVEL: FlagKind[str] = FlagKind("value", _level, str, zero="debug")

CONFIG = Flag("config", STRING, "", "File with the configuration; flags that are given win over it.")
METRICS = Flag(
    "metrics-bind-address", STRING, ":8443", "Address of the metrics; 0 for none. Better set in the configuration file."
)
PROBES = Flag(
    "health-probe-bind-address",
    STRING,
    ":8081",
    "Address of the probes; 0 for none. Better set in the configuration file.",
)
QPS = Flag("kube-api-qps", FLOAT, 500.0, "Calls per second to each group of the Kubernetes API; no limit when 0.")
BURST = Flag("kube-api-burst", INT, 500, "Calls to an API group that may exceed the rate at once.")
ELECTS = Flag("leader-elect", BOOL, True, "Whether to act only while holding a Lease, so that one replica acts.")
LEASE_DURATION = Flag(
    "leader-elect-lease-duration", DURATION, 15.0, "After how long others may take a Lease that is not renewed."
)
RENEW_DEADLINE = Flag(
    "leader-elect-renew-deadline", DURATION, 10.0, "For how long the holder tries to renew before it stops."
)
RETRY_PERIOD = Flag("leader-elect-retry-period", DURATION, 2.0, "Between two attempts to take or renew the Lease.")
LOCK = Flag("leader-elect-resource-lock", STRING, "leases", "Kind of the object that is held; there is only leases.")
LEASE_NAME = Flag("leader-elect-resource-name", STRING, LEASE, "Name of the Lease, in the namespace of the operator.")
KUBECONFIG = Flag("kubeconfig", STRING, "", "Path of a kubeconfig file; not needed inside a cluster.")
LOG_LEVEL = Flag("zap-log-level", LEVEL, "debug", "debug, info, error, panic, or a number above 0, which means debug.")
ENCODER = Flag("zap-encoder", _word("encoder value", ENCODERS, "console"), "console", "How to log: json or console.")
DEVELOPMENT = Flag("zap-devel", BOOL, True, "Has no effect.")
STACK_LEVEL = Flag(
    "zap-stacktrace-level",
    _word("stacktrace level", STACK_LEVELS, "warn"),
    "warn",
    "info, error or panic; has no effect.",
)
TIME_ENCODING = Flag(
    "zap-time-encoding",
    _word("time-encoding value", TIME_ENCODINGS, "epoch"),
    "epoch",
    "epoch, millis, nano, iso8601, rfc3339 or rfc3339nano; has no effect.",
)
VERSION = Flag("version", BOOL, False, "Print the version and exit.")
HISTORY = Flag("lws-revision-history-limit", INT, 0, "Old revisions that are kept for undoing.")
BUDGETS = Flag(
    "lws-disruption-budgets", BOOL, False, "Whether to keep PodDisruptionBudgets for sets that ask for a budget."
)
EVICTIONS = Flag(
    "lws-eviction-webhook",
    BOOL,
    False,
    "Whether the webhook of evictions is registered, so that it and no PodDisruptionBudget bounds them.",
)

FLAGS: tuple[Flag[Any], ...] = (
    CONFIG,
    METRICS,
    PROBES,
    QPS,
    BURST,
    ELECTS,
    LEASE_DURATION,
    RENEW_DEADLINE,
    RETRY_PERIOD,
    LOCK,
    LEASE_NAME,
    KUBECONFIG,
    LOG_LEVEL,
    ENCODER,
    DEVELOPMENT,
    STACK_LEVEL,
    TIME_ENCODING,
    VERSION,
    HISTORY,
    BUDGETS,
    EVICTIONS,
)
