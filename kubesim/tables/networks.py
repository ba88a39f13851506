"""Rows of what pods are reached by."""

from __future__ import annotations

from typing import Any

from kubesim.store.versions import Tree
from kubesim.tables.printing import (
    NONE,
    UNKNOWN,
    UNSET,
    Cells,
    Printer,
    abridged,
    age,
    at,
    columns,
    items,
    labels,
    name_of,
    selector,
    text,
)

_MOST = 3
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _service(tree: Tree) -> Cells:
    return [
        name_of(tree),
        text(tree, "spec", "type"),
        next(iter(items(tree, "spec", "clusterIPs")), NONE),
        _external(tree),
        ",".join(_port(each) for each in items(tree, "spec", "ports")) or NONE,
        age(tree),
        labels(at(tree, "spec", "selector")),
    ]


def _external(tree: Tree) -> str:
    outside = items(tree, "spec", "externalIPs")
    match at(tree, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(outside) or NONE
        case "LoadBalancer":
            balanced = _balanced(tree)
            return ",".join([*balanced, *outside]) or "<pending>"
        case "ExternalName":
            return text(tree, "spec", "externalName")
        case _:
            return UNKNOWN


def _balanced(tree: Tree) -> list[str]:
    """Where a load balancer is reached."""
    found = (each.get("ip") or each.get("hostname") for each in items(tree, "status", "loadBalancer", "ingress"))
    return sorted({each for each in found if each})


def _port(port: Tree) -> str:
    number, protocol = port.get("port"), port.get("protocol", "")
    return f"{number}:{port['nodePort']}/{protocol}" if port.get("nodePort") else f"{number}/{protocol}"


def _endpoints(tree: Tree) -> Cells:
    subsets = items(tree, "subsets")
    if not subsets:
        return [name_of(tree), NONE, age(tree)]
    found = [
        _joined(each.get("ip", ""), port)
        for subset in subsets
        for port in items(subset, "ports") or [{}]
        for each in items(subset, "addresses")
    ]
    return [name_of(tree), abridged(found, len(found), _MOST), age(tree)]


def _joined(host: str, port: Tree) -> str:
    if not port:
        return host
    return f"[{host}]:{port.get('port')}" if ":" in host else f"{host}:{port.get('port')}"


def _endpoint_slice(tree: Tree) -> Cells:
    ports = [_slice_port(each) for each in items(tree, "ports")]
    addresses = [address for each in items(tree, "endpoints") for address in items(each, "addresses")]
    shown = [abridged(each, len(each), _MOST) or UNSET for each in (ports, addresses)]
    return [name_of(tree), text(tree, "addressType"), *shown, age(tree)]


def _slice_port(port: Tree) -> str:
    for key in ("port", "name"):
        if port.get(key) is not None:
            return str(port[key])
    return "*"


def _ingress(tree: Tree) -> Cells:
    return [
        name_of(tree),
        text(tree, "spec", "ingressClassName") or NONE,
        _hosts(items(tree, "spec", "rules")),
        ",".join(_balanced(tree)),
        "80, 443" if items(tree, "spec", "tls") else "80",
        age(tree),
    ]


def _hosts(rules: list[Any]) -> str:
    """The first hosts; with more rules left after them, how many."""
    shown: list[str] = []
    for rule in rules:
        if len(shown) == _MOST:
            return f"{','.join(shown)} + {len(rules) - _MOST} more..."
        if rule.get("host"):
            shown.append(rule["host"])
    return ",".join(shown) or "*"


def _ingress_class(tree: Tree) -> Cells:
    marked = at(tree, "metadata", "annotations", _DEFAULT_CLASS) == "true"
    parameters, shown = at(tree, "spec", "parameters"), NONE
    if parameters is not None:
        group = parameters.get("apiGroup")
        kind = f"{text(parameters, 'kind')}.{group}" if group is not None else text(parameters, "kind")
        shown = f"{kind}/{text(parameters, 'name')}"
    name = f"{name_of(tree)} (default)" if marked else name_of(tree)
    return [name, text(tree, "spec", "controller"), shown, age(tree)]


def _network_policy(tree: Tree) -> Cells:
    return [name_of(tree), selector(at(tree, "spec", "podSelector")) or NONE, age(tree)]


PRINTERS = {
    "EndpointSlice": Printer(columns("AddressType,Ports,Endpoints,Age"), _endpoint_slice),
    "Endpoints": Printer(columns("Endpoints,Age"), _endpoints),
    "Ingress": Printer(columns("Class,Hosts,Address,Ports,Age"), _ingress),
    "IngressClass": Printer(columns("Controller,Parameters,Age"), _ingress_class),
    "NetworkPolicy": Printer(columns("Pod-Selector,Age"), _network_policy),
    "Service": Printer(columns("Type,Cluster-IP,External-IP,Port(s),Age", "Selector"), _service),
}
