"""The controller of DisaggregatedSets (section 6.7), beside those of LeaderWorkerSets and on their informers.

A cluster may lack its kinds: then there are none, and it is asked for them now and then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from fairlead.contracts.leaderworker.decide.disaggregated import round as deciding
from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.decide.seen import Service
from fairlead.contracts.leaderworker.disaggregated.explain import explain
from fairlead.contracts.leaderworker.disaggregated.gather import (
    BY_SETS,
    DisaggregatedStores,
    generation_of,
    sets_of,
    snapshot,
    versions,
)
from fairlead.contracts.leaderworker.disaggregated.kinds import (
    CONTROLLER,
    DISAGGREGATED_SETS,
    EVENT_SOURCE,
    NAME,
    ROLE_SCALERS,
    DisaggregatedSet,
    RoleScaler,
)
from fairlead.contracts.leaderworker.disaggregated.words import REASONS, WRITES
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS, LeaderWorkerSet
from fairlead.contracts.leaderworker.log_records import done, said
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision
from fairlead.core.explain import Explain
from fairlead.engine.controller import Controller, RolloutKey, Telling, Wake, Watcher
from kubeloop.caches import Caches
from kubeloop.informer import Change, Informer
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Resource
from kubeloop.queue import QueueWatcher
from kubeloop.store import Named

TELLING = Telling(component=EVENT_SOURCE, joined=False)
MAY_WRITE = frozenset(WRITES)


class _Watched:
    """The informers of one namespace, or of all of them."""

    def __init__(self, caches: Caches, namespace: str) -> None:
        self.disaggregated: Informer[DisaggregatedSet] = caches.informer(
            DISAGGREGATED_SETS, DisaggregatedSet, namespace=namespace, optional=True
        )
        self.scalers: Informer[RoleScaler] = caches.informer(
            ROLE_SCALERS, RoleScaler, namespace=namespace, indexes=BY_SETS, optional=True
        )
        self.services: Informer[Service] = caches.informer(
            SERVICES, Service, namespace=namespace, labels=NAME, indexes=BY_SETS, optional=True
        )
        self.children: Informer[LeaderWorkerSet] = caches.informer(
            LEADER_WORKER_SETS, LeaderWorkerSet, namespace=namespace, indexes=BY_SETS
        )
        self.optional = tuple(
            cast("Informer[Named]", each) for each in (self.disaggregated, self.scalers, self.services)
        )
        self.required = (cast("Informer[Named]", self.children),)

    @property
    def stores(self) -> DisaggregatedStores:
        return DisaggregatedStores(
            self.disaggregated.store, self.children.store, self.scalers.store, self.services.store
        )

    def wake(self, wake: Wake) -> None:
        def set_changed(change: Change[DisaggregatedSet]) -> None:
            meta = _newest(change).metadata
            wake(RolloutKey((meta.namespace, meta.name)), change.initial)

        def other_changed(change: Change[Any]) -> None:
            for key in sets_of(_newest(change)):
                if self.disaggregated.store.get(*key) is not None:
                    wake(key, change.initial)

        self.disaggregated.subscribe(set_changed)
        others: tuple[Informer[Any], ...] = (self.children, self.scalers, self.services)
        for each in others:
            each.subscribe(other_changed)


def _newest(change: Change[Any]) -> Any:
    return change.new if change.new is not None else change.old


def controller(
    caches: Caches, namespaces: tuple[str, ...], watcher: Watcher, queue_watcher: QueueWatcher
) -> Controller[DisaggregatedSeen]:
    """For these namespaces; none means all."""
    watched = {each: _Watched(caches, each) for each in namespaces or ("",)}

    def of(key: RolloutKey) -> _Watched:
        return watched.get(key.namespace) or watched[""]

    def gather(key: RolloutKey, answers: Answers) -> DisaggregatedSeen | None:
        return snapshot(key, of(key).stores, answers)

    def informers(key: RolloutKey) -> Mapping[Resource, Informer[Named]]:
        found = of(key)
        return {each.resource: each for each in (*found.required, *found.optional)}

    def scopes(key: RolloutKey) -> Iterator[str]:
        found = of(key).disaggregated.store.get(*key)
        if found is not None:
            yield found.metadata.uid

    def rollouts() -> Iterator[RolloutKey]:
        for each in watched.values():
            for one in each.disaggregated.store.items():
                yield RolloutKey((one.metadata.namespace, one.metadata.name))

    def subscribe(wake: Wake) -> None:
        for each in watched.values():
            each.wake(wake)

    def explained(seen: DisaggregatedSeen, decision: Decision, _: datetime) -> Explain:
        return explain(seen, decision)

    return Controller(
        name=CONTROLLER,
        kind="disaggregatedset",
        informers=tuple(one for each in watched.values() for one in each.required),
        subscribe=subscribe,
        watched=informers,
        scopes=scopes,
        rollouts=rollouts,
        gather=gather,
        versions=versions,
        decide=deciding.decide,
        say=lambda _seen, decision, _now: said(decision, REASONS),
        writes=MAY_WRITE,
        done=done(MAY_WRITE, WRITES),
        telling=TELLING,
        explain=explained,
        observed=lambda seen: generation_of(seen.set),
        optional=tuple(one for each in watched.values() for one in each.optional),
        watcher=watcher,
        queue_watcher=queue_watcher,
    )
