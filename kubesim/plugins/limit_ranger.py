"""What the limits of a namespace do to pods and claims: defaults for containers, and refusals beyond the limits."""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.objects.meta import Resource
from kubeloop.quantities import quantity
from kubesim.defaults.pods import together
from kubesim.errors import StatusError, forbidden
from kubesim.kinds.registry import PODS
from kubesim.store.versions import Tree

_NOTE = "kubernetes.io/limit-ranger"
_GROUPS = (("containers", "container"), ("initContainers", "init container"))


def admit_pod(tree: Tree, ranges: list[Tree]) -> None:
    """Completes the requests and limits of containers; raises when they are beyond what is allowed."""
    for found in ranges:
        _complete(tree, found)
    for found in ranges:
        _check(PODS, tree, list(_broken(tree["spec"], found)))


def _complete(tree: Tree, found: Tree) -> None:
    defaults: dict[str, dict[str, str]] = {"limits": {}, "requests": {}}
    for limit in found["spec"].get("limits") or []:
        if limit.get("type") == "Container":
            defaults["requests"] |= limit.get("defaultRequest") or {}
            defaults["limits"] |= limit.get("default") or {}
    notes: list[str] = []
    for group, word in _GROUPS:
        for container in tree["spec"].get(group) or []:
            resources = container.setdefault("resources", {})
            told = {}
            for field in ("limits", "requests"):
                missing = {
                    name: value for name, value in defaults[field].items() if name not in (resources.get(field) or {})
                }
                if missing:
                    resources[field] = (resources.get(field) or {}) | missing
                    told[field] = f"{', '.join(sorted(missing))} {field[:-1]} for {word} {container.get('name')}"
            notes += [told[field] for field in ("requests", "limits") if field in told]
    if notes:
        tree["metadata"].setdefault("annotations", {})[_NOTE] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _broken(spec: Tree, found: Tree) -> Iterator[str]:
    for limit in found["spec"].get("limits") or []:
        kind = limit.get("type")
        if kind == "Container":
            for group, _ in _GROUPS:
                for container in spec.get(group) or []:
                    resources = container.get("resources") or {}
                    yield from _beyond(limit, resources.get("requests") or {}, resources.get("limits") or {})
        elif kind == "Pod":
            yield from _beyond(limit, together(spec, "requests"), together(spec, "limits"))


def _beyond(limit: Tree, requests: dict[str, str], limits: dict[str, str]) -> Iterator[str]:
    kind = limit["type"]
    for name, bound in sorted((limit.get("min") or {}).items()):
        text = f"minimum {name} usage per {kind} is {bound}"
        if name not in requests:
            yield f"{text}.  No request is specified"
        elif quantity(requests[name]) < quantity(bound):
            yield f"{text}, but request is {requests[name]}"
        elif name in limits and quantity(limits[name]) < quantity(bound):
            yield f"{text}, but limit is {limits[name]}"
    for name, bound in sorted((limit.get("max") or {}).items()):
        text = f"maximum {name} usage per {kind} is {bound}"
        if name not in limits:
            yield f"{text}.  No limit is specified"
        elif quantity(limits[name]) > quantity(bound):
            yield f"{text}, but limit is {limits[name]}"
        elif name in requests and quantity(requests[name]) > quantity(bound):
            yield f"{text}, but request is {requests[name]}"
    for name, bound in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
        yield from _ratio(name, kind, bound, requests.get(name), limits.get(name))


def _ratio(name: str, kind: str, bound: str, request: str | None, limit: str | None) -> Iterator[str]:
    text = f"{name} max limit to request ratio per {kind} is {bound}, but"
    if request is None or not quantity(request):
        yield f"{text} no request is specified or request is 0"
    elif limit is None or not quantity(limit):
        yield f"{text} no limit is specified or limit is 0"
    elif quantity(limit) / quantity(request) > quantity(bound):
        yield f"{text} provided ratio is {float(quantity(limit) / quantity(request)):f}"


def admit_claim(tree: Tree, ranges: list[Tree], resource: Resource) -> None:
    """Raises when a claim asks for more or less than is allowed."""
    requests = (tree["spec"].get("resources") or {}).get("requests") or {}
    for found in ranges:
        texts: list[str] = []
        for limit in found["spec"].get("limits") or []:
            if limit.get("type") == "PersistentVolumeClaim":
                texts += _beyond({"type": limit["type"], "min": limit.get("min")}, requests, {})
                texts += _beyond({"type": limit["type"], "max": limit.get("max")}, {}, requests)
        _check(
            resource, tree, [text.replace("limit is", "request is").replace("No limit", "No request") for text in texts]
        )


def _check(resource: Resource, tree: Tree, texts: list[str]) -> None:
    if texts:
        raise _refused(resource, tree, texts)


def _refused(resource: Resource, tree: Tree, texts: list[str]) -> StatusError:
    """Several reasons are told in brackets."""
    distinct = list(dict.fromkeys(texts))
    why = distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
    return forbidden(resource, tree["metadata"].get("name") or "", why)
