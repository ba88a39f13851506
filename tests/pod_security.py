"""The Pod Security Standard `restricted`, as the API server's admission holds pods to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Tree = Mapping[str, Any]

VOLUMES = frozenset(
    ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
)
PROFILES = ("RuntimeDefault", "Localhost")
KINDS = ("Deployment", "StatefulSet", "DaemonSet", "Job")


def pods_in(objects: Sequence[Tree]) -> Iterator[Tree]:
    """The pod of every template."""
    for each in objects:
        if each["kind"] in KINDS:
            yield each["spec"]["template"]["spec"]


def violations(pod: Tree) -> list[str]:
    """What the standard has against a pod; nothing where it may run."""
    return [*_of_pod(pod), *(found for each in _containers(pod) for found in _of_container(pod, each))]


def _containers(pod: Tree) -> Iterator[Tree]:
    for place in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod.get(place, ())


def _of_pod(pod: Tree) -> Iterator[str]:
    for word in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(word):
            yield word
    for volume in pod.get("volumes", ()):
        yield from (f"volume {kind}" for kind in volume if kind not in VOLUMES | {"name"})
    given = pod.get("securityContext", {})
    if given.get("runAsUser") == 0:
        yield "runAsUser of the pod is 0"
    if given.get("sysctls"):
        yield "sysctls"


def _of_container(pod: Tree, container: Tree) -> Iterator[str]:
    name, own, shared = container["name"], container.get("securityContext", {}), pod.get("securityContext", {})
    given = {**shared, **own}
    if own.get("privileged"):
        yield f"{name} is privileged"
    if own.get("allowPrivilegeEscalation") is not False:
        yield f"{name} may escalate privileges"
    capabilities = own.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", ()) or set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}:
        yield f"{name} has capabilities"
    if given.get("runAsNonRoot") is not True or given.get("runAsUser") == 0:
        yield f"{name} may run as root"
    if given.get("seccompProfile", {}).get("type") not in PROFILES:
        yield f"{name} has no seccompProfile"
    if own.get("procMount", "Default") != "Default":
        yield f"{name} has a procMount"
    if any(port.get("hostPort") for port in container.get("ports", ())):
        yield f"{name} has a hostPort"
