"""`fairlead operator`: the operator against a cluster, until a signal ends it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.flags.common import add_cluster

if TYPE_CHECKING:
    from fairlead.contracts.zones.settings import Settings
    from fairlead.engine.options import OperatorOptions, WebhookOptions
    from fairlead.engine.serving.cluster_label import ClusterLabel

PARTS = ("zones", "environments")
LEASE = "fairlead-operator"
PORT = 8081
WEBHOOKS_PORT = 8443
WEBHOOKS_TIMEOUT = "10s"
CERTIFICATE_SECRET = "fairlead-webhooks"  # noqa: S105  (a name)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser, several_namespaces=True)
    parser.add_argument(
        "--parts", default="zones", help=f"contracts to serve, separated by commas: {', '.join(PARTS)} (default zones)"
    )
    parser.add_argument("--config", metavar="FILE", default="", help="settings of the parts, a section for each, YAML")
    parser.add_argument("--interval", metavar="DURATION", help="least time between two passes of a rollout")
    parser.add_argument("--port", type=int, default=PORT, help="port of /ready and /metrics (default %(default)s)")
    parser.add_argument(
        "--lease", default=LEASE, metavar="NAME", help="Lease to hold while acting (default %(default)s)"
    )
    parser.add_argument("--no-lease", action="store_true", help="act without a Lease: only where one replica runs")
    parser.add_argument("--qps", type=float, default=0.0, help="calls per second to each API group; default no limit")
    parser.add_argument("--burst", type=int, default=10, help="calls that may exceed the rate at once")
    _add_webhooks(parser)
    parser.add_argument("--cluster-domain", help="domain of pods' DNS names, after svc. (default cluster.local.)")
    parser.add_argument("--pods-timeout", metavar="DURATION", help="time for a call to a pod (default 5s)")
    parser.add_argument("--zone-tracker", metavar="NAME", help="ConfigMap that keeps times of downscales")
    parser.add_argument(
        "--phased-deployments",
        action="store_true",
        default=None,
        help="hold labelled Deployments until those they depend on have rolled out; needs --webhooks",
    )
    parser.add_argument("--log-level", choices=("debug", "info", "warn", "error"), default="info")
    parser.add_argument("--log-format", choices=("logfmt", "json"), default="logfmt")


def _add_webhooks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--webhooks", action="store_true", help="serve the webhooks of the parts over HTTPS")
    parser.add_argument(
        "--webhooks-port", type=int, default=WEBHOOKS_PORT, metavar="PORT", help="port of them (default %(default)s)"
    )
    parser.add_argument(
        "--webhooks-timeout",
        metavar="DURATION",
        default=WEBHOOKS_TIMEOUT,
        help="time for a webhook request; at most the timeoutSeconds of the registrations (default %(default)s)",
    )
    parser.add_argument(
        "--certificate-secret",
        metavar="NAME",
        default=CERTIFICATE_SECRET,
        help="Secret of the certificate that is made and renewed (default %(default)s)",
    )
    parser.add_argument(
        "--certificate-dns-name", metavar="NAME", default="", help="DNS name in it (default fairlead.<namespace>.svc)"
    )
    parser.add_argument("--certificate-file", metavar="FILE", default="", help="certificate made by others, PEM")
    parser.add_argument("--certificate-key-file", metavar="FILE", default="", help="its key, PEM")
    parser.add_argument(
        "--certificate-authority-file", metavar="FILE", default="", help="its authority, PEM; for conversion webhooks"
    )
    parser.add_argument(
        "--no-ca-injection", action="store_true", help="leave the caBundle of webhook registrations to others"
    )
    parser.add_argument(
        "--cluster-label", metavar="LABEL", default="", help="refuse requests whose header X-Cluster says otherwise"
    )
    parser.add_argument("--cluster-label-soft", action="store_true", help="only count and log such requests")


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.main import UsageError

    try:
        options = options_of(arguments)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return operate(options)


def options_of(arguments: argparse.Namespace) -> OperatorOptions:
    """What the arguments come down to; raises ValueError with a sentence."""
    from fairlead.cli.commands.rollout_operator import identity
    from fairlead.cli.flags.common import wrong_namespaces
    from fairlead.cli.flags.config_file import environments_of, fill_zones, read
    from fairlead.contracts import contract
    from fairlead.engine.options import OperatorOptions, PartOptions

    if wrong := wrong_namespaces(arguments):
        raise ValueError(wrong)
    parts = tuple(dict.fromkeys(part.strip() for part in arguments.parts.split(",")))
    if unknown := [part for part in parts if part not in PARTS]:
        raise ValueError(f'--parts names "{unknown[0]}": this release has {", ".join(PARTS)}')
    sections = read(arguments.config, parts)
    fill_zones(arguments, sections.get("zones", {}), arguments.config)
    environments = environments_of(arguments, sections.get("environments")) if "environments" in parts else None
    settings = {"zones": _settings(arguments), "environments": environments}
    interval = _seconds("--interval", arguments.interval) if arguments.interval else None
    for name, port in (("--port", arguments.port), ("--webhooks-port", arguments.webhooks_port)):
        if not 0 <= port <= 65535:
            raise ValueError(f"{name} is {port}: set it to a port from 0 to 65535")
    if bool(arguments.certificate_file) != bool(arguments.certificate_key_file):
        raise ValueError("--certificate-file and --certificate-key-file belong together: give both, or none of them")
    if arguments.qps > 0 and arguments.burst < 1:
        raise ValueError(f"--burst is {arguments.burst}: set it to 1 or more, or leave out --qps")
    return OperatorOptions(
        process="fairlead",
        namespaces=() if arguments.all_namespaces else tuple(dict.fromkeys(arguments.namespace)),
        parts=tuple(PartOptions(contract(part), settings[part]) for part in parts),
        log_level=arguments.log_level,
        log_format=arguments.log_format,
        server_port=arguments.port,
        config_file=arguments.kubeconfig,
        context=arguments.context,
        impersonate=arguments.impersonate,
        interval=interval,
        qps=arguments.qps,
        burst=arguments.burst,
        lease=None if arguments.no_lease else arguments.lease,
        identity=identity(),
        webhooks=_webhooks(arguments) if arguments.webhooks else None,
        cluster=_cluster(arguments),
    )


def _seconds(name: str, text: str, *, positive: bool = False) -> float:
    from kubeloop.durations import parse_go

    try:
        seconds = parse_go(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    if seconds < 0 or (positive and not seconds):
        raise ValueError(f"{name} is {text}: set it to {'a time longer than 0s' if positive else '0s or longer'}")
    return seconds


def _settings(arguments: argparse.Namespace) -> Settings:
    from fairlead.cli.commands.rollout_operator import OBJECT_NAME
    from fairlead.contracts.zones.settings import Settings
    from fairlead.core.names import is_name

    if arguments.zone_tracker and not is_name(arguments.zone_tracker):
        raise ValueError(f'--zone-tracker is "{arguments.zone_tracker}": {OBJECT_NAME}')
    if not arguments.cluster_domain:
        raise ValueError('--cluster-domain is empty: set it to the domain of the cluster, such as "cluster.local."')
    if arguments.phased_deployments and not arguments.webhooks:
        raise ValueError("--phased-deployments needs --webhooks: a webhook is what holds a Deployment")
    return Settings(
        cluster_domain=arguments.cluster_domain,
        pods_timeout=_seconds("--pods-timeout", arguments.pods_timeout, positive=True),
        request_timeout=_seconds("--webhooks-timeout", arguments.webhooks_timeout, positive=True),
        use_zone_tracker=bool(arguments.zone_tracker),
        tracker_name=arguments.zone_tracker,
        phased_deployments=arguments.phased_deployments,
    )


def _webhooks(arguments: argparse.Namespace) -> WebhookOptions:
    from fairlead.cli.commands.rollout_operator import DNS_NAME, OBJECT_NAME
    from fairlead.core.names import is_name
    from fairlead.engine.options import WebhookOptions

    if arguments.certificate_dns_name and not is_name(arguments.certificate_dns_name):
        raise ValueError(f'--certificate-dns-name is "{arguments.certificate_dns_name}": {DNS_NAME}')
    if not is_name(arguments.certificate_secret):
        raise ValueError(f'--certificate-secret is "{arguments.certificate_secret}": {OBJECT_NAME}')
    return WebhookOptions(
        port=arguments.webhooks_port,
        certificate_file=arguments.certificate_file,
        key_file=arguments.certificate_key_file,
        secret=arguments.certificate_secret,
        dns_name=arguments.certificate_dns_name,
        organisation="fairlead",
        renews=True,
        injects=not arguments.no_ca_injection,
    )


def _cluster(arguments: argparse.Namespace) -> ClusterLabel | None:
    from fairlead.engine.serving.cluster_label import ClusterLabel

    if not arguments.cluster_label:
        if arguments.cluster_label_soft:
            raise ValueError("--cluster-label-soft needs --cluster-label: set both, or none of them")
        return None
    return ClusterLabel(arguments.cluster_label, arguments.cluster_label_soft)


def operate(options: OperatorOptions) -> int:
    """Runs the operator; whatever keeps it from running is one sentence on stderr."""
    import fairlead.engine.logs  # noqa: F401  (first: it imports structlog with less)
    from fairlead.cli.failures import first_of, sentence
    from fairlead.engine.certificates.stored_secret import CertificateTrouble
    from fairlead.engine.process import run
    from fairlead.engine.serving.probes import PortBusy
    from kubeloop.errors import ConfigError, KubeError

    try:
        run(options)
    except (PortBusy, CertificateTrouble) as error:
        text = str(error)
    except ConfigError as error:
        outside = options.by_contract and not options.config_file
        text = f"{error}{'; elsewhere set -kubernetes.api-url and -kubernetes.config-file' * outside}"
    except KubeError as error:
        text = sentence(error, options.api_url, options.context, chooses=options.process == "fairlead")
    except ExceptionGroup as group:
        text = sentence(first_of(group), options.api_url, options.context, chooses=options.process == "fairlead")
    else:
        return exits.OK
    print(f"{options.process}: {text}", file=sys.stderr)
    return exits.ERROR
