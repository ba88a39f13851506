"""`fairlead operator`: the operator against a cluster, until a signal ends it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.flags.common import add_cluster

if TYPE_CHECKING:
    from fairlead.core.flags import Given
    from fairlead.engine.options import OperatorOptions, WebhookOptions
    from fairlead.engine.program import CommonOptions, Section
    from fairlead.engine.serving.cluster_label import ClusterLabel
    from fairlead.engine.serving.plain_paths import PlainPaths

LEASE = "fairlead-operator"
PORT = 8081
WEBHOOKS_PORT = 8443
WEBHOOKS_TIMEOUT = "10s"
CERTIFICATE_SECRET = "fairlead-webhooks"  # noqa: S105  (a name)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairlead.cli.flags.options import add
    from fairlead.engine.program import FORMATS, INTERVAL, LEVELS

    add_cluster(parser, several_namespaces=True)
    first, *others = sections()
    parser.add_argument(
        "--parts",
        default=first,
        help=f"contracts to serve, separated by commas: {', '.join((first, *others))} (default {first})",
    )
    parser.add_argument("--config", metavar="FILE", default="", help="settings of the parts, a section for each, YAML")
    add(parser, [INTERVAL])
    parser.add_argument("--port", type=int, default=PORT, help="port of /ready and /metrics (default %(default)s)")
    parser.add_argument(
        "--lease", default=LEASE, metavar="NAME", help="Lease to hold while acting (default %(default)s)"
    )
    parser.add_argument("--no-lease", action="store_true", help="act without a Lease: only where one replica runs")
    parser.add_argument("--qps", type=float, default=0.0, help="calls per second to each API group; default no limit")
    parser.add_argument("--burst", type=int, default=10, help="calls that may exceed the rate at once")
    _add_webhooks(parser)
    for section in sections().values():
        if section.are_options:
            add(parser, section.flags)
    parser.add_argument(
        "--record", metavar="DIR", default="", help="keep the latest rounds in this folder, for `fairlead replay`"
    )
    parser.add_argument("--log-level", choices=LEVELS, default="info")
    parser.add_argument("--log-format", choices=FORMATS, default="logfmt")


def sections() -> dict[str, Section]:
    """By contract: how the operator is told about it."""
    from fairlead.contracts import contracts

    return {contract.name: contract.section.get() for contract in contracts() if contract.section is not None}


def _add_webhooks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--webhooks", action="store_true", help="serve the webhooks of the parts over HTTPS")
    parser.add_argument(
        "--webhooks-port", type=int, metavar="PORT", help=f"port of them, as --webhook-port (default {WEBHOOKS_PORT})"
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
        default="",
        help=f"Secret of the certificate that is made and renewed (default {CERTIFICATE_SECRET})",
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
    from fairlead.cli.flags.common import wrong_namespaces
    from fairlead.cli.flags.config_file import read
    from fairlead.contracts import contract
    from fairlead.engine.options import OperatorOptions, PartOptions
    from fairlead.engine.program import identity

    if wrong := wrong_namespaces(arguments):
        raise ValueError(wrong)
    known = sections()
    parts = tuple(dict.fromkeys(part.strip() for part in arguments.parts.split(",")))
    if unknown := [part for part in parts if part not in known]:
        raise ValueError(f'--parts names "{unknown[0]}": this release has {", ".join(known)}')
    found = read(arguments.config, parts)
    common = _common(arguments, parts)
    given = {
        name: _given(name, section, arguments, found.get(name), common)
        for name, section in known.items()
        if name in parts or section.are_options
    }
    for name, each in given.items():
        if name not in parts:
            _check_unserved(name, known[name], each)
        common = known[name].common(each, common)
    settings = {name: known[name].settings(each, common) for name, each in given.items()}
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
        interval=_interval(arguments, given.values()),
        qps=arguments.qps,
        burst=arguments.burst,
        lease=arguments.lease if common.elects else None,
        identity=common.identity or identity(),
        plain_paths=_paths(common),
        versions=common.versions,
        webhooks=_webhooks(arguments, common) if common.webhooks else None,
        cluster=_cluster(arguments),
        record=arguments.record,
    )


def _common(arguments: argparse.Namespace, parts: tuple[str, ...]) -> CommonOptions:
    """What all contracts of the process have in common, once it does not contradict itself."""
    from fairlead.core.option_kinds import seconds_of
    from fairlead.engine.program import CommonOptions

    for name, port in (("--port", arguments.port), ("--webhooks-port", arguments.webhooks_port)):
        if port is not None and not 0 <= port <= 65535:
            raise ValueError(f"{name} is {port}: set it to a port from 0 to 65535")
    if bool(arguments.certificate_file) != bool(arguments.certificate_key_file):
        raise ValueError("--certificate-file and --certificate-key-file belong together: give both, or none of them")
    if arguments.qps > 0 and arguments.burst < 1:
        raise ValueError(f"--burst is {arguments.burst}: set it to 1 or more, or leave out --qps")
    return CommonOptions(
        parts=parts,
        webhooks=arguments.webhooks,
        request_timeout=seconds_of("--webhooks-timeout", arguments.webhooks_timeout, positive=True),
        authority_file=arguments.certificate_authority_file,
        certificate_file=arguments.certificate_file,
        key_file=arguments.certificate_key_file,
        webhooks_port=arguments.webhooks_port,
        certificate_secret=arguments.certificate_secret,
        certificate_name=arguments.certificate_dns_name,
        elects=not arguments.no_lease,
    )


def _given(
    name: str,
    section: Section,
    arguments: argparse.Namespace,
    found: Mapping[str, object] | None,
    common: CommonOptions,
) -> Given:
    """What a contract is told; its options of the command line are checked even if it is not served."""
    from fairlead.cli.flags.clap import parse_section
    from fairlead.cli.flags.options import given, given_in_section, given_in_variables, over

    if section.are_options:
        filed = given_in_section(section.flags, found or {}, name, arguments.config)
        if section.variables:
            filed = over(given_in_variables(section.flags, os.environ, section.variables), filed)
        return over(given(arguments, section.flags), filed)
    if found is None and section.missing:
        raise ValueError(section.missing)
    return parse_section(section.flags, found or {}, lambda key: f"{name}.{key}", section.defaults(common))


def _check_unserved(name: str, section: Section, given: Given) -> None:
    """Raises ValueError for what has no effect without its part."""
    if section.shared is None:
        return
    for flag in section.flags:
        if given.has(flag) and flag not in section.shared and given.place(flag).startswith("--"):
            raise ValueError(f"{given.place(flag)} is for part {name}: add it to --parts, or leave out the option")


def _paths(common: CommonOptions) -> PlainPaths:
    from fairlead.engine.serving.plain_paths import PlainPaths

    usual = PlainPaths()
    return PlainPaths(alive=(*usual.alive, *common.alive_paths), serving=common.serving_paths)


def _interval(arguments: argparse.Namespace, given: Iterable[Given]) -> float | None:
    """Of the command line, or of the first section that has it."""
    from fairlead.core.option_kinds import seconds_of
    from fairlead.engine.program import INTERVAL

    text = arguments.interval or next(filter(None, (each[INTERVAL] for each in given)), "")
    return seconds_of("--interval", text) if text else None


def _webhooks(arguments: argparse.Namespace, common: CommonOptions) -> WebhookOptions:
    from fairlead.core.flag_kinds import DNS_ADVICE, NAME_ADVICE
    from fairlead.core.names import is_name
    from fairlead.engine.options import WebhookOptions

    if arguments.certificate_dns_name and not is_name(arguments.certificate_dns_name):
        raise ValueError(f'--certificate-dns-name is "{arguments.certificate_dns_name}": {DNS_ADVICE}')
    secret = common.certificate_secret or CERTIFICATE_SECRET
    if not is_name(secret):
        raise ValueError(f'--certificate-secret is "{secret}": {NAME_ADVICE}')
    return WebhookOptions(
        port=WEBHOOKS_PORT if common.webhooks_port is None else common.webhooks_port,
        certificate_file=common.certificate_file,
        key_file=common.key_file,
        secret=secret,
        dns_name=common.certificate_name,
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


def operate(options: OperatorOptions, elsewhere: str = "") -> int:
    """Runs the operator; whatever keeps it from running is one sentence on stderr.

    Where it finds no cluster around it the sentence ends with what to do elsewhere.
    """
    import fairlead.engine.logs  # noqa: F401  (first: it imports structlog with less)
    from fairlead.cli.failures import first_of, sentence
    from fairlead.engine.certificates.trouble import CertificateTrouble
    from fairlead.engine.log_stream import unhindered
    from fairlead.engine.process import run
    from fairlead.engine.serving.probes import PortBusy
    from kubeloop.errors import ConfigError, KubeError

    try:
        run(options)
    except (PortBusy, CertificateTrouble) as error:
        text = str(error)
    except ConfigError as error:
        text = f"{error}; elsewhere {elsewhere}" if elsewhere and not options.config_file else str(error)
    except KubeError as error:
        text = sentence(error, options.api_url, options.context, chooses=options.process == "fairlead")
    except ExceptionGroup as group:
        text = sentence(first_of(group), options.api_url, options.context, chooses=options.process == "fairlead")
    else:
        return exits.OK
    unhindered(sys.stderr).write(f"{options.process}: {text}\n")
    return exits.ERROR
