"""The controllers of a cluster, as kube-controller-manager has them: which there are, which of them act.

A controller that acts on what it does not see does harm, so one that needs a kind nobody could read stands still. Those
who delete what is left behind (the collector, and that of namespaces) need no kind in particular: what could not be
read is not there to be deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Protocol

from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubesim.api.verbs import Verbs
from kubesim.controllers.aggregation import AggregationController
from kubesim.controllers.claims import ClaimController
from kubesim.controllers.daemonset import DaemonSetController
from kubesim.controllers.deployment import DeploymentController
from kubesim.controllers.disruption import DisruptionController
from kubesim.controllers.endpoints import EndpointsController
from kubesim.controllers.endpointslices import EndpointSliceController
from kubesim.controllers.garbage import Collector
from kubesim.controllers.names import acts
from kubesim.controllers.namespaces import NamespaceController
from kubesim.controllers.policies import PolicyStatusController
from kubesim.controllers.replicaset import ReplicaSetController
from kubesim.controllers.selected_pods import Chosen
from kubesim.controllers.service_accounts import RootCertificatePublisher, ServiceAccountController
from kubesim.controllers.statefulset import StatefulSetController
from kubesim.kinds.registry import (
    ADMISSION_POLICIES,
    CLAIMS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    DEPLOYMENTS,
    DISRUPTION_BUDGETS,
    ENDPOINT_SLICES,
    ENDPOINTS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUMES,
)
from kubesim.store.store import Store


class Acting(Protocol):
    async def run(self) -> None:
        """Until cancelled."""


class Setting(Struct, frozen=True):
    """What controllers are made of."""

    verbs: Verbs
    chosen: Chosen
    authority: str
    lost_owners: frozenset[str]


class Controller(Struct, frozen=True):
    """One of them, by its name in kube-controller-manager's `--controllers`."""

    name: str
    needs: tuple[Resource, ...]
    """What it reads to decide."""
    make: Callable[[Setting], Acting]


_OF_SERVICES = (SERVICES, PODS, NODES)
_SCALED = (STATEFUL_SETS, DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS)

CONTROLLERS = (
    Controller(
        "statefulset-controller",
        (STATEFUL_SETS, PODS, CONTROLLER_REVISIONS, CLAIMS),
        lambda given: StatefulSetController(given.verbs),
    ),
    Controller("garbage-collector-controller", (), lambda given: Collector(given.verbs, given.lost_owners)),
    Controller("replicaset-controller", (REPLICA_SETS, PODS), lambda given: ReplicaSetController(given.verbs)),
    Controller(
        "deployment-controller", (DEPLOYMENTS, REPLICA_SETS, PODS), lambda given: DeploymentController(given.verbs)
    ),
    Controller(
        "daemonset-controller",
        (DAEMON_SETS, PODS, NODES, CONTROLLER_REVISIONS),
        lambda given: DaemonSetController(given.verbs),
    ),
    Controller(
        "disruption-controller",
        (DISRUPTION_BUDGETS, PODS, *_SCALED),
        lambda given: DisruptionController(given.verbs),
    ),
    Controller("namespace-controller", (NAMESPACES,), lambda given: NamespaceController(given.verbs)),
    Controller(
        "serviceaccount-controller",
        (NAMESPACES, SERVICE_ACCOUNTS),
        lambda given: ServiceAccountController(given.verbs),
    ),
    Controller(
        "root-ca-certificate-publisher-controller",
        (NAMESPACES, CONFIG_MAPS),
        lambda given: RootCertificatePublisher(given.verbs, given.authority),
    ),
    Controller(
        "persistentvolume-binder-controller",
        (CLAIMS, VOLUMES, STORAGE_CLASSES, PODS),
        lambda given: ClaimController(given.verbs),
    ),
    Controller(
        "clusterrole-aggregation-controller", (CLUSTER_ROLES,), lambda given: AggregationController(given.verbs)
    ),
    Controller(
        "validatingadmissionpolicy-status-controller",
        (ADMISSION_POLICIES,),
        lambda given: PolicyStatusController(given.verbs),
    ),
    Controller(
        "endpoints-controller",
        (*_OF_SERVICES, ENDPOINTS),
        lambda given: EndpointsController(given.verbs, given.chosen),
    ),
    Controller(
        "endpointslice-controller",
        (*_OF_SERVICES, ENDPOINT_SLICES),
        lambda given: EndpointSliceController(given.verbs, given.chosen),
    ),
)


def needing(unread: Collection[Resource]) -> dict[str, tuple[Resource, ...]]:
    """By name the controllers that stand still where these kinds could not be read, and which of them they need."""
    lacking = {each.name: tuple(kind for kind in each.needs if kind in unread) for each in CONTROLLERS}
    return {name: kinds for name, kinds in lacking.items() if kinds}


@cache
def structs() -> Mapping[Resource, tuple[type, ...]]:
    """What controllers read of each kind: an object that cannot be read so ends them."""
    verbs = Verbs(Store())
    given = Setting(verbs, Chosen(verbs), "", frozenset())
    for each in CONTROLLERS:
        each.make(given)
    found: dict[Resource, tuple[type, ...]] = {}
    for resource, struct in verbs.views:
        found[resource] = (*found.get(resource, ()), struct)
    return found


def start(group: asyncio.TaskGroup, given: Setting, wanted: Sequence[str], unread: Collection[Resource]) -> None:
    """Has those act that are wanted and see what they need."""
    still = needing(unread)
    acting = [each for each in CONTROLLERS if acts(each.name, wanted) and each.name not in still]
    first = next((each for each in acting if SERVICES in each.needs), None)
    for each in acting:
        if each is first:
            group.create_task(given.chosen.run(), name="pods of Services")
        group.create_task(each.make(given).run(), name=each.name)
