"""What an installation is told, and the names and labels that follow from it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from fairlead import __version__
from fairlead.contracts.apiversions.kinds import INSTALLED_FOR
from fairlead.contracts.apiversions.settings import CertificateSource

NAME = "fairlead"
CHART = Path(__file__).parent / "charts" / NAME
SERVICE = f"{NAME}-webhook"
METRICS_SERVICE = f"{NAME}-metrics"
CERTIFICATE = f"{NAME}-webhook-cert"
WEBHOOK_PORT = 9443
PROBE_PORT = 8081
OF_METRICS = {"fairlead.dev/serves": "metrics"}


class Values(Struct, frozen=True, kw_only=True):
    """The switches of `fairlead manifests`; what they leave open is as in the chart's own values."""

    namespace: str
    image: str = f"fairlead:{__version__}"
    replicas: int = 2
    source: CertificateSource = "self-signed"
    secret: str = CERTIFICATE
    monitoring: bool = False
    network_policy: bool = False


def selector_labels() -> dict[str, str]:
    """Found on the pods, and on everything else of an installation."""
    return {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME}


def labels() -> dict[str, str]:
    made = {"app.kubernetes.io/version": __version__, "app.kubernetes.io/managed-by": "fairlead"}
    return selector_labels() | made


def named(values: Values, name: str, more: dict[str, str] | None = None) -> dict[str, object]:
    """The metadata of an object in the namespace of the installation."""
    return {"name": name, "namespace": values.namespace, "labels": {**labels(), **(more or {})}}


def named_for_all(values: Values, name: str) -> dict[str, object]:
    """Objects outside of any namespace say whose they are, so that they are found when it goes."""
    return {"name": name, "labels": {**labels(), INSTALLED_FOR: values.namespace}}
