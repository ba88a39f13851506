"""What the pods of environmentd, balancerd and console have in common."""

from __future__ import annotations

from fairlead.contracts.environments.decide.images import at_least
from fairlead.contracts.environments.decide.objects.owner import filled
from fairlead.contracts.environments.kinds import Json, Text
from fairlead.contracts.environments.settings import Placement, Settings

OWNER_ONLY = 0o400
"""Mode of mounted files: the pod's user may read them."""

PULL_POLICIES = {"always": "Always", "if-not-present": "IfNotPresent", "never": "Never"}


def placed(placement: Placement, settings: Settings) -> Json:
    """Where pods may run, in the words of a pod's spec."""
    return {
        "nodeSelector": filled(placement.node_selector),
        "affinity": filled(placement.affinity),
        "tolerations": filled(placement.tolerations),
        "schedulerName": filled(settings.scheduler_name),
    }


def user_of(image: str, *, unprivileged_from: str) -> int:
    """B12: the user and group that the image is made for; older ones have one of their own."""
    return 65532 if at_least(image, unprivileged_from) else 999


def run_as(user: int) -> Json:
    return {"fsGroup": user, "runAsUser": user, "runAsGroup": user}


def hardened(settings: Settings) -> Json | None:
    """What the restricted pod security standard wants of a container, when the operator is told to follow it."""
    if not settings.security_context:
        return None
    return {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def resources(own: Json | None, placement: Placement) -> Json | None:
    """The object's, else the operator's default; an empty one of the object's stands against the default."""
    return filled(placement.default_resources if own is None else own)


def scraped(port: int, settings: Settings) -> Text:
    """Annotations by which Prometheus finds a pod."""
    if not settings.prometheus_scrape_annotations:
        return {}
    return {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(port),
        "prometheus.io/path": "/metrics",
        "prometheus.io/scheme": "http",
    }


def secret_volume(name: str, secret: str, *keys: str) -> Json:
    """The whole Secret, or these keys of it."""
    items = [{"key": key, "path": key} for key in keys]
    return {"name": name, "secret": {"secretName": secret, "defaultMode": OWNER_ONLY, "items": filled(items)}}


def configmap_volume(name: str, configmap: str, *, optional: bool | None = None) -> Json:
    return {"name": name, "configMap": {"name": configmap, "defaultMode": OWNER_ONLY, "optional": optional}}


def container_ports(**ports: int) -> list[Json]:
    """By name, in which a hyphen is written as an underscore."""
    return [{"name": name.replace("_", "-"), "containerPort": port, "protocol": "TCP"} for name, port in ports.items()]


def service_ports(**ports: int) -> list[Json]:
    return [{"name": name.replace("_", "-"), "port": port, "protocol": "TCP"} for name, port in ports.items()]
