"""`rollout-operator`: the zone contract's process, with exactly its flags, their checks and its exit codes."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fairlead.cli import exits
from fairlead.cli.flags.go import BOOL, DURATION, FLOAT, INT, LIST, PROMETHEUS, STRING, Flag, Leave, Parsed, parse
from fairlead.core.names import is_name
from fairlead.engine.serving.unchecked_paths import UNCHECKED_PATHS
from kubeloop.durations import format_go

if TYPE_CHECKING:
    from fairlead.contracts.zones.settings import Settings
    from fairlead.engine.options import OperatorOptions, WebhookOptions
    from fairlead.engine.serving.cluster_label import ClusterLabel

PROCESS = "rollout-operator"

LEVELS = ("debug", "info", "warn", "error")
FORMATS = ("logfmt", "json")

DNS_NAME = "set it to a name in DNS (a to z, 0 to 9, - and . inside)"
OBJECT_NAME = "a name has up to 253 of a to z, 0 to 9, - and . inside"
MOST_IN_ORGANISATION = 64
NO_TIMEOUT = 86400.0
"""Seconds: a client time-out of 0 or less asks for none, and no call of the operator lives for a day."""

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the operator until it is told to stop; the exit code."""
    try:
        given = parse(PROCESS, FLAGS, sys.argv[1:] if arguments is None else arguments)
        options = options_of(given)
    except Leave as leave:
        with suppress(BrokenPipeError):  # a reader that has seen enough of the usage does not change the code
            print(leave.text, file=sys.stderr)
        return leave.code
    from fairlead.cli.commands.operator import operate
    from fairlead.engine.logs import configure

    log = configure(options.log_level, options.log_format)
    for text in warnings(given):
        log.warning("argument not used", reason=text)
    return operate(options)


def options_of(given: Parsed) -> OperatorOptions:
    """What the flags come down to; raises Leave with one line that says what to change."""
    problem = next(problems(given), None)
    if problem is not None:
        raise Leave(exits.ERROR, problem)
    from fairlead.contracts import contract
    from fairlead.engine.options import OperatorOptions, PartOptions

    timeout = given[CLIENT_TIMEOUT]
    return OperatorOptions(
        process=PROCESS,
        namespaces=(given[NAMESPACE],),
        parts=(PartOptions(contract("zones"), _settings(given)),),
        log_level=given[LOG_LEVEL],
        log_format=given[LOG_FORMAT],
        server_port=given[PORT],
        api_url=given[API_URL],
        config_file=given[CONFIG_FILE],
        by_contract=True,
        interval=max(given[INTERVAL], 0.0) if given.has(INTERVAL) else None,
        client_timeout=timeout if timeout > 0 else NO_TIMEOUT,
        qps=max(given[CLIENT_QPS], 0.0) if given.has(CLIENT_QPS) else 0.0,
        burst=given[CLIENT_BURST],
        lease=None,
        identity=identity(),
        webhooks=_webhooks(given) if given[TLS] else None,
        cluster=_cluster(given) if given[VALIDATION] else None,
    )


def _settings(given: Parsed) -> Settings:
    from fairlead.contracts.zones.settings import Settings

    pods = given[PODS_TIMEOUT]
    return Settings(
        cluster_domain=given[CLUSTER_DOMAIN],
        pods_timeout=pods if pods > 0 else NO_TIMEOUT,
        request_timeout=given[TLS_TIMEOUT],
        use_zone_tracker=given[ZONE_TRACKER],
        tracker_name=given[ZONE_TRACKER_MAP],
        stamp_timeout=given[READY_PATCH_TIMEOUT],
    )


def _webhooks(given: Parsed) -> WebhookOptions:
    from fairlead.engine.options import WebhookOptions

    own = not given[SELF_SIGNED]
    return WebhookOptions(
        port=given[TLS_PORT],
        certificate_file=given[TLS_CERT] if own else "",
        key_file=given[TLS_KEY] if own else "",
        secret=given[SELF_SIGNED_SECRET],
        dns_name=given[SELF_SIGNED_DNS],
        organisation=given[SELF_SIGNED_ORG],
        lifetime=given[SELF_SIGNED_EXPIRATION],
        injects=given[UPDATE_CA_BUNDLE],
    )


def _cluster(given: Parsed) -> ClusterLabel:
    from fairlead.engine.serving.cluster_label import ClusterLabel

    return ClusterLabel(given[NAMESPACE], given[VALIDATION_SOFT], given[VALIDATION_PATHS], given[VALIDATION_AGENTS])


def problems(given: Parsed) -> Iterator[str]:
    """What is wrong with the values, the first of which ends the process."""
    yield from _base_problems(given)
    yield from _zone_problems(given)
    if given[TLS]:
        yield from _tls_problems(given)


