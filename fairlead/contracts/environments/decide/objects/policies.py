"""Network policies: who may talk to the pods of an environment.

A policy for address ranges of which there are none has no rule, and so lets nothing through; a rule without sources
would let everything through.
"""

from __future__ import annotations

from fairlead.contracts.environments.decide.objects.owner import BALANCERD, CONSOLE, ENVIRONMENTD, Owner
from fairlead.contracts.environments.decide.objects.wanted import Wanted
from fairlead.contracts.environments.kinds import APP, NETWORK_POLICIES, RESOURCE_ID, Json, Text
from fairlead.contracts.environments.settings import Settings


def environment_policies(owner: Owner, settings: Settings) -> tuple[Wanted, ...]:
    """Those that are switched on."""
    policies = settings.network_policies
    chosen: list[Wanted] = []
    if policies.internal:
        chosen += [_within(owner), _from_operator(owner, settings)]
    if policies.ingress:
        ports = (settings.ports.balancerd_http, settings.ports.balancerd_sql)
        chosen.append(_ingress(owner, "sql-and-http-ingress", BALANCERD, ports, policies.ingress_cidrs))
    if policies.egress:
        chosen.append(_egress(owner, policies.egress_cidrs))
    return tuple(chosen)


def console_policies(owner: Owner, settings: Settings) -> tuple[Wanted, ...]:
    policies = settings.network_policies
    if not policies.ingress:
        return ()
    ports = (settings.ports.console_http,)
    return (_ingress(owner, "console-ingress", CONSOLE, ports, policies.ingress_cidrs),)


def _within(owner: Owner) -> Wanted:
    """Pods of an environment may talk to each other, clusterd's included."""
    same = _pods({RESOURCE_ID: owner.resource_id})
    spec: Json = {
        "podSelector": same,
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [{"podSelector": same}]}],
        "egress": [{"to": [{"podSelector": same}]}],
    }
    return owner.wanted(NETWORK_POLICIES, owner.prefixed("allow-all-within-environment"), {"spec": spec})


def _from_operator(owner: Owner, settings: Settings) -> Wanted:
    peer = {
        "namespaceSelector": _pods({"kubernetes.io/metadata.name": settings.operator_namespace}),
        "podSelector": _pods(settings.operator_labels),
    }
    spec: Json = {
        "podSelector": _pods(owner.identity | {APP: ENVIRONMENTD}),
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [peer], "ports": _tcp((settings.ports.http, settings.ports.internal_http))}],
    }
    return owner.wanted(NETWORK_POLICIES, owner.prefixed("allow-orchestratord"), {"spec": spec})


def _ingress(owner: Owner, name: str, app: str, ports: tuple[int, ...], cidrs: tuple[str, ...]) -> Wanted:
    spec: Json = {
        "podSelector": _pods(owner.identity | {APP: app}),
        "policyTypes": ["Ingress"],
        "ingress": [{"from": _blocks(cidrs), "ports": _tcp(ports)}] if cidrs else None,
    }
    return owner.wanted(NETWORK_POLICIES, owner.prefixed(name), {"spec": spec})


def _egress(owner: Owner, cidrs: tuple[str, ...]) -> Wanted:
    spec: Json = {
        "podSelector": _pods(owner.identity),
        "policyTypes": ["Egress"],
        "egress": [{"to": _blocks(cidrs)}] if cidrs else None,
    }
    return owner.wanted(NETWORK_POLICIES, owner.prefixed("sources-and-sinks-egress"), {"spec": spec})


def _pods(labels: Text) -> Json:
    return {"matchLabels": labels} if labels else {}


def _tcp(ports: tuple[int, ...]) -> list[Json]:
    return [{"port": port, "protocol": "TCP"} for port in ports]


def _blocks(cidrs: tuple[str, ...]) -> list[Json]:
    return [{"ipBlock": {"cidr": cidr}} for cidr in cidrs]
