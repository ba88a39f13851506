"""The Service `kubernetes`, by which pods of a cluster reach its API server."""

from __future__ import annotations

from kubesim.api.verbs import Verbs
from kubesim.kinds.registry import NAMESPACES, SERVICES
from kubesim.store.versions import Tree
from kubesim.strategies.service_addresses import RANGE

NAMESPACE, NAME = "default", "kubernetes"
_USER = "system:apiserver"


def advertise(verbs: Verbs, port: int) -> None:
    """Makes the Service lead to this port of the server; a cluster without the namespace goes without."""
    if ("", NAMESPACE) not in verbs.store.table(NAMESPACES).live:
        return
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
    if (NAMESPACE, NAME) in verbs.store.table(SERVICES).live:
        known = verbs.read(SERVICES, NAMESPACE, NAME)
        known["spec"]["ports"] = ports
        verbs.update(SERVICES, NAMESPACE, NAME, known, user=_USER)
        return
    made: Tree = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": NAME, "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"clusterIP": str(RANGE[1]), "ports": ports, "type": "ClusterIP", "sessionAffinity": "None"},
    }
    verbs.create(SERVICES, NAMESPACE, made, user=_USER)
