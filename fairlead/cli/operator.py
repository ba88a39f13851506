"""`fairlead operator`: the operator against a cluster, until a signal ends it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.options import add_cluster

if TYPE_CHECKING:
    from fairlead.control.options import OperatorOptions

PARTS = ("zones",)
LEASE = "fairlead-operator"
PORT = 8081


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser, several_namespaces=True)
    parser.add_argument("--parts", default="zones", help="contracts to serve, separated by commas; now: zones")
    parser.add_argument("--interval", metavar="DURATION", default="", help="least time between two passes of a rollout")
    parser.add_argument("--port", type=int, default=PORT, help="port of /ready and /metrics (default %(default)s)")
    parser.add_argument(
        "--lease", default=LEASE, metavar="NAME", help="Lease to hold while acting (default %(default)s)"
    )
    parser.add_argument("--no-lease", action="store_true", help="act without a Lease: only where one replica runs")
    parser.add_argument("--qps", type=float, default=0.0, help="calls per second to each API group; default no limit")
    parser.add_argument("--burst", type=int, default=10, help="calls that may exceed the rate at once")
    parser.add_argument("--log-level", choices=("debug", "info", "warn", "error"), default="info")
    parser.add_argument("--log-format", choices=("logfmt", "json"), default="logfmt")


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.main import UsageError

    try:
        options = options_of(arguments)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return operate(options)


def options_of(arguments: argparse.Namespace) -> OperatorOptions:
    """What the arguments come down to; raises ValueError with a sentence."""
    from fairlead.api.durations import parse_go
    from fairlead.cli.options import wrong_namespaces
    from fairlead.cli.rollout_operator import identity
    from fairlead.control.options import OperatorOptions

    if wrong := wrong_namespaces(arguments):
        raise ValueError(wrong)
    parts = tuple(dict.fromkeys(part.strip() for part in arguments.parts.split(",")))
    if unknown := [part for part in parts if part not in PARTS]:
        raise ValueError(f'--parts names "{unknown[0]}": this release has {", ".join(PARTS)}')
    interval = None
    if arguments.interval:
        try:
            interval = parse_go(arguments.interval)
        except ValueError as error:
            raise ValueError(f"--interval: {error}") from error
        if interval < 0:
            raise ValueError(f"--interval is {arguments.interval}: set it to 0s or longer")
    if not 0 <= arguments.port <= 65535:
        raise ValueError(f"--port is {arguments.port}: set it to a port from 0 to 65535")
    if arguments.qps > 0 and arguments.burst < 1:
        raise ValueError(f"--burst is {arguments.burst}: set it to 1 or more, or leave out --qps")
    return OperatorOptions(
        process="fairlead",
        namespaces=() if arguments.all_namespaces else tuple(dict.fromkeys(arguments.namespace)),
        parts=parts,
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
    )


def operate(options: OperatorOptions) -> int:
    """Runs the operator; whatever keeps it from running is one sentence on stderr."""
    from fairlead.cli.failures import first_of, sentence
    from fairlead.control.run import run
    from fairlead.control.serving import PortBusy
    from fairlead.kube.errors import ConfigError, KubeError

    try:
        run(options)
    except PortBusy as error:
        text = str(error)
    except ConfigError as error:
        outside = options.by_contract and not options.config_file
        text = f"{error}{'; elsewhere set -kubernetes.api-url and -kubernetes.config-file' * outside}"
    except KubeError as error:
        text = sentence(error, options.api_url, options.context, chooses=not options.by_contract)
    except ExceptionGroup as group:
        text = sentence(first_of(group), options.api_url, options.context, chooses=not options.by_contract)
    else:
        return exits.OK
    print(f"{options.process}: {text}", file=sys.stderr)
    return exits.ERROR
