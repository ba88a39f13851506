"""Explain documents of everything that is rolling in some namespaces: the operator's own where it tells them.

Else they are made here, by the same decisions as the operator's. Nothing is written: a question that would change the
world is not asked. A cluster that does not serve the kinds of a
part, or does not show them, has no rollouts of that part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct

from fairlead.cli.operator_reports import Reports
from fairlead.contracts.environments import gather
from fairlead.contracts.environments.decide.recorded_waits import Dated
from fairlead.contracts.environments.kinds import (
    BALANCERS,
    CONSOLES,
    MATERIALIZES,
    RESOURCE_ID,
    Balancer,
    Child,
    Console,
)
from fairlead.contracts.environments.looks import EnvironmentLooks, LookedAt
from fairlead.contracts.zones.gather import POD_INDEXES, STATEFULSET_INDEXES
from fairlead.contracts.zones.kinds import GROUP_LABEL
from fairlead.contracts.zones.looks import Stores, ZoneLooks
from fairlead.core.explain import Explain
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Forbidden, NotFound
from kubeloop.objects.apps import STATEFULSETS, Deployment, StatefulSet
from kubeloop.objects.core import CONFIGMAPS, PODS, SERVICES, Pod
from kubeloop.objects.meta import Resource
from kubeloop.store import Index, Named, Readable, Store

T = TypeVar("T", bound=Named)

CHILDREN = (SERVICES, CONFIGMAPS)
"""Kinds of objects that a generation of an environment consists of, besides its StatefulSet."""


class Scope(Struct, frozen=True):
    """What is seen of one namespace, or of all."""

    zones: Stores
    environments: LookedAt


class View:
    """Looks at scopes again and again, and remembers since when it has seen each wait."""

    def __init__(self, client: Client, scopes: Sequence[Scope], reports: Reports) -> None:
        self._reports = reports
        self._zones = ZoneLooks(client, [scope.zones for scope in scopes])
        self._environments = EnvironmentLooks(client, [scope.environments for scope in scopes])

    async def look(self) -> list[Explain]:
        """Every rollout as it stands now, ordered by namespace and name."""
        heard = await self._reports.hear()
        now = clock.now()
        seen = [*await self._zones.look(now, heard), *await self._environments.look(now, heard)]
        return sorted(seen, key=lambda one: (one.namespace, one.rollout, one.part))


async def explain_all(client: Client, namespaces: Sequence[str]) -> list[Explain]:
    """One look at these namespaces; an empty name stands for all."""
    reports = Reports(client, namespaces)
    finding = asyncio.create_task(reports.find())
    try:
        scopes = [await _scope(client, namespace) for namespace in namespaces]
        await finding
    finally:
        finding.cancel()
        with suppress(asyncio.CancelledError):
            await finding
    return await View(client, scopes, reports).look()


def seen_of(
    found: Readable[Dated],
    companions: tuple[Readable[Balancer], Readable[Console]],
    statefulsets: Readable[StatefulSet],
    children: Mapping[Resource, Readable[Child]],
    pods: Readable[Pod],
) -> LookedAt:
    """Environments and what a look needs of the rest."""
    balancers, consoles = companions
    deployments: Store[Deployment] = Store()
    stores = gather.Stores(found, balancers, consoles, statefulsets, deployments, children)
    return LookedAt(found, stores, pods)


async def _scope(client: Client, namespace: str) -> Scope:
    zones = await _listed(client, STATEFULSETS, StatefulSet, namespace, GROUP_LABEL, STATEFULSET_INDEXES)
    found = await _optional(client, MATERIALIZES, Dated, namespace, gather.ENVIRONMENT_INDEXES)
    pods: Store[Pod] = Store(POD_INDEXES)
    if len(zones) or len(found):
        pods = await _listed(client, PODS, Pod, namespace, "", POD_INDEXES)
    if not len(found):
        nothing = seen_of(found, (Store(), Store()), Store(), {}, pods)
        return Scope((zones, pods), nothing)
    balancers = await _optional(client, BALANCERS, Balancer, namespace, {})
    consoles = await _optional(client, CONSOLES, Console, namespace, {})
    owned = gather.CHILD_INDEXES
    statefulsets = await _listed(client, STATEFULSETS, StatefulSet, namespace, RESOURCE_ID, owned)
    children = {kind: await _listed(client, kind, Child, namespace, RESOURCE_ID, owned) for kind in CHILDREN}
    return Scope((zones, pods), seen_of(found, (balancers, consoles), statefulsets, children, pods))


async def _optional(
    client: Client, resource: Resource, into: type[T], namespace: str, indexes: Mapping[str, Index[T]]
) -> Store[T]:
    try:
        return await _listed(client, resource, into, namespace, "", indexes)
    except (NotFound, Forbidden):
        return Store(indexes)


async def _listed(
    client: Client, resource: Resource, into: type[T], namespace: str, labels: str, indexes: Mapping[str, Index[T]]
) -> Store[T]:
    store: Store[T] = Store(indexes)
    for item in (await client.list(resource, into, namespace=namespace, labels=labels)).items:
        store.put(item)
    return store
