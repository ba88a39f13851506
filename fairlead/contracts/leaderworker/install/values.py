"""What an installation is told, and the names and labels that follow from it (section 2.17)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from fairlead import __version__
from fairlead.contracts.leaderworker.kinds import INSTALLED_FOR

NAME = "lws"
CHART = Path(__file__).parent / "charts" / NAME
OPERATOR = f"{NAME}-controller-manager"
METRICS_SERVICE = f"{OPERATOR}-metrics-service"
WEBHOOK_SERVICE = f"{NAME}-webhook-service"
SECRET = f"{NAME}-webhook-server-cert"
CONFIGURATION = f"{NAME}-manager-config"
WEBHOOK_PORT = 9443
METRICS_PORT = 8443
PROBE_PORT = 8081


class Values(Struct, frozen=True, kw_only=True):
    """The switches of `fairlead manifests`; what they leave open is as in the chart's own values."""

    namespace: str
    image: str = f"fairlead:{__version__}"
    replicas: int = 2
    history_limit: int = 0
    gang_scheduler: str = ""
    monitoring: bool = False
    network_policy: bool = False
    disruption_budgets: bool = False
    eviction_webhook: bool = False
    disaggregated_sets: bool = False


def selector_labels() -> dict[str, str]:
    """Found on the pods, and on everything else of an installation."""
    return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME}


def pod_labels() -> dict[str, str]:
    return {"control-plane": "controller-manager", **selector_labels()}


def labels() -> dict[str, str]:
    return {
        **selector_labels(),
        "app.kubernetes.io/version": __version__,
        "app.kubernetes.io/managed-by": "fairlead",
    }


def cluster_labels(values: Values) -> dict[str, str]:
    """Objects outside of any namespace say whose they are, so that they are found when it goes."""
    return {**labels(), INSTALLED_FOR: values.namespace}
