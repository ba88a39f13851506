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
    NOUN,
    ROLE_SCALERS,
    DisaggregatedSet,
    RoleScaler,
)
from fairlead.contracts.leaderworker.disaggregated.words import REASONS, WRITES
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS, PART, LeaderWorkerSet
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision
from fairlead.core.explain import Explain
from fairlead.engine.controller import Controller, RolloutKey, Telling, Wake, Watcher
from fairlead.engine.decide.guard import GuardedObject, subject_of
from fairlead.engine.log_records import done, said
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
        self._caches, self._namespace = caches, namespace
        self._scalers: Informer[RoleScaler] | None = None
        self._wake: Wake | None = None
        self.services: Informer[Service] = caches.informer(
            SERVICES, Service, namespace=namespace, labels=NAME, indexes=BY_SETS, optional=True
        )
        self.children: Informer[LeaderWorkerSet] = caches.informer(
            LEADER_WORKER_SETS, LeaderWorkerSet, namespace=namespace, indexes=BY_SETS
        )
        self.optional = tuple(cast("Informer[Named]", each) for each in (self.disaggregated, self.services))
        self.required = (cast("Informer[Named]", self.children),)

    @property
    def informers(self) -> tuple[Informer[Named], ...]:
        scalers = () if self._scalers is None else (cast("Informer[Named]", self._scalers),)
        return (*self.required, *self.optional, *scalers)

    @property
    def stores(self) -> DisaggregatedStores:
        scalers = self._scalers
        known = scalers.store if scalers is not None and scalers.settled.is_set() else None
        return DisaggregatedStores(self.disaggregated.store, self.children.store, known, self.services.store)

    def wake(self, wake: Wake) -> None:
        self._wake = wake
        self.disaggregated.subscribe(self._set_changed)
        others: tuple[Informer[Any], ...] = (self.children, self.services)
        for each in others:
            each.subscribe(self._other_changed)

    def _set_changed(self, change: Change[DisaggregatedSet]) -> None:
        found = _newest(change)
        if any(role.is_external for role in found.spec.roles):
            self._watch_scalers()
        if self._wake is not None:
            self._wake(RolloutKey((found.metadata.namespace, found.metadata.name)), change.initial)

    def _other_changed(self, change: Change[Any]) -> None:
        for key in sets_of(_newest(change)):
            if self._wake is not None and self.disaggregated.store.get(*key) is not None:
                self._wake(key, change.initial)

    def _watch_scalers(self) -> None:
        """From when some role wants one: the roles of releases that have no scalers do not let them be listed."""
        if self._scalers is None:
            self._scalers = self._caches.informer(
                ROLE_SCALERS, RoleScaler, namespace=self._namespace, indexes=BY_SETS, optional=True
            )
            self._scalers.subscribe(self._other_changed)


def _newest(change: Change[Any]) -> Any:
    return change.new if change.new is not None else change.old


def _subject(seen: DisaggregatedSeen) -> GuardedObject:
    meta = seen.set.metadata
    made = (*(each.metadata for each in seen.children), *(each.metadata for each in seen.services))
    return subject_of(DISAGGREGATED_SETS, meta, meta.annotations, made, seen.answers, may_be_stamped=False)


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
        return {each.resource: each for each in of(key).informers}

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
        kind=NOUN,
        part=PART,
        noun=NOUN,
        informers=tuple(one for each in watched.values() for one in each.required),
        subscribe=subscribe,
        watched=informers,
        scopes=scopes,
        rollouts=rollouts,
        gather=gather,
        versions=versions,
        decide=deciding.decide,
        guards=_subject,
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
