"""That the server is well: `/healthz`, `/livez`, `/readyz`, in one word or check by check."""

from __future__ import annotations

from collections.abc import Iterator

PATHS = ("/healthz", "/livez", "/readyz")

_HOOKS = (
    "start-apiserver-admission-initializer",
    "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer",
    "priority-and-fairness-filter",
    "storage-object-count-tracker-hook",
    "start-apiextensions-informers",
    "start-apiextensions-controllers",
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "peer-endpoint-reconciler-controller",
    "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector",
    "storage-readiness",
    "start-legacy-token-tracking-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-registration-controller",
    "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
)
_LAST_HOOKS = ("apiservice-openapi-controller", "apiservice-openapiv3-controller")
_STARTED = (
    *(f"poststarthook/{hook}" for hook in _HOOKS),
    "autoregister-completion",
    *(f"poststarthook/{hook}" for hook in _LAST_HOOKS),
)
_LIVING = ("ping", "log", "loopback-serving-certificate", "etcd", *_STARTED)
# The checks that the real server makes; here they hold as long as there is somebody to ask.
_CHECKS = {
    "/healthz": _LIVING,
    "/livez": _LIVING,
    "/readyz": ("ping", "log", "etcd", "etcd-readiness", "informer-sync", *_STARTED, "shutdown"),
}


def answer(path: str, query: tuple[tuple[str, str], ...]) -> bytes | None:
    """What is said at a path; None for a path that is no check."""
    for prefix, checks in _CHECKS.items():
        if path == prefix:
            return _told(prefix[1:], checks, query)
        if path.startswith(f"{prefix}/") and path[len(prefix) + 1 :] in checks:
            return b"ok"
    return None


def paths() -> Iterator[str]:
    """Every path that is answered."""
    for prefix, checks in _CHECKS.items():
        yield prefix
        yield from (f"{prefix}/{check}" for check in checks)


def _told(name: str, checks: tuple[str, ...], query: tuple[tuple[str, str], ...]) -> bytes:
    if not any(key == "verbose" for key, _ in query):
        return b"ok"
    left_out = [value for key, value in query if key == "exclude"]
    lines = [f"[+]{check} excluded: ok" if check in left_out else f"[+]{check} ok" for check in checks]
    return "\n".join([*lines, f"{name} check passed", ""]).encode()
