"""What is watched for leaders and workers: one set of informers for each namespace, or for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from fairlead.contracts.leaderworker import gather as gathering
from fairlead.contracts.leaderworker.decide.seen import Service
from fairlead.contracts.leaderworker.gather import BY_SET, POD_INDEXES, Stores
from fairlead.contracts.leaderworker.kinds import (
    DISRUPTION_BUDGETS,
    LEADER_WORKER_SETS,
    NAME,
    LeaderWorkerSet,
    Pod,
    PodBudget,
    Revision,
    StatefulSet,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.engine.controller import RolloutKey
from kubeloop.caches import Caches
from kubeloop.informer import Informer
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS, SERVICES
from kubeloop.objects.meta import Resource
from kubeloop.store import Named
from kubeloop.tombstones import Tombstones


class WatchedNamespace:
    """The informers of one namespace, or of all of them."""

    def __init__(self, caches: Caches, namespace: str, settings: Settings) -> None:
        def labelled(
            resource: Resource, into: type[Any], indexes: Mapping[str, Any], *, optional: bool = False
        ) -> Informer[Any]:
            return caches.informer(resource, into, namespace=namespace, labels=NAME, indexes=indexes, optional=optional)

        self.sets: Informer[LeaderWorkerSet] = caches.informer(LEADER_WORKER_SETS, LeaderWorkerSet, namespace=namespace)
        self.statefulsets: Informer[StatefulSet] = labelled(STATEFULSETS, StatefulSet, BY_SET)
        self.pods: Informer[Pod] = labelled(PODS, Pod, POD_INDEXES)
        self.revisions: Informer[Revision] = labelled(CONTROLLER_REVISIONS, Revision, BY_SET)
        self.services: Informer[Service] = labelled(SERVICES, Service, BY_SET)
        self.budgets: Informer[PodBudget] | None = None
        if settings.keeps_budgets:
            self.budgets = labelled(DISRUPTION_BUDGETS, PodBudget, BY_SET, optional=True)
        self.gone = Tombstones(self.pods, gathering.by_group)
        self.all = tuple(
            cast("Informer[Named]", each)
            for each in (self.sets, self.statefulsets, self.pods, self.revisions, self.services)
        )

    @property
    def stores(self) -> Stores:
        return Stores(
            self.sets.store,
            self.statefulsets.store,
            self.pods.store,
            self.revisions.store,
            self.services.store,
            None if self.budgets is None else self.budgets.store,
        )

    @property
    def optional(self) -> tuple[Informer[PodBudget], ...]:
        return () if self.budgets is None else (self.budgets,)


class Watched:
    """All that is watched; no namespaces means all."""

    def __init__(self, caches: Caches, namespaces: tuple[str, ...], settings: Settings) -> None:
        self._by_name = {each: WatchedNamespace(caches, each, settings) for each in namespaces or ("",)}

    def __iter__(self) -> Iterator[WatchedNamespace]:
        return iter(self._by_name.values())

    def of(self, namespace: str) -> WatchedNamespace:
        """What shows objects of the namespace."""
        return self._by_name.get(namespace) or self._by_name[""]

    @property
    def informers(self) -> tuple[Informer[Named], ...]:
        """What no round does without."""
        return tuple(one for each in self for one in each.all)

    def informers_of(self, key: RolloutKey) -> Mapping[Resource, Informer[Named]]:
        return {each.resource: each for each in self.of(key.namespace).all}

    def sets(self) -> Iterator[RolloutKey]:
        found = (one.metadata for each in self for one in each.sets.store.items())
        return (RolloutKey((each.namespace, each.name)) for each in found)

    def groups(self) -> Iterable[RolloutKey]:
        """Each once, by the names of their pods."""
        pods = (one for each in self for one in each.pods.store.items())
        return dict.fromkeys(key for each in pods if (key := gathering.group_of(each)))

    def find(self, namespace: str) -> WatchedNamespace | None:
        """The same for a namespace that may be nobody's business here."""
        return self._by_name.get(namespace) or self._by_name.get("")
