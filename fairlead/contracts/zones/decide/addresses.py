"""Section 2.10: the names under which pods of a zone are called."""

from __future__ import annotations

from fairlead.contracts.zones.settings import Settings
from fairlead.core.names import is_label, is_name
from kubeloop.objects.apps import StatefulSet


def unaddressable(statefulset: StatefulSet) -> str:
    """Why its pods cannot be called by name; empty when they can.

    What is no name in DNS could lead a call to another host: nothing but names becomes part of an address. An API
    server lets no other StatefulSet pass, but any `spec.serviceName`, and a review can be made up by anybody.
    """
    metadata, service = statefulset.metadata, statefulset.spec.service_name
    if not service:
        return "spec.serviceName is empty, so its pods have no names to be called by"
    if not is_name(service):
        return "spec.serviceName is no name of a Service (a to z, 0 to 9, - and . inside): its pods cannot be called"
    if not is_name(metadata.name):
        return "its name is none that a StatefulSet can have: its pods cannot be called"
    if not is_label(metadata.namespace):
        return "its namespace has no name that a namespace can have: its pods cannot be called"
    return ""


def pod_host(statefulset: StatefulSet, ordinal: int, settings: Settings) -> str:
    """The name of the pod in DNS, given by the zone's governing Service; only for one that is not `unaddressable`.

    The cluster domain stands as it was set (B-11), with the dot at its end that makes a name complete:
    `ingester-zone-a-4.ingester.test.svc.cluster.local.`
    """
    metadata, service = statefulset.metadata, statefulset.spec.service_name
    return f"{metadata.name}-{ordinal}.{service}.{metadata.namespace}.svc.{settings.cluster_domain}"
