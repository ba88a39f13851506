"""What an installation is told, and the names and labels that follow from it (section 2.17)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from fairlead import __version__
from fairlead.contracts.plans.kinds import INSTALLED_FOR

NAME = "vela-core"
CHART = Path(__file__).parent / "charts" / NAME
METRICS_SERVICE = f"{NAME}-metrics"
WEBHOOK_SERVICE = f"{NAME}-webhook"
ADMISSION = f"{NAME}-admission"
"""The Secret of the certificate, and both webhook configurations."""
WEBHOOK_PORT = 9443
METRICS_PORT = 8080
PROBE_PORT = 9440
OF_METRICS = {"fairlead.dev/serves": "metrics"}


class Values(Struct, frozen=True, kw_only=True):
    """The switches of `fairlead manifests`; what they leave open is as in the chart's own values."""

    namespace: str
    image: str = f"fairlead:{__version__}"
    replicas: int = 2
    webhooks: bool = True
    monitoring: bool = False
    network_policy: bool = False
    metrics_server: str = ""
    mesh_provider: str = ""


def selector_labels() -> dict[str, str]:
    """Found on the pods, and on everything else of an installation."""
    return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME}


def labels() -> dict[str, str]:
    return {
        **selector_labels(),
        "app.kubernetes.io/version": __version__,
        "app.kubernetes.io/managed-by": "fairlead",
    }


def cluster_labels(values: Values) -> dict[str, str]:
    """Objects outside of any namespace say whose they are, so that they are found when it goes."""
    return {**labels(), INSTALLED_FOR: values.namespace}


def metadata(values: Values, name: str, more: dict[str, str] | None = None) -> dict[str, object]:
    """Of an object in the namespace of the installation."""
    return {"name": name, "namespace": values.namespace, "labels": {**labels(), **(more or {})}}
