"""What an installation is told, and the names and labels that follow from it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from fairlead import __version__
from fairlead.contracts.zones.kinds import API_GROUP, NAMESPACE

NAME = "rollout-operator"
CHART = Path(__file__).parent / "charts" / NAME
NAME_LABEL = "app.kubernetes.io/name"
METRICS_PORT = 8001
WEBHOOK_PORT = 8443


class Values(Struct, frozen=True, kw_only=True):
    """The switches of `fairlead manifests`; what they leave open is as in the chart's own values."""

    namespace: str
    image: str = f"fairlead:{__version__}"
    high_availability: bool = False
    webhooks: bool = False
    monitoring: bool = False
    network_policy: bool = False
    egress: tuple[tuple[str, int], ...] = ()
    """What the network policy lets the operator reach besides: addresses (CIDR) with a port."""
    phased_deployments: bool = False
    """Needs webhooks."""
    zone_tracker: str = ""
    """ConfigMap of the times of downscales; empty: they are kept on the StatefulSets."""
    secret: str = "certificate"  # noqa: S105  the name of one
    failure_policy: str = "Fail"
    timeout_seconds: int = 10
    references: tuple[tuple[str, str], ...] = ((API_GROUP, "replicatemplates"),)
    """Group and plural of the kinds whose `scale` is mirrored."""

    @property
    def host(self) -> str:
        """The name under which the API server calls the webhooks."""
        return f"{NAME}.{self.namespace}.svc"

    @property
    def cluster_name(self) -> str:
        """Of objects outside of any namespace, so that installations do not meet."""
        return f"{NAME}-{self.namespace}"


def selector_labels() -> dict[str, str]:
    """Found on the pods, and on everything else of an installation."""
    return {NAME_LABEL: NAME, "app.kubernetes.io/instance": NAME}


def labels() -> dict[str, str]:
    return {
        **selector_labels(),
        "app.kubernetes.io/version": __version__,
        "app.kubernetes.io/managed-by": "fairlead",
    }


def cluster_labels(values: Values) -> dict[str, str]:
    """Objects outside of any namespace say whose they are, so that they are found when it goes."""
    return {**labels(), NAMESPACE: values.namespace}
