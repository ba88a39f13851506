"""Definitions of the kinds of routes that the stand-in gateway reads, for clusters that have none.

What it does not read of HTTPRoutes and VirtualServices is kept as it is written, and nothing of them is defaulted. The
definition of TrafficSplits is whole: others exist for versions of the API only that no cluster serves any more.
"""

from __future__ import annotations

from kubeloop.client import Client
from kubeloop.objects.meta import Resource
from kubesim.standins.definitions import DEFINITIONS, Tree, install_definitions
from kubesim.standins.route_rules import HTTP_ROUTES, TRAFFIC_SPLITS, VIRTUAL_SERVICES

_FREE: Tree = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_UNAPPROVED = {"api-approved.kubernetes.io": "unapproved, a stand-in where the kind is not installed"}
"""API servers want it of definitions in groups of Kubernetes."""
_BACKEND: Tree = {
    "type": "object",
    "properties": {"service": {"type": "string"}, "weight": {"type": "integer", "format": "int32", "minimum": 0}},
    "required": ["service", "weight"],
}
_SPLIT: Tree = {
    "type": "object",
    "properties": {"service": {"type": "string"}, "backends": {"type": "array", "items": _BACKEND}},
    "required": ["service", "backends"],
}


def _definition(resource: Resource, versions: tuple[str, ...], spec: Tree, *short: str) -> Tree:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": _FREE}}}
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": f"{resource.plural}.{resource.group}", "annotations": _UNAPPROVED},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "shortNames": list(short),
            },
            "versions": [
                {
                    "name": each,
                    "served": True,
                    "storage": each == resource.version,
                    "schema": schema,
                    "subresources": {"status": {}},
                }
                for each in versions
            ],
        },
    }


HTTP_ROUTE_DEFINITION = _definition(HTTP_ROUTES, ("v1", "v1beta1"), _FREE)
VIRTUAL_SERVICE_DEFINITION = _definition(VIRTUAL_SERVICES, ("v1", "v1beta1"), _FREE, "vs")
TRAFFIC_SPLIT_DEFINITION = _definition(TRAFFIC_SPLITS, ("v1alpha2",), _SPLIT, "ts")


async def install(client: Client) -> None:
    """All three are served afterwards; what is there already is left as it is."""
    await install_definitions(client, HTTP_ROUTE_DEFINITION, VIRTUAL_SERVICE_DEFINITION, TRAFFIC_SPLIT_DEFINITION)
