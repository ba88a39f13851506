"""What an installation of environments is told, and the names and labels that follow from it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from fairlead import __version__

NAME = "materialize-operator"
CHART = Path(__file__).parent / "charts" / NAME
ACCOUNT = "orchestratord"
WEBHOOK_PORT = 8001
METRICS_PORT = 3100
REPLICAS = 2


class Values(Struct, frozen=True, kw_only=True):
    """The switches of `fairlead manifests --part environments`; the rest is as in the chart's own values."""

    namespace: str
    image: str = f"fairlead:{__version__}"
    secret: str = ""
    """With the certificate of the webhook; empty: cert-manager makes one."""
    arguments: tuple[str, ...] = ()
    """Flags of the program, each with its value; one that the chart gives too replaces it."""

    monitoring: bool = False
    """PodMonitor, alerts and dashboard."""

    @property
    def certificate(self) -> str:
        return self.secret or f"{NAME}-cert"


def selector_labels() -> dict[str, str]:
    return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME}


def labels() -> dict[str, str]:
    return {**selector_labels(), "app.kubernetes.io/version": __version__, "app.kubernetes.io/managed-by": "fairlead"}
