"""`fairlead manifests`: prints the objects that install a part, for `kubectl apply -f -`."""

from __future__ import annotations

import argparse
import ipaddress
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.cli.commands.crds import WITH_KINDS, add_part

if TYPE_CHECKING:
    from fairlead.engine.charts import Object

ZONES = (
    "ha",
    "webhooks",
    "network_policy",
    "network_policy_egress",
    "phased_deployments",
    "zone_tracker",
)
ENVIRONMENTS = ("certificate_secret", "arg")
"""Options that only one part has."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_part(parser, WITH_KINDS)
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        default="default",
        help="namespace of the operator, and of zones to look after (default %(default)s)",
    )
    parser.add_argument("--image", metavar="IMAGE", default=None, help="image with the programs of this release")
    _add_zones(parser.add_argument_group("zones"))
    environments = parser.add_argument_group("environments")
    environments.add_argument(
        "--certificate-secret",
        metavar="NAME",
        default="",
        help="Secret with ca.crt, tls.crt and tls.key; else cert-manager",
    )
    environments.add_argument(
        "--arg",
        metavar="--FLAG=VALUE",
        action="append",
        default=[],
        help="a flag of orchestratord, as in --arg=--region=us-east-1; repeatable",
    )


def _add_zones(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument(
        "--ha",
        action="store_true",
        help="two replicas, of which one acts and both answer webhooks; to switch, scale a single one to 0 first",
    )
    parser.add_argument("--webhooks", action="store_true", help="webhooks that guard downscales and evictions")
    parser.add_argument("--monitoring", action="store_true", help="monitor, alerts and a Grafana dashboard")
    parser.add_argument("--network-policy", action="store_true", help="limit what the operator's pods reach")
    parser.add_argument(
        "--network-policy-egress",
        metavar="CIDR:PORT",
        action="append",
        default=[],
        help="what they may reach besides; repeatable",
    )
    parser.add_argument(
        "--phased-deployments", action="store_true", help="labelled Deployments roll out one after another"
    )
    parser.add_argument("--zone-tracker", metavar="NAME", default="", help="keep times of downscales in this ConfigMap")


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.main import UsageError
    from fairlead.core.names import is_label
    from fairlead.engine.charts import written

    namespace = arguments.namespace
    if arguments.image == "":
        raise UsageError("--image is empty: name an image, or leave it out for the default")
    if not is_label(namespace):
        raise UsageError(f'-n is "{namespace}": a namespace has up to 63 of a to z, 0 to 9 and - inside')
    elsewhere = ZONES if arguments.part == "environments" else ENVIRONMENTS
    if misplaced := next((option for option in elsewhere if getattr(arguments, option)), None):
        other = next(part for part in WITH_KINDS if part != arguments.part)
        raise UsageError(
            f"--{misplaced.replace('_', '-')} is an option of {other}: leave it out, or use --part {other}"
        )
    made = _environments(arguments) if arguments.part == "environments" else _zones(arguments)
    print(written(made), end="")
    return exits.OK


def _environments(arguments: argparse.Namespace) -> tuple[Object, ...]:
    from fairlead.cli.flags.clap import parse
    from fairlead.cli.main import UsageError
    from fairlead.contracts.environments.install.arguments import arguments as words
    from fairlead.contracts.environments.install.objects import objects
    from fairlead.contracts.environments.install.values import Values
    from fairlead.contracts.environments.options import PROGRAM, check, level_of
    from fairlead.core.flags import FlagError
    from fairlead.core.names import is_name

    secret = arguments.certificate_secret
    if secret and not is_name(secret):
        raise UsageError(f'--certificate-secret is "{secret}": a name has up to 253 of a to z, 0 to 9, - and . inside')
    values = Values(
        namespace=arguments.namespace,
        secret=secret,
        arguments=tuple(arguments.arg),
        monitoring=arguments.monitoring,
        **({} if arguments.image is None else {"image": arguments.image}),
    )
    try:
        given = parse(PROGRAM.name, PROGRAM.flags, words(values), {}, "")
        level_of(given)
        check(given)
    except FlagError as error:
        raise UsageError(f"--arg: {error}") from error
    return objects(values)


def _zones(arguments: argparse.Namespace) -> tuple[Object, ...]:
    from fairlead.cli.main import UsageError
    from fairlead.contracts.zones.install.objects import objects
    from fairlead.contracts.zones.install.values import Values

    if arguments.phased_deployments and not arguments.webhooks:
        raise UsageError("--phased-deployments needs --webhooks: a webhook is what holds a Deployment")
    if arguments.network_policy_egress and not arguments.network_policy:
        raise UsageError("--network-policy-egress needs --network-policy: without it everything can be reached")
    values = Values(
        namespace=arguments.namespace,
        high_availability=arguments.ha,
        webhooks=arguments.webhooks,
        monitoring=arguments.monitoring,
        network_policy=arguments.network_policy,
        egress=tuple(_egress(text) for text in arguments.network_policy_egress),
        phased_deployments=arguments.phased_deployments,
        zone_tracker=arguments.zone_tracker,
        **({} if arguments.image is None else {"image": arguments.image}),
    )
    return objects(values)


def _egress(text: str) -> tuple[str, int]:
    """`10.0.0.0/8:9090` and `fd00::/8:9090`."""
    from fairlead.cli.main import UsageError

    cidr, _, port = text.rpartition(":")
    try:
        network = ipaddress.ip_network(cidr)
        usable = port.isascii() and port.isdigit() and 1 <= int(port) <= 65535
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(
            f'--network-policy-egress is "{text}": give an address range and a port from 1 to 65535, such as '
            "10.0.0.0/8:9090"
        )
    return str(network), int(port)
