"""Headless Services by which pods of a set find one another (section 3.8)."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.contracts.leaderworker.decide.made_parts import owned_by_pod, owned_by_set
from fairlead.contracts.leaderworker.decide.set_view import SetView
from fairlead.contracts.leaderworker.kinds import GROUP_INDEX, NAME, SHARED, Json, LeaderWorkerSet
from kubeloop.objects.meta import Meta


def needs_shared_service(live: SetView, carried: Iterable[SetView]) -> bool:
    """Whether the live set, or the revision that some group still carries, shares one subdomain."""
    return any(each.subdomain_policy == SHARED for each in (live, *carried))


def shared_service(seen: LeaderWorkerSet) -> Json:
    name = seen.metadata.name
    return _headless(name, seen, {NAME: name}, owned_by_set(seen))


def group_service(seen: LeaderWorkerSet, leader: Meta) -> Json:
    """Goes with its leader, and comes again with the next one."""
    selector = {NAME: seen.metadata.name, GROUP_INDEX: leader.labels.get(GROUP_INDEX, "")}
    return _headless(leader.name, seen, selector, owned_by_pod(leader))


def _headless(name: str, seen: LeaderWorkerSet, selector: dict[str, str], owner: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "namespace": seen.metadata.namespace,
            "labels": {NAME: seen.metadata.name},
            "ownerReferences": [owner],
        },
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector},
    }
