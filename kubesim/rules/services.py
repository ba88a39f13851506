"""Rules for Services: types, ports, addresses and what goes with them, and what may change."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from kubesim.defaults.network import is_outward
from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules.containers import PROTOCOLS
from kubesim.rules.labels import labels
from kubesim.schema.values import (
    address,
    chosen,
    duplicate,
    each,
    label,
    needed,
    network,
    one_of,
    port,
    port_number,
    qualified,
    subdomain,
)
from kubesim.store.versions import Tree

HEADLESS = "None"
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_MOST_AFFINITY_SECONDS = 86400
_ONLY_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
_SET_ONCE = "may not change once set"


def is_headless(spec: Tree) -> bool:
    return spec.get("clusterIPs") == [HEADLESS]


def needs_health_check(spec: Tree) -> bool:
    """Whether nodes tell a load balancer if they have endpoints."""
    return bool(spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


def service(tree: Tree) -> Iterator[Cause]:
    spec = tree["spec"]
    ports, kind = spec.get("ports") or [], spec["type"]
    if not ports and not is_headless(spec) and kind != "ExternalName":
        yield required("spec.ports")
    yield from _of_type(spec, kind)
    names: list[str] = []
    for index, entry in enumerate(ports):
        yield from _port(entry, names, f"spec.ports[{index}]", alone=len(ports) == 1)
    yield from labels(spec.get("selector"), "spec.selector")
    yield from one_of(spec.get("sessionAffinity"), ("ClientIP", "None"), "spec.sessionAffinity")
    if spec.get("sessionAffinity") == "ClientIP":
        yield from _affinity(spec.get("sessionAffinityConfig") or {})
    yield from addresses(spec)
    for index, value in enumerate(spec.get("externalIPs") or []):
        yield from each(address, value, f"spec.externalIPs[{index}]") or endpoint(value, f"spec.externalIPs[{index}]")
    if kind not in _TYPES:
        yield unsupported("spec.type", kind, _TYPES)
    yield from _distinct(ports, kind)
    yield from _balanced(spec, kind)
    yield from _traffic(spec)


def _of_type(spec: Tree, kind: str) -> Iterator[Cause]:
    if kind in ("LoadBalancer", "NodePort"):
        if is_headless(spec):
            yield wrong("spec.clusterIPs[0]", HEADLESS, f"may not be set to 'None' for {kind} services")
    elif kind == "ExternalName":
        for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(key):
                yield not_allowed(f"spec.{key}", "may not be set for ExternalName services")
        yield from needed(subdomain, (spec.get("externalName") or "").removesuffix("."), "spec.externalName")


def _port(entry: Tree, names: list[str], at: str, *, alone: bool) -> Iterator[Cause]:
    name = entry.get("name") or ""
    if name:
        yield from each(label, name, f"{at}.name")
        if name in names:
            yield duplicate(f"{at}.name", name)
        names.append(name)
    elif not alone:
        yield required(f"{at}.name")
    yield from port_number(entry.get("port") or 0, f"{at}.port")
    yield from one_of(entry.get("protocol"), PROTOCOLS, f"{at}.protocol")
    yield from port(entry.get("targetPort") or 0, f"{at}.targetPort")
    if entry.get("appProtocol") is not None:
        yield from each(qualified, entry["appProtocol"], f"{at}.appProtocol")


def _affinity(config: Tree) -> Iterator[Cause]:
    at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
    seconds = (config.get("clientIP") or {}).get("timeoutSeconds") or 0
    if not 0 < seconds <= _MOST_AFFINITY_SECONDS:
        yield wrong(at, seconds, f"must be greater than 0 and less than {_MOST_AFFINITY_SECONDS}")


def addresses(spec: Tree) -> Iterator[Cause]:
    """How the addresses of a Service go together, and with its families."""
    if spec["type"] == "ExternalName":
        return
    first, all_of_them = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if first:
        if not all_of_them:
            yield required("spec.clusterIPs")
        elif all_of_them[0] != first:
            yield wrong("spec.clusterIPs", all_of_them, "first value must match `clusterIP`")
    elif all_of_them:
        yield wrong("spec.clusterIPs", all_of_them, "must be empty when `clusterIP` is not specified")
    families = spec.get("ipFamilies") or []
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            yield unsupported(f"spec.ipFamilies[{index}]", family, _FAMILIES)
        if family in families[:index]:
            yield duplicate(f"spec.ipFamilies[{index}]", family)
    yield from chosen(spec.get("ipFamilyPolicy"), _FAMILY_POLICIES, "spec.ipFamilyPolicy")
    yield from _each_address(all_of_them, families)


def _each_address(found: list[str], families: list[str]) -> Iterator[Cause]:
    bad = False
    for index, value in enumerate(found):
        if not index and value == HEADLESS:
            if len(found) > 1:
                bad = True
                yield wrong("spec.clusterIPs", found, "'None' must be the first and only value")
            continue
        problems = each(address, value, f"spec.clusterIPs[{index}]")
        bad = bad or bool(problems)
        yield from problems
    if len(found) > 2:
        yield wrong("spec.clusterIPs", found, "may only hold up to 2 values")
    if bad or found == [HEADLESS]:
        return
    if len(found) > 1 and len({family_of(value) for value in found}) == 1:
        yield wrong("spec.clusterIPs", found, "may specify no more than one IP for each IP family")
    for index, (value, family) in enumerate(zip(found, families, strict=False)):
        if family in _FAMILIES and family_of(value) != family:
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield wrong(f"spec.clusterIPs[{index}]", value, text)


def family_of(value: str) -> str:
    """The family of an address that is sound."""
    return f"IPv{ipaddress.ip_address(value).version}"


def endpoint(value: str, at: str) -> Iterator[Cause]:
    """An address that others can reach."""
    try:
        found = ipaddress.ip_address(value)
    except ValueError:
        yield wrong(at, value, "must be a valid IP address")
        return
    if found.is_unspecified:
        yield wrong(at, value, f"may not be unspecified ({value})")
    if found.is_loopback:
        yield wrong(at, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if found.is_link_local:
        yield wrong(at, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")


def _distinct(ports: list[Tree], kind: str) -> Iterator[Cause]:
    if kind == "ClusterIP":
        for index, entry in enumerate(ports):
            if entry.get("nodePort"):
                text = "may not be used when `type` is 'ClusterIP'"
                yield not_allowed(f"spec.ports[{index}].nodePort", text)
    for field, at in (("nodePort", ".nodePort"), ("port", "")):
        seen: list[tuple[object, object]] = []
        for index, entry in enumerate(ports):
            key = (entry.get("protocol"), entry.get(field) or 0)
            if key in seen and (key[1] or field == "port"):
                value: object = key[1]
                if field == "port":
                    value = {
                        "Name": "",
                        "Protocol": key[0],
                        "AppProtocol": None,
                        "Port": key[1],
                        "TargetPort": 0,
                        "NodePort": 0,
                    }
                yield duplicate(f"spec.ports[{index}]{at}", value)
            seen.append(key)


def _balanced(spec: Tree, kind: str) -> Iterator[Cause]:
    """Wishes that only a load balancer can fulfil."""
    at = "spec.LoadBalancerSourceRanges"
    if ranges := spec.get("loadBalancerSourceRanges"):
        if kind != "LoadBalancer":
            yield not_allowed(at, _ONLY_BALANCERS)
        for index, value in enumerate(ranges):
            yield from each(network, value.strip(), f"{at}[{index}]")
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        yield not_allowed("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCERS)
    if spec.get("loadBalancerClass") is not None:
        if kind == "LoadBalancer":
            yield from each(qualified, spec["loadBalancerClass"], "spec.loadBalancerClass")
        else:
            yield not_allowed("spec.loadBalancerClass", _ONLY_BALANCERS)


def _traffic(spec: Tree) -> Iterator[Cause]:
    policy = spec.get("externalTrafficPolicy") or ""
    if is_outward(spec):
        yield from one_of(policy, ("Cluster", "Local"), "spec.externalTrafficPolicy")
    elif policy:
        yield wrong("spec.externalTrafficPolicy", policy, "may only be set for externally-accessible services")
    health = spec.get("healthCheckNodePort") or 0
    if needs_health_check(spec):
        if health:
            yield from port_number(health, "spec.healthCheckNodePort")
    elif health:
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield wrong("spec.healthCheckNodePort", health, text)
    yield from chosen(spec.get("internalTrafficPolicy"), ("Cluster", "Local"), "spec.internalTrafficPolicy")
    yield from chosen(spec.get("trafficDistribution"), _DISTRIBUTIONS, "spec.trafficDistribution")


def changed_service(old: Tree, new: Tree) -> Iterator[Cause]:
    """Addresses and families stay, except where a Service becomes an alias or was one."""
    before, after = old["spec"], new["spec"]
    if "ExternalName" not in (before["type"], after["type"]):
        yield from _changed_addresses(before, after)
    if before["type"] == after["type"] == "LoadBalancer" and _differ(before, after, "loadBalancerClass"):
        yield wrong("spec.loadBalancerClass", after.get("loadBalancerClass"), _SET_ONCE)
    checked = needs_health_check(before) and needs_health_check(after)
    if checked and _differ(before, after, "healthCheckNodePort"):
        yield not_allowed("spec.healthCheckNodePort", "field is immutable")
    yield from service(new)


def _differ(before: Tree, after: Tree, key: str) -> bool:
    return bool(before.get(key) != after.get(key))


def _changed_addresses(before: Tree, after: Tree) -> Iterator[Cause]:
    if is_headless(before) and is_headless(after):
        return
    old, new = before.get("clusterIPs") or [], after.get("clusterIPs") or []
    if old and not new:
        yield wrong("spec.clusterIPs[0]", new, "primary clusterIP can not be unset")
    for index, (was, now) in enumerate(zip(old, new, strict=False)):
        if was != now:
            yield wrong(f"spec.clusterIPs[{index}]", new, _SET_ONCE)
    if is_headless(before) != is_headless(after):
        return
    families = before.get("ipFamilies") or [], after.get("ipFamilies") or []
    if any(was != now for was, now in zip(*families, strict=False)):
        yield wrong("spec.ipFamilies[0]", families[1], _SET_ONCE)


def status(_old: Tree, new: Tree) -> Iterator[Cause]:
    """Where a load balancer is reached."""
    balancer = (new.get("status") or {}).get("loadBalancer") or {}
    at = "status.loadBalancer.ingress"
    if new["spec"]["type"] != "LoadBalancer":
        if balancer.get("ingress"):
            yield not_allowed(at, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for index, entry in enumerate(balancer.get("ingress") or []):
        path = f"{at}[{index}]"
        if entry.get("ip"):
            yield from each(address, entry["ip"], f"{path}.ip")
            yield from chosen(entry.get("ipMode"), ("Proxy", "VIP"), f"{path}.ipMode")
        elif entry.get("ipMode") is not None:
            yield not_allowed(f"{path}.ipMode", "may not be specified when `ip` is not set")
        if entry.get("hostname"):
            yield from each(subdomain, entry["hostname"], f"{path}.hostname")
