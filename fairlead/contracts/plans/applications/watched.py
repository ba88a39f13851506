"""Applications and what belongs to them, in one namespace or all: who is concerned by a change of which object.

Rounds read everything but their own object live. So the caches hold these kinds only to wake the right rounds, and a
cluster that does not serve them has none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from fairlead.contracts.plans.applications.kinds import (
    ConfigurationStatus,
    DeploymentNames,
    DeploymentSpec,
    StoredObject,
)
from fairlead.contracts.plans.decide.applications.app_rollouts import is_snapshot, of_app_rollout
from fairlead.contracts.plans.decide.applications.deployments import is_application, of_deployment
from fairlead.contracts.plans.decide.applications.revision_rollouts import of_rollout
from fairlead.contracts.plans.decide.component_revisions import is_revision
from fairlead.contracts.plans.decide.facts import workloads_of
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.decide.seen import of_trait
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION,
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    ROLLOUT_TRAITS,
    ROLLOUTS,
    RolloutTrait,
    WorkloadReference,
)
from fairlead.contracts.plans.watched import Place, WatchedWorkloads, place_of
from fairlead.engine.controller import RolloutKey, Wake
from kubeloop.caches import Caches
from kubeloop.informer import Change, Informer
from kubeloop.objects.meta import Resource
from kubeloop.store import Index

WORKLOADS, APPLICATION_NAMES, COMPONENT_NAMES = "workloads", "applications", "components"
"""Indexes: by the workloads, the Applications and the Components that an object names."""


def _workloads_of_configuration(item: StoredObject) -> Iterator[str]:
    status, _ = read(ConfigurationStatus, item.status, "status")
    recorded = (each.workload_ref for each in status.workloads)
    for each in (*recorded, *(one.workload_ref for one in status.history_workloads)):
        yield "/".join(place_of(item.metadata.namespace, each))


def _application_of_configuration(item: StoredObject) -> Iterator[str]:
    if name := item.metadata.labels.get(APPLICATION):
        yield f"{item.metadata.namespace}/{name}"


def _components_of_configuration(item: StoredObject) -> Iterator[str]:
    components = item.spec.get("components") if isinstance(item.spec, dict) else None
    for each in components if isinstance(components, list) else ():
        if isinstance(each, dict) and each.get("componentName"):
            yield f"{item.metadata.namespace}/{each['componentName']}"


def _workloads_of_deployment(item: StoredObject) -> Iterator[str]:
    yield from _places(item, named_workloads(item))


def _workloads_of_rollout(item: StoredObject) -> Iterator[str]:
    yield from _places(item, located_workloads(item))


def _workloads_of_app_rollout(item: StoredObject) -> Iterator[str]:
    yield from _places(item, described_workloads(item))


def _places(item: StoredObject, workloads: Iterable[WorkloadReference]) -> Iterator[str]:
    for each in workloads:
        yield "/".join(place_of(item.metadata.namespace, each))


def _applications_of_deployment(item: StoredObject) -> Iterator[str]:
    spec, _ = read(DeploymentSpec, item.spec, "spec")
    names, _ = read(DeploymentNames, item.status, "status")
    found = (
        spec.target_application_name,
        spec.source_application_name,
        names.last_target_application_name,
        names.last_source_application_name,
    )
    yield from (f"{item.metadata.namespace}/{each}" for each in dict.fromkeys(found) if each)


def named_workloads(deployment: StoredObject) -> tuple[WorkloadReference, ...]:
    """Those that its status names; Applications stand for workloads that are not known yet."""
    return tuple(each for each in workloads_of(of_deployment(deployment)).all if not is_application(each))


def located_workloads(rollout: StoredObject) -> tuple[WorkloadReference, ...]:
    """The same of a Rollout, whose revisions stand for them."""
    return tuple(each for each in workloads_of(of_rollout(rollout)).all if not is_revision(each))


def described_workloads(rollout: StoredObject) -> tuple[WorkloadReference, ...]:
    """The same of an AppRollout, whose ApplicationRevisions stand for them."""
    found = workloads_of(of_app_rollout(rollout)).all
    return tuple(each for each in found if not is_revision(each) and not is_snapshot(each))


_INDEXES: dict[Resource, dict[str, Index[StoredObject]]] = {
    APPLICATIONS: {},
    COMPONENTS: {},
    CONFIGURATIONS: {
        WORKLOADS: _workloads_of_configuration,
        APPLICATION_NAMES: _application_of_configuration,
        COMPONENT_NAMES: _components_of_configuration,
    },
    APPLICATION_DEPLOYMENTS: {WORKLOADS: _workloads_of_deployment, APPLICATION_NAMES: _applications_of_deployment},
    ROLLOUTS: {WORKLOADS: _workloads_of_rollout},
    APP_ROLLOUTS: {WORKLOADS: _workloads_of_app_rollout},
}


class WatchedApplications:
    def __init__(self, caches: Caches, namespace: str, workloads: WatchedWorkloads) -> None:
        self.workloads = workloads
        self.of: dict[Resource, Informer[StoredObject]] = {
            resource: caches.informer(resource, StoredObject, namespace=namespace, indexes=indexes, optional=True)
            for resource, indexes in _INDEXES.items()
        }
        self.traits: Informer[RolloutTrait] = caches.informer(ROLLOUT_TRAITS, RolloutTrait, namespace=namespace)
        self.of[CONFIGURATIONS].subscribe(self._want_of_configuration)
        self.of[APPLICATION_DEPLOYMENTS].subscribe(partial(self._want_of, named_workloads))
        self.of[ROLLOUTS].subscribe(partial(self._want_of, located_workloads))
        self.of[APP_ROLLOUTS].subscribe(partial(self._want_of, described_workloads))

    def _want_of_configuration(self, change: Change[StoredObject]) -> None:
        if change.new is not None:
            status, _ = read(ConfigurationStatus, change.new.status, "status")
            for each in status.workloads:
                self.workloads.want(each.workload_ref)

    def _want_of(
        self, named: Callable[[StoredObject], tuple[WorkloadReference, ...]], change: Change[StoredObject]
    ) -> None:
        if change.new is not None:
            for each in named(change.new):
                self.workloads.want(each)

    # Who is concerned.

    def wake_components(self, wake: Wake) -> None:
        self._itself(COMPONENTS, wake)

    def wake_applications(self, wake: Wake) -> None:
        self._itself(APPLICATIONS, wake)

        def component_changed(change: Change[StoredObject]) -> None:
            found = newest(change).metadata
            for owner in found.owner_references:
                if owner.kind == APPLICATIONS.kind:
                    wake(RolloutKey((found.namespace, owner.name)), change.initial)

        def configuration_changed(change: Change[StoredObject]) -> None:
            self._applications((newest(change),), wake, change.initial)

        def workload_changed(place: Place, initial: bool) -> None:
            self._applications(self.of[CONFIGURATIONS].store.by(WORKLOADS, "/".join(place)), wake, initial)

        self.of[COMPONENTS].subscribe(component_changed)
        self.of[CONFIGURATIONS].subscribe(configuration_changed)
        self.workloads.subscribe(workload_changed)

    def wake_configurations(self, wake: Wake) -> None:
        store = self.of[CONFIGURATIONS].store

        def itself_and_others(change: Change[StoredObject]) -> None:
            """The newest of an application sees to those before it."""
            found = newest(change)
            wake(_key(found), change.initial)
            for name in _application_of_configuration(found):
                _all(store.by(APPLICATION_NAMES, name), wake, change.initial)

        def component_changed(change: Change[StoredObject]) -> None:
            found = newest(change).metadata
            _all(store.by(COMPONENT_NAMES, f"{found.namespace}/{found.name}"), wake, change.initial)

        def workload_changed(place: Place, initial: bool) -> None:
            _all(store.by(WORKLOADS, "/".join(place)), wake, initial)

        def trait_changed(change: Change[RolloutTrait]) -> None:
            trait = change.new if change.new is not None else change.old
            if trait is None:
                return
            namespace = trait.metadata.namespace
            for owner in trait.metadata.owner_references:
                if owner.kind == CONFIGURATIONS.kind:
                    wake(RolloutKey((namespace, owner.name)), change.initial)
            for each in workloads_of(of_trait(trait)).all:
                workload_changed(place_of(namespace, each), change.initial)

        def deployment_changed(change: Change[StoredObject]) -> None:
            for name in _applications_of_deployment(newest(change)):
                _all(store.by(APPLICATION_NAMES, name), wake, change.initial)

        self.of[CONFIGURATIONS].subscribe(itself_and_others)
        self.of[COMPONENTS].subscribe(component_changed)

        self.of[APPLICATION_DEPLOYMENTS].subscribe(deployment_changed)
        self.of[ROLLOUTS].subscribe(partial(self._rollout_changed, wake, _workloads_of_rollout))
        self.of[APP_ROLLOUTS].subscribe(partial(self._rollout_changed, wake, _workloads_of_app_rollout))
        self.traits.subscribe(trait_changed)
        self.workloads.subscribe(workload_changed)

    def _rollout_changed(self, wake: Wake, places: Index[StoredObject], change: Change[StoredObject]) -> None:
        """Configurations follow what it makes, and have its workloads back once it has ended."""
        found = newest(change).metadata
        for owner in found.owner_references:
            if owner.kind == CONFIGURATIONS.kind:
                wake(RolloutKey((found.namespace, owner.name)), change.initial)
        for place in places(newest(change)):
            _all(self.of[CONFIGURATIONS].store.by(WORKLOADS, place), wake, change.initial)

    def wake_deployments(self, wake: Wake) -> None:
        self._itself(APPLICATION_DEPLOYMENTS, wake)
        store = self.of[APPLICATION_DEPLOYMENTS].store

        def application_changed(change: Change[StoredObject]) -> None:
            found = newest(change).metadata
            _all(store.by(APPLICATION_NAMES, f"{found.namespace}/{found.name}"), wake, change.initial)

        def configuration_changed(change: Change[StoredObject]) -> None:
            for name in _application_of_configuration(newest(change)):
                _all(store.by(APPLICATION_NAMES, name), wake, change.initial)

        def workload_changed(place: Place, initial: bool) -> None:
            _all(store.by(WORKLOADS, "/".join(place)), wake, initial)

        self.of[APPLICATIONS].subscribe(application_changed)
        self.of[CONFIGURATIONS].subscribe(configuration_changed)
        self.workloads.subscribe(workload_changed)

    def wake_rollouts(self, wake: Wake) -> None:
        self._by_workloads(ROLLOUTS, wake)

    def wake_app_rollouts(self, wake: Wake) -> None:
        self._by_workloads(APP_ROLLOUTS, wake)

    def _by_workloads(self, resource: Resource, wake: Wake) -> None:
        self._itself(resource, wake)
        store = self.of[resource].store
        self.workloads.subscribe(lambda place, initial: _all(store.by(WORKLOADS, "/".join(place)), wake, initial))

    def _itself(self, resource: Resource, wake: Wake) -> None:
        self.of[resource].subscribe(lambda change: wake(_key(newest(change)), change.initial))

    def _applications(self, configurations: Iterable[StoredObject], wake: Wake, initial: bool) -> None:
        for each in configurations:
            if name := each.metadata.labels.get(APPLICATION):
                wake(RolloutKey((each.metadata.namespace, name)), initial)


def _key(item: StoredObject) -> RolloutKey:
    return RolloutKey((item.metadata.namespace, item.metadata.name))


def _all(items: Iterable[StoredObject], wake: Wake, initial: bool) -> None:
    for each in items:
        wake(_key(each), initial)


def newest(change: Change[Any]) -> Any:
    return change.new if change.new is not None else change.old
