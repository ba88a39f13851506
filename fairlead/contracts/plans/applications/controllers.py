"""The controllers of Applications and what they are made of, of ApplicationDeployments, Rollouts and AppRollouts.

A cluster may lack their kinds: then there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans import gather as gathering
from fairlead.contracts.plans.applications.kinds import StoredObject
from fairlead.contracts.plans.applications.watched import (
    WatchedApplications,
    described_workloads,
    located_workloads,
    named_workloads,
)
from fairlead.contracts.plans.applications.words import DEPLOYMENT_WRITES, FAMILY_WRITES, REASONS
from fairlead.contracts.plans.decide.applications import (
    app_rollout_pass,
    application_pass,
    component_pass,
    configuration_pass,
    deployment_pass,
    revision_pass,
)
from fairlead.contracts.plans.decide.applications.app_rollouts import AppRolloutSeen, of_app_rollout
from fairlead.contracts.plans.decide.applications.deployments import DeploymentSeen, of_deployment
from fairlead.contracts.plans.decide.applications.planned import PlannedSeen
from fairlead.contracts.plans.decide.applications.revision_rollouts import RolloutSeen, of_rollout
from fairlead.contracts.plans.decide.applications.seen import FamilySeen
from fairlead.contracts.plans.decide.seen import RolloutObject
from fairlead.contracts.plans.explain import explained
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    EVENT_SOURCE,
    PART,
    ROLLOUTS,
    WorkloadReference,
)
from fairlead.contracts.plans.metrics import PlanSeries
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.contracts.plans.watched import WatchedWorkloads
from fairlead.core.ask import Answers
from fairlead.core.decision import Decide
from fairlead.engine.controller import Controller, RolloutKey, Sink, Telling, Wake
from fairlead.engine.decide.guard import GuardedObject, subject_of
from fairlead.engine.log_records import done, said
from kubeloop.caches import Caches
from kubeloop.informer import Informer
from kubeloop.objects.meta import Resource
from kubeloop.store import Named

S = TypeVar("S")
TELLING = Telling(component=EVENT_SOURCE, joined=False)
NAMES = {
    APPLICATIONS: f"{PART}-applications",
    COMPONENTS: f"{PART}-components",
    CONFIGURATIONS: f"{PART}-configurations",
    APPLICATION_DEPLOYMENTS: f"{PART}-deployments",
    ROLLOUTS: f"{PART}-rollouts",
    APP_ROLLOUTS: f"{PART}-app-rollouts",
}
"""Of the controllers."""
DECIDERS: dict[Resource, Decide[FamilySeen]] = {
    APPLICATIONS: application_pass.decide,
    COMPONENTS: component_pass.decide,
    CONFIGURATIONS: configuration_pass.decide,
}


class Planned(Struct, frozen=True):
    """A kind of rollouts whose workloads are named by something else."""

    seen: type[PlannedSeen]
    decide: Decide[Any]
    rollout_of: Callable[[StoredObject], RolloutObject]
    workloads: Callable[[StoredObject], tuple[WorkloadReference, ...]]
    """Those that are known by now."""
    wakes: Callable[[WatchedApplications, Wake], None]


PLANNED: dict[Resource, Planned] = {
    APPLICATION_DEPLOYMENTS: Planned(
        DeploymentSeen, deployment_pass.decide, of_deployment, named_workloads, WatchedApplications.wake_deployments
    ),
    ROLLOUTS: Planned(
        RolloutSeen, revision_pass.decide, of_rollout, located_workloads, WatchedApplications.wake_rollouts
    ),
    APP_ROLLOUTS: Planned(
        AppRolloutSeen,
        app_rollout_pass.decide,
        of_app_rollout,
        described_workloads,
        WatchedApplications.wake_app_rollouts,
    ),
}


class _Kind:
    """One of the kinds, in all namespaces that are watched."""

    def __init__(self, watched: Mapping[str, WatchedApplications], resource: Resource) -> None:
        self.resource = resource
        self._watched = watched

    def of(self, key: RolloutKey) -> WatchedApplications:
        return self._watched.get(key.namespace) or self._watched[""]

    def get(self, key: RolloutKey) -> StoredObject | None:
        return self.of(key).of[self.resource].store.get(*key)

    @property
    def informers(self) -> tuple[Informer[Any], ...]:
        return tuple(each.of[self.resource] for each in self._watched.values())

    def scopes(self, key: RolloutKey) -> Iterator[str]:
        found = self.get(key)
        if found is not None:
            yield found.metadata.uid

    def rollouts(self) -> Iterator[RolloutKey]:
        for informer in self.informers:
            for each in informer.store.items():
                yield RolloutKey((each.metadata.namespace, each.metadata.name))

    def subscribe(self, wakes: Callable[[WatchedApplications, Wake], None]) -> Callable[[Wake], None]:
        def subscribe(wake: Wake) -> None:
            for each in self._watched.values():
                wakes(each, wake)

        return subscribe

    def read_by(self, key: RolloutKey) -> dict[Resource, Informer[Named]]:
        return {self.resource: cast("Informer[Named]", self.of(key).of[self.resource])}


def controllers(
    caches: Caches,
    workloads: Mapping[str, WatchedWorkloads],
    settings: PlanSettings,
    series: Callable[[str], PlanSeries],
    sink: Sink,
) -> tuple[Controller[Any], ...]:
    """For the namespaces of these workloads; the empty one means all."""
    watched = {namespace: WatchedApplications(caches, namespace, each) for namespace, each in workloads.items()}
    wakes = {
        APPLICATIONS: WatchedApplications.wake_applications,
        COMPONENTS: WatchedApplications.wake_components,
        CONFIGURATIONS: WatchedApplications.wake_configurations,
    }
    return (
        *(_family(_Kind(watched, resource), wake, settings) for resource, wake in wakes.items()),
        *(_planned(_Kind(watched, each), settings, series(each.kind), sink) for each in PLANNED),
    )


def _family(
    kind: _Kind, wakes: Callable[[WatchedApplications, Wake], None], settings: PlanSettings
) -> Controller[FamilySeen]:
    def gather(key: RolloutKey, answers: Answers) -> FamilySeen | None:
        found = kind.get(key)
        if found is None:
            return None
        return FamilySeen(resource=kind.resource, object=found, settings=settings, answers=answers)

    return Controller(
        name=NAMES[kind.resource],
        noun=kind.resource.kind.lower(),
        informers=(),
        subscribe=kind.subscribe(wakes),
        watched=kind.read_by,
        scopes=kind.scopes,
        rollouts=kind.rollouts,
        gather=gather,
        versions=lambda seen: (_version(seen.object),),
        decide=DECIDERS[kind.resource],
        guards=_subject,
        say=lambda _seen, decision, _now: said(decision, REASONS),
        writes=frozenset(FAMILY_WRITES),
        done=done(frozenset(FAMILY_WRITES), FAMILY_WRITES),
        telling=TELLING,
        observed=lambda seen: {str(seen.ref): seen.object.metadata.generation},
        optional=kind.informers,
    )


def _subject(seen: FamilySeen) -> GuardedObject:
    """What was made for it is read live while it is decided, and here nobody asks."""
    meta = seen.object.metadata
    return subject_of(seen.resource, meta, meta.annotations, (), seen.answers)


def _version(item: StoredObject) -> str:
    return f"{item.metadata.uid}@{item.metadata.resource_version}"


def _planned(kind: _Kind, settings: PlanSettings, series: PlanSeries, sink: Sink) -> Controller[PlannedSeen]:
    planned = PLANNED[kind.resource]

    def gather(key: RolloutKey, answers: Answers) -> PlannedSeen | None:
        found = kind.get(key)
        if found is None:
            return None
        trait = gathering.snapshot(planned.rollout_of(found), kind.of(key).workloads, settings, answers)
        return planned.seen(object=found, trait=trait)

    def edition(key: RolloutKey) -> Hashable:
        found = kind.get(key)
        return None if found is None else gathering.edition(found.metadata)

    def informers(key: RolloutKey) -> Mapping[Resource, Informer[Named]]:
        found = kind.get(key)
        if found is None:
            return kind.read_by(key)
        return {**kind.read_by(key), **kind.of(key).workloads.informers(planned.workloads(found))}

    return Controller(
        name=NAMES[kind.resource],
        workers=settings.concurrent,
        noun=kind.resource.kind.lower(),
        informers=(),
        subscribe=kind.subscribe(planned.wakes),
        watched=informers,
        scopes=kind.scopes,
        rollouts=kind.rollouts,
        gather=gather,
        versions=lambda seen: gathering.versions(seen.trait),
        decide=planned.decide,
        guards=lambda seen: gathering.subject(seen.trait),
        say=lambda _seen, decision, _now: said(decision, REASONS),
        writes=frozenset(DEPLOYMENT_WRITES),
        done=done(frozenset(DEPLOYMENT_WRITES), DEPLOYMENT_WRITES),
        telling=replace(TELLING, sink=sink),
        observe=lambda key, seen, decision, now: series.decided(key, seen.trait, decision, now),
        wrote=series.wrote,
        watcher=series,
        explain=lambda seen, decision, now: explained(seen.trait, decision, now),
        observed=lambda seen: gathering.observed(seen.trait),
        asks_within=lambda seen: gathering.asks_within(seen.trait),
        edition=edition,
        optional=kind.informers,
    )
