"""What `fairlead manifests` is told about an installation of zones."""

from __future__ import annotations

from ipaddress import ip_network

from fairlead.contracts.zones.install.objects import objects
from fairlead.contracts.zones.install.values import Values
from fairlead.core.flag_kinds import MOST_PORT
from fairlead.core.flags import Flag, FlagError, FlagKind, Given
from fairlead.core.option_kinds import SWITCH, option
from fairlead.engine.install import Install, InstallPlace


def _range(text: str) -> tuple[str, int]:
    """`10.0.0.0/8:9090` and `fd00::/8:9090`."""
    cidr, _, port = text.rpartition(":")
    try:
        network = ip_network(cidr)
        usable = port.isascii() and port.isdigit() and 1 <= int(port) <= MOST_PORT
    except ValueError:
        usable = False
    if not usable:
        raise FlagError(
            f'--network-policy-egress is "{text}": give an address range and a port from 1 to {MOST_PORT}, such as '
            "10.0.0.0/8:9090"
        )
    return str(network), int(port)


RANGES: FlagKind[tuple[str, ...]] = FlagKind("CIDR:PORT", tuple, ", ".join, repeats=True)

HA = Flag(
    "ha",
    SWITCH,
    False,
    "two replicas, of which one acts and both answer webhooks; to switch, scale a single one to 0 first",
)
WEBHOOKS = Flag("webhooks", SWITCH, False, "webhooks that guard downscales and evictions")
MONITORING = Flag("monitoring", SWITCH, False, "monitor, alerts and a Grafana dashboard")
NETWORK_POLICY = Flag("network-policy", SWITCH, False, "limit what the operator's pods reach")
EGRESS = Flag("network-policy-egress", RANGES, (), "what they may reach besides; repeatable")
PHASED = Flag("phased-deployments", SWITCH, False, "labelled Deployments roll out one after another")
ZONE_TRACKER = Flag("zone-tracker", option("NAME"), "", "keep times of downscales in this ConfigMap")


def _values(place: InstallPlace, given: Given) -> Values:
    if given[PHASED] and not given[WEBHOOKS]:
        raise FlagError("--phased-deployments needs --webhooks: a webhook is what holds a Deployment")
    if given.has(EGRESS) and not given[NETWORK_POLICY]:
        raise FlagError("--network-policy-egress needs --network-policy: without it everything can be reached")
    return Values(
        namespace=place.namespace,
        image=place.image,
        high_availability=given[HA],
        webhooks=given[WEBHOOKS],
        monitoring=given[MONITORING],
        network_policy=given[NETWORK_POLICY],
        egress=tuple(_range(text) for text in given[EGRESS]),
        phased_deployments=given[PHASED],
        zone_tracker=given[ZONE_TRACKER],
    )


INSTALL = Install(
    flags=(HA, WEBHOOKS, MONITORING, NETWORK_POLICY, EGRESS, PHASED, ZONE_TRACKER),
    values=_values,
    objects=objects,
    one_namespace=True,
)
