"""Section 2.10: the names under which pods of a zone are called."""

from __future__ import annotations

from fairlead.api.apps import StatefulSet
from fairlead.api.zones import Settings


def pod_host(statefulset: StatefulSet, ordinal: int, settings: Settings) -> str:
    """The name of the pod in DNS, given by the zone's governing Service; without `spec.serviceName` there is none.

    The cluster domain stands as it was set (B-11), with the dot at its end that makes a name complete:
    `ingester-zone-a-4.ingester.test.svc.cluster.local.`
    """
    metadata, service = statefulset.metadata, statefulset.spec.service_name
    return f"{metadata.name}-{ordinal}.{service}.{metadata.namespace}.svc.{settings.cluster_domain}"
