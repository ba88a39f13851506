"""What Endpoints and EndpointSlices of a Service have in common: the pod behind an endpoint, its ports, the labels."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from kubesim.controllers.selected_pods import Pod, Service, ServicePort

HEADLESS = "service.kubernetes.io/headless"
CHANGED_AT = "endpoints.kubernetes.io/last-change-trigger-time"
_FNV_OFFSET = 0x6C62272E07BB014262B821756295C58D
_FNV_PRIME = 0x0000000001000000000000000000013B


class Target(Struct, frozen=True, gc=False):
    """What answers at an endpoint."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


def target_of(pod: Pod) -> Target:
    meta = pod.metadata
    return Target("Pod", meta.namespace, meta.name, meta.uid)


def numbers_of(service: Service, pod: Pod) -> list[tuple[ServicePort, int]]:
    """The ports of a Service with their numbers in one pod, but for those whose names it does not know."""
    found = [(port, pod.port_for(port)) for port in service.spec.ports]
    return [(port, number) for port, number in found if number is not None]


def labels_of(service: Service, reserved: Collection[str], own: dict[str, str]) -> dict[str, str]:
    """Those of the Service that are not reserved, and those by which what is written is known."""
    kept = {key: value for key, value in service.metadata.labels.items() if key not in reserved}
    return kept | ({HEADLESS: ""} if service.is_headless else {}) | own


def place_among(text: str) -> int:
    """Where Go's controllers sort what they print as this text: FNV-1a of 128 bits."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _FNV_PRIME % (1 << 128)
    return value


def shown(application: str | None) -> str:
    """The protocol of an application as Go prints it."""
    return "<nil>" if application is None else application
