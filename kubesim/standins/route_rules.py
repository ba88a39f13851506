"""Where a request goes by HTTPRoutes, VirtualServices and TrafficSplits, as the stand-in gateway reads them.

Each kind comes down to the same rules: alternatives of what a request must have, and Services with weights. What a
route has beside that (filters, retries, mirrors) changes no destination here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from kubeloop.objects.meta import Resource

HTTP_ROUTES = Resource("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
VIRTUAL_SERVICES = Resource("networking.istio.io", "v1", "virtualservices", "VirtualService")
TRAFFIC_SPLITS = Resource("split.smi-spec.io", "v1alpha2", "trafficsplits", "TrafficSplit")
KINDS = (HTTP_ROUTES, VIRTUAL_SERVICES, TRAFFIC_SPLITS)

Tree = Mapping[str, Any]
_SERVICE_LABELS = 2


class GatewayRequest(Struct, frozen=True):
    """`host` is a name that routes are about; headers have lower-case names."""

    host: str = ""
    path: str = "/"
    method: str = "GET"
    headers: Mapping[str, str] = {}


class RouteMatch(Struct, frozen=True):
    """Everything that a request must have; the weight of it says which rule of an HTTPRoute goes first."""

    holds: Callable[[GatewayRequest], bool]
    rank: tuple[int, ...] = ()


class RouteRule(Struct, frozen=True):
    key: str
    """Tells it from all other rules."""
    matches: tuple[RouteMatch, ...]
    backends: tuple[tuple[str, str, int], ...]
    """Namespace, name and weight of Services."""

    def rank(self, request: GatewayRequest) -> tuple[int, ...] | None:
        """Of the best alternative that the request meets; None where it meets none."""
        return max((each.rank for each in self.matches if each.holds(request)), default=None)


def chosen(routes: Sequence[tuple[Resource, Tree]], request: GatewayRequest) -> RouteRule | None:
    """The rule that the request goes by: the best of HTTPRoutes, the first of a VirtualService."""
    best: RouteRule | None = None
    rank: tuple[int, ...] = ()
    for resource, tree in routes:
        for rule in rules_of(resource, tree, request.host):
            found = rule.rank(request)
            if found is None:
                continue
            if resource.kind != HTTP_ROUTES.kind:
                return rule
            if best is None or found > rank:
                best, rank = rule, found
    return best


def rules_of(resource: Resource, tree: Tree, host: str) -> Iterator[RouteRule]:
    """Those of a route for requests to this host; none where it is about others."""
    metadata, spec = tree.get("metadata") or {}, tree.get("spec") or {}
    namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
    key = f"{resource.kind} {namespace}/{name}"
    if resource.kind == HTTP_ROUTES.kind:
        if _is_named(host, spec.get("hostnames") or ["*"]):
            yield from _http_rules(key, namespace, spec)
    elif resource.kind == VIRTUAL_SERVICES.kind:
        if _is_named(host, spec.get("hosts") or ()):
            yield from _virtual_rules(key, namespace, spec)
    elif _is_named(host, (spec.get("service", ""),)):
        backends = tuple((namespace, each["service"], int(each.get("weight", 0))) for each in spec.get("backends", ()))
        yield RouteRule(key, (RouteMatch(lambda _request: True),), backends)


def _is_named(host: str, names: Sequence[str]) -> bool:
    return any(name in ("*", host) or (name.startswith("*.") and host.endswith(name[1:])) for name in names)


def _http_rules(key: str, namespace: str, spec: Tree) -> Iterator[RouteRule]:
    for place, rule in enumerate(spec.get("rules") or ()):
        refs = [each for each in rule.get("backendRefs") or () if each.get("kind", "Service") == "Service"]
        yield RouteRule(
            f"{key} {place}",
            tuple(_http_match(each) for each in rule.get("matches") or [{}]),
            tuple((each.get("namespace") or namespace, each["name"], int(each.get("weight", 1))) for each in refs),
        )


def _http_match(match: Tree) -> RouteMatch:
    """Ranked as the Gateway API says: an exact path, then the longest prefix, a method, and most headers."""
    path = match.get("path") or {"type": "PathPrefix", "value": "/"}
    kind, value = path.get("type", "PathPrefix"), path.get("value", "/")
    headers = [(each["name"].lower(), _value_test(each)) for each in match.get("headers") or ()]
    method = match.get("method")
    tests: dict[str, Callable[[str], bool]] = {
        "Exact": lambda asked: asked == value,
        "RegularExpression": lambda asked: re.fullmatch(value, asked) is not None,
        "PathPrefix": lambda asked: _is_under(asked, value),
    }

    def holds(request: GatewayRequest) -> bool:
        if method not in (None, request.method) or not tests[kind](request.path):
            return False
        return all(name in request.headers and test(request.headers[name]) for name, test in headers)

    return RouteMatch(holds, (int(kind == "Exact"), len(value), int(method is not None), len(headers)))


def _is_under(path: str, prefix: str) -> bool:
    bare = prefix.rstrip("/")
    return path == bare or path.startswith(f"{bare}/")


def _value_test(header: Tree) -> Callable[[str], bool]:
    value = header["value"]
    if header.get("type", "Exact") == "Exact":
        return lambda found: found == value
    return lambda found: re.fullmatch(value, found) is not None


def _virtual_rules(key: str, namespace: str, spec: Tree) -> Iterator[RouteRule]:
    for place, entry in enumerate(spec.get("http") or ()):
        routes = entry.get("route") or ()
        if not routes:
            continue
        backends = tuple(
            (*_service(each["destination"]["host"], namespace), 100 if len(routes) == 1 else int(each.get("weight", 0)))
            for each in routes
        )
        matches = tuple(_virtual_match(each) for each in entry.get("match") or [{}])
        yield RouteRule(f"{key} {place}", matches, backends)


def _service(host: str, namespace: str) -> tuple[str, str]:
    labels = host.split(".")
    return (labels[1] if len(labels) >= _SERVICE_LABELS else namespace), labels[0]


def _virtual_match(match: Tree) -> RouteMatch:
    uri, headers = match.get("uri"), match.get("headers") or {}

    def holds(request: GatewayRequest) -> bool:
        if uri is not None and not _text_test(uri)(request.path):
            return False
        return all(
            name.lower() in request.headers and _text_test(test)(request.headers[name.lower()])
            for name, test in headers.items()
        )

    return RouteMatch(holds)


def _text_test(test: Tree) -> Callable[[str], bool]:
    """An empty one asks for presence alone."""
    if "exact" in test:
        return lambda found: found == test["exact"]
    if "prefix" in test:
        return lambda found: found.startswith(test["prefix"])
    return lambda found: re.fullmatch(test.get("regex", ".*"), found) is not None
