"""HTTPRoutes, VirtualServices and TrafficSplits as `routes` speaks of them."""

from __future__ import annotations

import re
from typing import Any

from fairlead.contracts.plans.decide.traffic.routes import ALL, Backend, Dialect, number, text
from fairlead.contracts.plans.kinds import Json, TrafficMatch

_SERVICE_LABELS = 2
"""Labels of a host that name a Service with its namespace; more of them are `svc` and the domain of the cluster."""


def _http_backend(backend: Json, namespace: str) -> Backend | None:
    if text(backend.get("group")) or (backend.get("kind") or "Service") != "Service":
        return None
    port = backend.get("port")
    found = text(backend.get("namespace")) or namespace
    return Backend(text(backend.get("name")), found, port if isinstance(port, int) else None)


def _http_copy(entry: Json, match: TrafficMatch) -> Json | None:
    """Without its name, which is the entry's alone; a match that asks for the header already stays the entry's."""
    given = entry.get("matches")
    matches = given if isinstance(given, list) and given else [{"path": {"type": "PathPrefix", "value": "/"}}]
    found = [
        {**each, "headers": [*_headers(each), _http_header(match)]}
        for each in matches
        if isinstance(each, dict) and match.header.lower() not in (_name(header) for header in _headers(each))
    ]
    return {**_unnamed(entry), "matches": found} if found else None


def _headers(match: Json) -> list[Any]:
    found = match.get("headers")
    return found if isinstance(found, list) else []


def _name(header: object) -> str:
    return text(header.get("name")).lower() if isinstance(header, dict) else ""


def _http_header(match: TrafficMatch) -> Json:
    """There is no prefix there, so it is an expression that the whole value matches."""
    if match.exact is not None:
        return {"type": "Exact", "name": match.header, "value": match.exact}
    value = match.regex if match.regex is not None else f"^{re.escape(match.prefix or '')}.*"
    return {"type": "RegularExpression", "name": match.header, "value": value}


def _unnamed(entry: Json) -> Json:
    return {key: value for key, value in entry.items() if key != "name"}


def _destination(backend: Json) -> Json:
    found = backend.get("destination")
    return found if isinstance(found, dict) else {}


def _istio_backend(backend: Json, namespace: str) -> Backend | None:
    """A host is a Service of the route's namespace, or names another: `shop`, `shop.prod`, `shop.prod.svc.…`."""
    destination = _destination(backend)
    labels = text(destination.get("host")).split(".")
    port = destination.get("port")
    numbered = port.get("number") if isinstance(port, dict) else None
    given = numbered if isinstance(numbered, int) else None
    if len(labels) == 1:
        return Backend(labels[0], namespace, given)
    if len(labels) > _SERVICE_LABELS and labels[_SERVICE_LABELS] != "svc":
        return None
    return Backend(labels[0], labels[1], given)


def _istio_renamed(backend: Json, service: str) -> Json:
    """A subset is one of its own host, so it does not go with another."""
    destination = {key: value for key, value in _destination(backend).items() if key != "subset"}
    _, dot, domain = text(destination.get("host")).partition(".")
    return {**backend, "destination": {**destination, "host": f"{service}{dot}{domain}"}}


def _istio_copy(entry: Json, match: TrafficMatch) -> Json | None:
    given = entry.get("match")
    matches = given if isinstance(given, list) and given else [{}]
    header = match.header.lower()
    found = []
    for each in matches:
        headers = each.get("headers") if isinstance(each, dict) else None
        named = headers if isinstance(headers, dict) else {}
        if isinstance(each, dict) and header not in (name.lower() for name in named):
            found.append({**each, "headers": {**named, header: _istio_header(match)}})
    return {**_unnamed(entry), "match": found} if found else None


def _istio_header(match: TrafficMatch) -> Json:
    if match.exact is not None:
        return {"exact": match.exact}
    return {"prefix": match.prefix} if match.prefix is not None else {"regex": match.regex or ""}


GATEWAY_API = Dialect(
    provider="gatewayapi",
    group="gateway.networking.k8s.io",
    kind="HTTPRoute",
    versions=("v1", "v1beta1"),
    lists=("rules",),
    backends="backendRefs",
    read=_http_backend,
    renamed=lambda backend, service: {**backend, "name": service},
    weight=lambda backend, _is_only: number(backend.get("weight"), 1),
    copied=_http_copy,
    copied_in="rules",
    matches="matches",
)
ISTIO = Dialect(
    provider="istio",
    group="networking.istio.io",
    kind="VirtualService",
    versions=("v1", "v1beta1"),
    lists=("http", "tcp"),
    backends="route",
    read=_istio_backend,
    renamed=_istio_renamed,
    weight=lambda backend, is_only: ALL if is_only else number(backend.get("weight"), 0),
    copied=_istio_copy,
    copied_in="http",
    matches="match",
)
SMI = Dialect(
    provider="smi",
    group="split.smi-spec.io",
    kind="TrafficSplit",
    versions=("v1alpha2",),
    lists=(),
    backends="backends",
    read=lambda backend, namespace: Backend(text(backend.get("service")), namespace),
    renamed=lambda backend, service: {**backend, "service": service},
    weight=lambda backend, _is_only: number(backend.get("weight"), 0),
    is_created=True,
    crosses=False,
)
DIALECTS = {each.provider: each for each in (GATEWAY_API, ISTIO, SMI)}
