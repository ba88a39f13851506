"""Defaults of kinds that say who reaches whom: Services and their endpoints, Ingresses, network policies."""

from __future__ import annotations

from kubesim.defaults.values import absent, child, has, items, unset
from kubesim.store.versions import Tree

_AFFINITY_SECONDS = 10800
OUTWARD = ("NodePort", "LoadBalancer")
"""Types of Services that are reached from outside."""


def service(tree: Tree) -> None:
    spec = child(tree, "spec")
    unset(spec, "sessionAffinity", "None")
    _affinity(spec)
    unset(spec, "type", "ClusterIP")
    for port in items(spec, "ports"):
        unset(port, "protocol", "TCP")
        unset(port, "targetPort", port.get("port"))
    if is_outward(spec):
        unset(spec, "externalTrafficPolicy", "Cluster")
    if spec["type"] in ("ClusterIP", *OUTWARD):
        absent(spec, "internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        absent(spec, "allocateLoadBalancerNodePorts", True)
    service_status(spec, child(tree, "status"))


def service_status(spec: Tree, status: Tree) -> None:
    """The status of a Service, which is completed when it is written by itself, too."""
    balancer = child(status, "loadBalancer")
    if spec["type"] == "LoadBalancer":
        for ingress in items(balancer, "ingress"):
            if ingress.get("ip"):
                absent(ingress, "ipMode", "VIP")


def is_outward(spec: Tree) -> bool:
    """Whether a Service is reached from outside the cluster."""
    return spec["type"] in OUTWARD or bool(spec["type"] == "ClusterIP" and spec.get("externalIPs"))


def _affinity(spec: Tree) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def endpoints(tree: Tree) -> None:
    for subset in items(tree, "subsets"):
        for port in items(subset, "ports"):
            unset(port, "protocol", "TCP")


def endpoint_slice(tree: Tree) -> None:
    for port in items(tree, "ports"):
        absent(port, "name", "")
        absent(port, "protocol", "TCP")


def ingress(tree: Tree) -> None:
    child(tree, "spec")
    child(child(tree, "status"), "loadBalancer")


def ingress_class(tree: Tree) -> None:
    spec = child(tree, "spec")
    if has(spec, "parameters"):
        absent(spec["parameters"], "scope", "Cluster")


def network_policy(tree: Tree) -> None:
    spec = child(tree, "spec")
    child(spec, "podSelector")
    for direction in ("ingress", "egress"):
        for rule in items(spec, direction):
            for port in items(rule, "ports"):
                absent(port, "protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
