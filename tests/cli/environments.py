"""The process `orchestratord` for tests: what must be given is given."""

from __future__ import annotations

import pytest

from fairlead.cli.flags.clap import parse
from fairlead.contracts.environments.options import PROGRAM, options_of
from fairlead.contracts.environments.settings import ConversionOptions, Settings
from fairlead.core.flags import FlagError
from fairlead.engine.options import OperatorOptions
from tests.operator_parts import environments_options

REQUIRED = {
    "cloud-provider": "local",
    "region": "kind",
    "console-image-tag-default": "v26.0.0",
    "webhook-service-name": "mz-operator",
    "webhook-service-namespace": "materialize",
}
PROGRAMS = ("environmentd", "clusterd", "balancerd", "console")
CONTRACT = {
    *REQUIRED,
    *("webhook-listen-address", "webhook-service-port", "tls-ca", "tls-cert", "tls-key"),
    *("webhook-cert-reload-interval", "metrics-listen-address", "helm-chart-version", "secrets-controller"),
    *("collect-pod-metrics", "enable-prometheus-scrape-annotations", "enable-security-context"),
    *("enable-internal-statement-logging", "disable-statement-logging", "segment-api-key", "segment-client-side"),
    *("image-pull-policy", "environmentd-cluster-replica-sizes", "default-certificate-specs"),
    *("orchestratord-pod-selector-labels", "console-image-tag-map", "create-balancers", "create-console"),
    *("aws-account-id", "environmentd-iam-role-arn", "environmentd-connection-role-arn"),
    *("aws-secrets-controller-tags", "environmentd-availability-zones", "ephemeral-volume-class", "scheduler-name"),
    *(f"{program}-{option}" for program in PROGRAMS for option in ("node-selector", "affinity", "toleration")),
    *(f"{program}-default-resources" for program in PROGRAMS if program != "clusterd"),
    *(f"network-policies-{which}-enabled" for which in ("internal", "ingress", "egress")),
    *(f"network-policies-{which}-cidrs" for which in ("ingress", "egress")),
    "bootstrap-default-cluster-replica-size",
    *(
        f"bootstrap-builtin-{which}-cluster-replica-size"
        for which in ("system", "probe", "support", "catalog-server", "analytics")
    ),
    *(f"bootstrap-builtin-{which}-cluster-replication-factor" for which in ("system", "probe", "support", "analytics")),
    *("environmentd-allowed-origins", "internal-console-proxy-url"),
    *(
        f"environmentd-{which}-port"
        for which in ("sql", "http", "internal-sql", "internal-http", "internal-persist-pubsub")
    ),
    *("balancerd-sql-port", "balancerd-http-port", "balancerd-internal-http-port", "console-http-port"),
    *("disable-license-key-checks", "additional-crd-columns"),
    *("opentelemetry-endpoint", "sentry-dsn", "sentry-environment"),
}
OWN = {
    *("webhook-url", "license-key-public-key", "environmentd-url-template", "leader-election-identity"),
    *("kubeconfig", "context", "log-filter", "startup-log-filter", "log-format"),
}


def options(*words: str, **variables: str) -> OperatorOptions:
    """With whatever must be given, unless it is."""
    given = {word[2:].partition("=")[0] for word in words}
    rest = [f"--{name}={value}" for name, value in REQUIRED.items() if name not in given]
    return options_of(parse(PROGRAM.name, PROGRAM.flags, [*words, *rest], variables, PROGRAM.variables), variables)


def settings(*words: str, **variables: str) -> Settings:
    return environments_options(options(*words, **variables)).settings


def conversion(*words: str, **variables: str) -> ConversionOptions:
    made = environments_options(options(*words, **variables)).conversion
    assert made is not None
    return made


def sentence(*words: str, **variables: str) -> str:
    with pytest.raises(FlagError) as told:
        options(*words, **variables)
    return str(told.value)