def _base_problems(given: Parsed) -> Iterator[str]:
    if given[LOG_LEVEL] not in LEVELS:
        yield f'-log.level is "{given[LOG_LEVEL]}": set it to {_one_of(LEVELS)}'
    if given[LOG_FORMAT] not in FORMATS:
        yield f'-log.format is "{given[LOG_FORMAT]}": set it to {_one_of(FORMATS)}'
    if not given[NAMESPACE]:
        yield "-kubernetes.namespace is missing: set it to the namespace whose StatefulSets are to be rolled"
    if bool(given[API_URL]) != bool(given[CONFIG_FILE]):
        missing, present = (API_URL, CONFIG_FILE) if given[CONFIG_FILE] else (CONFIG_FILE, API_URL)
        yield f"-{present.name} is set without -{missing.name}: set both, or none of them inside a cluster"
    for port in (PORT, TLS_PORT):
        if not 0 <= given[port] <= 65535:
            yield f"-{port.name} is {given[port]}: set it to a port from 0 to 65535"
    qps = given[CLIENT_QPS]
    if not math.isfinite(qps):
        yield f"-{CLIENT_QPS.name} is {qps}: set it to a number, or to 0 for no limit"
    if qps > 0 and given[CLIENT_BURST] < 1:
        yield f"-{CLIENT_BURST.name} is {given[CLIENT_BURST]}: set it to 1 or more, or -{CLIENT_QPS.name} to 0"


def _zone_problems(given: Parsed) -> Iterator[str]:
    if not given[CLUSTER_DOMAIN]:
        yield f'-{CLUSTER_DOMAIN.name} is empty: set it to the domain of the cluster, such as "cluster.local."'
    if given[ZONE_TRACKER] and not given[ZONE_TRACKER_MAP]:
        yield f"-{ZONE_TRACKER_MAP.name} is empty: name a ConfigMap, or leave out -{ZONE_TRACKER.name}"
    elif given[ZONE_TRACKER] and not is_name(given[ZONE_TRACKER_MAP]):
        yield f'-{ZONE_TRACKER_MAP.name} is "{given[ZONE_TRACKER_MAP]}": {OBJECT_NAME}'
    if given[VALIDATION_SOFT] and not given[VALIDATION]:
        yield f"-{VALIDATION_SOFT.name} needs -{VALIDATION.name}: set both, or none of them"
    for timeout in (TLS_TIMEOUT, READY_PATCH_TIMEOUT):
        if given[timeout] <= 0:
            yield f"-{timeout.name} is {format_go(given[timeout])}: set it to a time longer than 0"
    for pattern in given[VALIDATION_AGENTS]:
        try:
            re.compile(pattern)
        except re.error as error:
            yield f'-{VALIDATION_AGENTS.name} holds "{pattern}", which is no regular expression ({error}): correct it'


def _tls_problems(given: Parsed) -> Iterator[str]:
    if given[SELF_SIGNED]:
        yield from _self_signed_problems(given)
        return
    for file in (TLS_CERT, TLS_KEY):
        if not given[file]:
            yield f"-{file.name} is missing: set it, or let the certificate be made with -{SELF_SIGNED.name}"
    if given[UPDATE_CA_BUNDLE]:
        yield (
            f"-{UPDATE_CA_BUNDLE.name} needs a self-signed certificate:"
            f" set -{UPDATE_CA_BUNDLE.name}=false for a certificate of your own"
        )


def _self_signed_problems(given: Parsed) -> Iterator[str]:
    if given[SELF_SIGNED_EXPIRATION] <= 0:
        yield f"-{SELF_SIGNED_EXPIRATION.name} is 0: set it to a time longer than 0"
    name, organisation = given[SELF_SIGNED_DNS], given[SELF_SIGNED_ORG]
    if name and not is_name(name):
        yield f'-{SELF_SIGNED_DNS.name} is "{name}": {DNS_NAME}'
    if not is_name(given[SELF_SIGNED_SECRET]):
        yield f'-{SELF_SIGNED_SECRET.name} is "{given[SELF_SIGNED_SECRET]}": {OBJECT_NAME}'
    if not 1 <= len(organisation) <= MOST_IN_ORGANISATION:
        yield f"-{SELF_SIGNED_ORG.name} has {len(organisation)} characters: a certificate takes 1 to 64"


def warnings(given: Parsed) -> Iterator[str]:
    """One sentence for each word and each flag that is not used."""
    if given.rest:
        yield f'"{given.rest[0]}" is no flag: it and everything after it is ignored; write booleans as -flag=true'
    if given.has(CLIENT_BURST) and not given.has(CLIENT_QPS):
        yield f"-{CLIENT_BURST.name} is given without -{CLIENT_QPS.name}: nothing is limited; give both for a limit"


def _one_of(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def identity() -> str:
    """Of this process among all, for a Lease."""
    import socket
    import uuid

    return f"{socket.gethostname()}_{uuid.uuid4()}"


if __name__ == "__main__":
    sys.exit(main())
