"""Rules for endpoints, Ingresses and network policies."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules import roles
from kubesim.rules.containers import PROTOCOLS
from kubesim.rules.labels import selector
from kubesim.rules.services import endpoint, family_of
from kubesim.schema.values import (
    IMMUTABLE,
    address,
    duplicate,
    each,
    given,
    label,
    label_value,
    needed,
    network,
    one_of,
    port_name,
    port_number,
    qualified,
    subdomain,
    too_many,
    wildcard,
)
from kubesim.store.versions import Tree

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_POLICY_PROTOCOLS = ("TCP", "UDP", "SCTP")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_NOT_AN_ADDRESS = "must be a DNS name, not an IP address"
_MOST_ENDPOINTS = 1000
_MOST_ADDRESSES = 100
_MOST_HINTS = 8


# Endpoints


def endpoints(tree: Tree) -> Iterator[Cause]:
    for index, subset in enumerate(tree.get("subsets") or []):
        at = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(at, "must specify `addresses` or `notReadyAddresses`")
        for key in ("addresses", "notReadyAddresses"):
            for number, entry in enumerate(subset.get(key) or []):
                yield from _address(entry, f"{at}.{key}[{number}]")
        ports = subset.get("ports") or []
        for number, entry in enumerate(ports):
            yield from _endpoint_port(entry, f"{at}.ports[{number}]", alone=len(ports) == 1)


def _address(entry: Tree, at: str) -> Iterator[Cause]:
    yield from each(address, entry.get("ip") or "", f"{at}.ip")
    if entry.get("hostname"):
        yield from each(label, entry["hostname"], f"{at}.hostname")
    if entry.get("nodeName") is not None:
        yield from each(subdomain, entry["nodeName"], f"{at}.nodeName")
    yield from endpoint(entry.get("ip") or "", f"{at}.ip")


def _endpoint_port(entry: Tree, at: str, *, alone: bool) -> Iterator[Cause]:
    if entry.get("name"):
        yield from each(label, entry["name"], f"{at}.name")
    elif not alone:
        yield required(f"{at}.name")
    yield from port_number(entry.get("port") or 0, f"{at}.port")
    yield from one_of(entry.get("protocol"), PROTOCOLS, f"{at}.protocol")


def endpoint_slice(tree: Tree) -> Iterator[Cause]:
    kind = tree.get("addressType") or ""
    yield from one_of(kind, _ADDRESS_TYPES, "addressType")
    names: list[str] = []
    for index, entry in enumerate(tree.get("ports") or []):
        at, name = f"ports[{index}]", entry.get("name") or ""
        if name:
            yield from each(label, name, f"{at}.name")
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.append(name)
        yield from given(entry.get("protocol"), PROTOCOLS, f"{at}.protocol")
        if entry.get("appProtocol") is not None:
            yield from each(qualified, entry["appProtocol"], f"{at}.appProtocol")
    found = tree.get("endpoints") or []
    if len(found) > _MOST_ENDPOINTS:
        yield too_many("endpoints", len(found), _MOST_ENDPOINTS)
        return
    for index, entry in enumerate(found):
        yield from _endpoint(entry, kind, f"endpoints[{index}]")


def _endpoint(entry: Tree, kind: str, at: str) -> Iterator[Cause]:
    addresses = entry.get("addresses") or []
    if not addresses:
        yield required(f"{at}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        yield too_many(f"{at}.addresses", len(addresses), _MOST_ADDRESSES)
    for index, value in enumerate(addresses):
        path = f"{at}.addresses[{index}]"
        if kind == "FQDN":
            yield from each(subdomain, value, path)
        elif kind in _ADDRESS_TYPES:
            problems = each(address, value, path)
            yield from problems
            if not problems:
                if family_of(value) != kind:
                    yield wrong(f"{at}.addresses", value, f"must be an {kind} address")
                yield from endpoint(value, path)
    if entry.get("nodeName") is not None:
        yield from each(subdomain, entry["nodeName"], f"{at}.nodeName")
    if entry.get("hostname") is not None:
        yield from each(label, entry["hostname"], f"{at}.hostname")
    if entry.get("hints") is not None:
        yield from _hints(entry["hints"], f"{at}.hints")


def _hints(hints: Tree, at: str) -> Iterator[Cause]:
    """For whom an endpoint is meant: few zones or nodes, each once."""
    for key, check in (("forZones", label_value), ("forNodes", subdomain)):
        found = [entry.get("name") or "" for entry in hints.get(key) or []]
        if len(found) > _MOST_HINTS:
            yield too_many(f"{at}.{key}", len(found), _MOST_HINTS)
            return
        for index, name in enumerate(found):
            if name in found[:index]:
                yield duplicate(f"{at}.{key}[{index}].name", name)
            yield from each(check, name, f"{at}.{key}[{index}].name")


def changed_slice(old: Tree, new: Tree) -> Iterator[Cause]:
    if old.get("addressType") != new.get("addressType"):
        yield wrong("addressType", new.get("addressType") or "", IMMUTABLE)


# Ingresses


def ingress(tree: Tree) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and backend is None:
        yield wrong("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        yield from _backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        yield from _rule(rule, f"spec.rules[{index}]")
    for index, entry in enumerate(spec.get("tls") or []):
        for number, host in enumerate(entry.get("hosts") or []):
            yield from each(wildcard if "*" in host else subdomain, host, f"spec.tls[{index}].hosts[{number}]")
        if entry.get("secretName"):
            yield from each(subdomain, entry["secretName"], f"spec.tls[{index}].secretName")
    if spec.get("ingressClassName") is not None:
        yield from each(subdomain, spec["ingressClassName"], "spec.ingressClassName")


def _rule(rule: Tree, at: str) -> Iterator[Cause]:
    host = rule.get("host") or ""
    if host:
        if not address(host):
            yield wrong(f"{at}.host", host, _NOT_AN_ADDRESS)
        yield from each(wildcard if "*" in host else subdomain, host, f"{at}.host")
    http = rule.get("http")
    if http is None:
        return
    if not http.get("paths"):
        yield required(f"{at}.http.paths")
    for index, path in enumerate(http.get("paths") or []):
        yield from _path(path, f"{at}.http.paths[{index}]")


def _path(entry: Tree, at: str) -> Iterator[Cause]:
    kind, path = entry.get("pathType"), entry.get("path") or ""
    if kind is None:
        yield required(f"{at}.pathType", "pathType must be specified")
        return
    if kind in ("Exact", "Prefix"):
        if not path.startswith("/"):
            yield wrong(f"{at}.path", path, "must be an absolute path")
        for part in _BAD_PARTS:
            if part in path:
                yield wrong(f"{at}.path", path, f"must not contain '{part}'")
        for end in _BAD_ENDS:
            if path.endswith(end):
                yield wrong(f"{at}.path", path, f"cannot end with '{end}'")
    elif kind == "ImplementationSpecific":
        if path and not path.startswith("/"):
            yield wrong(f"{at}.path", path, "must be an absolute path")
    else:
        yield unsupported(f"{at}.pathType", kind, _PATH_TYPES)
    yield from _backend(entry.get("backend") or {}, f"{at}.backend")


def _backend(backend: Tree, at: str) -> Iterator[Cause]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        yield wrong(at, "", "cannot set both resource and service backends")
    elif resource is not None:
        for key in ("kind", "name"):
            if not resource.get(key):
                yield required(f"{at}.resource.{key}")
    elif service is None:
        yield wrong(at, "", "resource or service backend is required")
    else:
        yield from needed(label, service.get("name"), f"{at}.service.name")
        port = service.get("port") or {}
        if port.get("name") and port.get("number"):
            yield wrong(at, "", "cannot set both port name & port number")
        elif port.get("name"):
            yield from each(port_name, port["name"], f"{at}.service.port.name")
        elif port.get("number"):
            yield from port_number(port["number"], f"{at}.service.port.number")
        else:
            yield required(at, "port name or number is required")


def ingress_class(tree: Tree) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    controller = spec.get("controller") or ""
    host, slash, path = controller.partition("/")
    if not controller:
        yield required("spec.controller")
    elif not slash or not host or not path:
        yield wrong("spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from each(subdomain, host, "spec.controller")
    if (parameters := spec.get("parameters")) is not None:
        for key in ("kind", "name"):
            yield from needed(roles.segment_troubles, parameters.get(key), f"spec.parameters.{key}")
        yield from one_of(parameters.get("scope"), ("Cluster", "Namespace"), "spec.parameters.scope")
        if parameters.get("scope") == "Namespace" and not parameters.get("namespace"):
            yield required("spec.parameters.namespace", '`parameters.scope` is set to "Namespace"')


def changed_ingress_class(old: Tree, new: Tree) -> Iterator[Cause]:
    if old["spec"].get("controller") != new["spec"].get("controller"):
        yield wrong("spec.controller", new["spec"].get("controller") or "", IMMUTABLE)


# Network policies


def network_policy(tree: Tree) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    yield from selector(spec.get("podSelector"), "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or []):
            at = f"spec.{direction}[{index}]"
            for number, entry in enumerate(rule.get("ports") or []):
                yield from _policy_port(entry, f"{at}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or []):
                yield from _peer(peer, f"{at}.{peers}[{number}]")
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        yield wrong("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(types):
        if kind not in ("Ingress", "Egress"):
            yield unsupported(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


def _policy_port(entry: Tree, at: str) -> Iterator[Cause]:
    protocol, port, end = entry.get("protocol"), entry.get("port"), entry.get("endPort")
    if protocol is not None and protocol not in _POLICY_PROTOCOLS:
        yield unsupported(f"{at}.protocol", protocol, _POLICY_PROTOCOLS)
    if port is None:
        if end is not None:
            yield wrong(f"{at}.endPort", end, "may not be specified when `port` is not specified")
    elif isinstance(port, str):
        if end is not None:
            yield wrong(f"{at}.endPort", end, "may not be specified when `port` is non-numeric")
        yield from each(port_name, port, f"{at}.port")
    else:
        yield from port_number(port, f"{at}.port")
        if end is not None:
            if end < port:
                yield wrong(f"{at}.endPort", port, "must be greater than or equal to `port`")
            yield from port_number(end, f"{at}.endPort")


def _peer(peer: Tree, at: str) -> Iterator[Cause]:
    kinds = [key for key in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(key) is not None]
    for key in kinds:
        if key == "ipBlock":
            yield from _block(peer[key], f"{at}.ipBlock")
        else:
            yield from selector(peer[key], f"{at}.{key}")
    if not kinds:
        yield required(at, "must specify a peer")
    elif len(kinds) > 1 and "ipBlock" in kinds:
        yield not_allowed(at, "may not specify both ipBlock and another peer")


def _block(block: Tree, at: str) -> Iterator[Cause]:
    whole = block.get("cidr") or ""
    if not whole:
        yield required(f"{at}.cidr")
        return
    problems = each(network, whole, f"{at}.cidr")
    yield from problems
    if problems:
        return
    for index, part in enumerate(block.get("except") or []):
        path = f"{at}.except[{index}]"
        problems = each(network, part, path)
        yield from problems
        if not problems and not _is_part(part, whole):
            yield wrong(path, part, "must be a strict subset of `cidr`")


def _is_part(part: str, whole: str) -> bool:
    inner, outer = (ipaddress.ip_network(text, strict=False) for text in (part, whole))
    return inner.version == outer.version and inner != outer and inner[0] in outer and inner.prefixlen > outer.prefixlen
