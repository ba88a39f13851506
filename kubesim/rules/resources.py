"""Rules for what containers and pods ask for: names of resources, amounts, requests within limits."""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.quantities import quantity
from kubesim.defaults.pods import together
from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.schema.values import NEGATIVE, duplicate, each, label, not_there, qualified
from kubesim.store.versions import Tree

_FOR_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
_STANDARD = (
    *_FOR_CONTAINERS,
    *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _FOR_CONTAINERS),
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
)
_WHOLE = (
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_FOR_PODS = ("cpu", "memory")
HUGE_PAGES = "hugepages-"
NATIVE = "kubernetes.io/"


def requirements(resources: Tree, claims: tuple[str, ...], at: str, *, of_pod: bool = False) -> Iterator[Cause]:
    """Broken rules of requests and limits; causes come in the order of the names, the server has them in none."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name in sorted(limits):
        yield from _amount(name, limits[name], f"{at}.limits[{name}]", of_pod)
    for name in sorted(requests):
        yield from _amount(name, requests[name], f"{at}.requests[{name}]", of_pod)
        yield from _within(name, requests[name], limits.get(name), at)
    names = [*limits, *requests]
    if any(name.startswith(HUGE_PAGES) for name in names) and "cpu" not in names and "memory" not in names:
        yield not_allowed(at, "HugePages require cpu or memory")
    if resources.get("claims"):
        yield from _claims(resources["claims"], claims, f"{at}.claims")


def _amount(name: str, value: str, at: str, of_pod: bool) -> Iterator[Cause]:
    yield from (_pod_name if of_pod else _container_name)(name, at)
    yield from amount(name, value, at)


def resource_name(name: str, at: str) -> list[Cause]:
    """A resource that is known, or one that somebody's domain stands before."""
    causes = each(qualified, name, at)
    if not causes and "/" not in name and not is_standard(name):
        causes.append(wrong(at, name, "must be a standard resource type or fully qualified"))
    return causes


def is_standard(name: str) -> bool:
    return name in _STANDARD or name.startswith(HUGE_PAGES)


def _container_name(name: str, at: str) -> Iterator[Cause]:
    if name in _FOR_CONTAINERS:
        return
    yield from resource_name(name, at)
    if "/" not in name:
        if not name.startswith(HUGE_PAGES):
            yield wrong(at, name, "must be a standard resource for containers")
    elif NATIVE not in name and not is_extended(name):
        yield wrong(at, name, "doesn't follow extended resource name standard")


def _pod_name(name: str, at: str) -> list[Cause]:
    causes = resource_name(name, at)
    if not causes and name not in _FOR_PODS and not name.startswith(HUGE_PAGES):
        causes.append(unsupported(at, name, ("cpu", "hugepages-", "memory")))
    return causes


def is_extended(name: str) -> bool:
    """Whether a resource is one that somebody added to the cluster."""
    if "/" not in name or NATIVE in name or name.startswith("requests."):
        return False
    return not qualified(f"requests.{name}")


def amount(name: str, value: str, at: str) -> Iterator[Cause]:
    """An amount of a resource; of some there are no parts."""
    number = quantity(value)
    if number < 0:
        yield wrong(at, value, NEGATIVE)
    if (name in _WHOLE or is_extended(name)) and number * 1000 % 1000:
        yield wrong(at, value, "must be an integer")


def _within(name: str, request: str, limit: str | None, at: str) -> Iterator[Cause]:
    flexible = ("/" not in name or NATIVE in name) and not name.startswith(HUGE_PAGES)
    if limit is None:
        if not flexible:
            yield required(f"{at}.limits", "Limit must be set for non overcommitable resources")
    elif not flexible and quantity(request) != quantity(limit):
        yield wrong(f"{at}.requests", request, f"must be equal to {name} limit of {limit}")
    elif quantity(request) > quantity(limit):
        yield wrong(f"{at}.requests", request, f"must be less than or equal to {name} limit of {limit}")


def _claims(claims: list[Tree], known: tuple[str, ...], at: str) -> Iterator[Cause]:
    names: list[str] = []
    for index, claim in enumerate(claims):
        path, name = f"{at}[{index}]", claim.get("name") or ""
        if not name:
            yield required(path)
            continue
        request = claim.get("request") or ""
        if request:
            yield from each(label, request, f"{path}.request")
        key = f"{name}/{request}" if request else name
        if name in names or key in names:
            yield duplicate(path, name if name in names else key)
        names.append(key)
        if name not in known:
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            cause = not_there(path, name)
            text = f"{cause.message}: must be one of the names in pod.spec.resourceClaims{listed}"
            yield Cause(cause.reason, text, cause.field)


def pod_level(spec: Tree, at: str) -> Iterator[Cause]:
    """What a pod asks for as a whole: no less than its containers do."""
    resources = spec["resources"]
    path = f"{at}.resources"
    if resources.get("claims") is not None:
        yield not_allowed(f"{path}.claims", "claims may not be set for Resources at pod-level")
    yield from requirements(resources, (), path, of_pod=True)
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, asked in sorted(together(spec, "requests").items()):
        if name in requests and quantity(asked) > quantity(requests[name]):
            text = f"must be greater than or equal to aggregate container requests of {asked}"
            yield wrong(f"{path}.requests[{name}]", requests[name], text)
    for index, container in enumerate(spec.get("containers") or []):
        for name, limit in sorted(((container.get("resources") or {}).get("limits") or {}).items()):
            if name in limits and quantity(limit) > quantity(limits[name]):
                text = f"must be less than or equal to pod limits of {limits[name]}"
                yield wrong(f"{path}.containers[{index}][{name}].limits", limit, text)
