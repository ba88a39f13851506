"""The controller of RolloutTraits."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import cast

from fairlead.contracts.plans import gather as gathering
from fairlead.contracts.plans.decide import trait_round
from fairlead.contracts.plans.decide.facts import workloads_of
from fairlead.contracts.plans.decide.seen import TraitSeen, of_trait
from fairlead.contracts.plans.explain import explained
from fairlead.contracts.plans.gather import NAMES, by_names
from fairlead.contracts.plans.kinds import EVENT_SOURCE, NOUN, PART, ROLLOUT_TRAITS, RolloutTrait, WorkloadReference
from fairlead.contracts.plans.metrics import PlanSeries
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.contracts.plans.watched import Place, WatchedWorkloads
from fairlead.contracts.plans.words import REASONS, WRITES
from fairlead.core.ask import Answers
from fairlead.engine.controller import Controller, RolloutKey, Sink, Telling, Wake
from fairlead.engine.log_records import done, said
from kubeloop.caches import Caches
from kubeloop.informer import Change, Informer
from kubeloop.objects.meta import Resource
from kubeloop.store import Named

MAY_WRITE = frozenset(WRITES)


class WatchedTraits:
    """RolloutTraits of one namespace, or of all of them, and the workloads that they name."""

    def __init__(self, caches: Caches, namespace: str, workloads: WatchedWorkloads) -> None:
        self.traits: Informer[RolloutTrait] = caches.informer(
            ROLLOUT_TRAITS, RolloutTrait, namespace=namespace, indexes={NAMES: by_names}
        )
        self.workloads = workloads
        self._named: dict[RolloutKey, tuple[RolloutTrait, tuple[WorkloadReference, ...]]] = {}
        """The workloads that a rollout names, as it was seen last."""

    def wake(self, wake: Wake) -> None:
        def trait_changed(change: Change[RolloutTrait]) -> None:
            trait = change.new if change.new is not None else change.old
            if trait is None:
                return
            key = RolloutKey((trait.metadata.namespace, trait.metadata.name))
            self._named.pop(key, None)
            if change.new is not None:
                for each in self._names_of(key, change.new):
                    self.workloads.want(each)
            wake(key, change.initial)

        def workload_changed(place: Place, initial: bool) -> None:
            for each in self.traits.store.by(NAMES, "/".join(place)):
                wake(RolloutKey((each.metadata.namespace, each.metadata.name)), initial)

        self.traits.subscribe(trait_changed)
        self.workloads.subscribe(workload_changed)

    def informers(self, key: RolloutKey) -> Mapping[Resource, Informer[Named]]:
        found: dict[Resource, Informer[Named]] = {ROLLOUT_TRAITS: cast("Informer[Named]", self.traits)}
        trait = self.traits.store.get(*key)
        if trait is not None:
            found |= self.workloads.informers(self._names_of(key, trait))
        return found

    def _names_of(self, key: RolloutKey, trait: RolloutTrait) -> tuple[WorkloadReference, ...]:
        """Every round asks for them several times, and reading a status costs more than the rest of the question."""
        known = self._named.get(key)
        if known is None or known[0] is not trait:
            known = self._named[key] = trait, workloads_of(of_trait(trait)).all
        return known[1]


def controller(
    caches: Caches, workloads: Mapping[str, WatchedWorkloads], settings: PlanSettings, series: PlanSeries, sink: Sink
) -> Controller[TraitSeen]:
    """For the namespaces of these workloads; the empty one means all."""
    watched = {namespace: WatchedTraits(caches, namespace, each) for namespace, each in workloads.items()}

    def of(key: RolloutKey) -> WatchedTraits:
        return watched.get(key.namespace) or watched[""]

    def gather(key: RolloutKey, answers: Answers) -> TraitSeen | None:
        trait = of(key).traits.store.get(*key)
        if trait is None:
            return None
        return gathering.snapshot(of_trait(trait), of(key).workloads, settings, answers)

    def edition(key: RolloutKey) -> Hashable:
        trait = of(key).traits.store.get(*key)
        return None if trait is None else gathering.edition(trait.metadata)

    def scopes(key: RolloutKey) -> Iterator[str]:
        trait = of(key).traits.store.get(*key)
        if trait is not None:
            yield trait.metadata.uid

    def rollouts() -> Iterator[RolloutKey]:
        for each in watched.values():
            for one in each.traits.store.items():
                yield RolloutKey((one.metadata.namespace, one.metadata.name))

    def subscribe(wake: Wake) -> None:
        for each in watched.values():
            each.wake(wake)

    return Controller(
        name=PART,
        workers=settings.concurrent,
        noun=NOUN,
        informers=tuple(cast("Informer[Named]", each.traits) for each in watched.values()),
        subscribe=subscribe,
        watched=lambda key: of(key).informers(key),
        scopes=scopes,
        rollouts=rollouts,
        gather=gather,
        versions=gathering.versions,
        decide=trait_round.decide,
        guards=gathering.subject,
        say=lambda _seen, decision, _now: said(decision, REASONS),
        writes=MAY_WRITE,
        done=done(MAY_WRITE, WRITES),
        telling=Telling(component=EVENT_SOURCE, joined=False, sink=sink),
        observe=series.decided,
        wrote=series.wrote,
        watcher=series,
        explain=explained,
        observed=gathering.observed,
        asks_within=gathering.asks_within,
        edition=edition,
        optional=tuple(each.autoscalers for each in workloads.values()),
    )
