"""The workloads that plans are about: those of a kind are watched from when some rollout names it.

A cluster has many workloads, and most kinds of them are nobody's business here. Pods and ControllerRevisions are
watched where a kind's own status does not tell old pods from new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from fairlead.contracts.plans.cached_objects import (
    WORKLOAD_ANNOTATIONS,
    StoredAutoscaler,
    StoredPod,
    StoredRevision,
    StoredWorkload,
)
from fairlead.contracts.plans.decide.facts import BUILT_IN, served_resource
from fairlead.contracts.plans.kinds import AUTOSCALERS, DAEMON_SETS, WorkloadReference
from fairlead.core.ask import Answers
from kubeloop.caches import Caches
from kubeloop.errors import Forbidden
from kubeloop.informer import Change, Informer
from kubeloop.objects.apps import CONTROLLER_REVISIONS, REVISION_LABEL, STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from kubeloop.store import Named

OWNER, AIM = "owner", "aim"
"""Indexes: by the UID of the controller; by the workload that is scaled."""

Place: TypeAlias = tuple[str, str, str, str]
"""(namespace, group, kind, name) of a workload."""
Moved: TypeAlias = Callable[[Place, bool], None]
"""Told that something about a workload changed, and whether only a first list says so."""


def place_of(namespace: str, reference: WorkloadReference) -> Place:
    return namespace, reference.group, reference.kind, reference.name


def _by_owner(item: Named) -> Iterator[str]:
    if owner := item.metadata.controller_uid:
        yield owner


def _aim(autoscaler: StoredAutoscaler) -> Place:
    aim = autoscaler.spec.scale_target_ref
    return place_of(autoscaler.metadata.namespace, WorkloadReference(aim.api_version, aim.kind, aim.name))


def _by_aim(autoscaler: StoredAutoscaler) -> Iterator[str]:
    yield "/".join(_aim(autoscaler))


class _Kind:
    """One kind of workload in one namespace or all, under the first of its versions that is served."""

    def __init__(self, watch: Callable[[Resource], Informer[StoredWorkload]], resources: tuple[Resource, ...]) -> None:
        self._watch = watch
        self._known = resources
        self._left = list(resources)
        self._informers = [watch(self._left.pop(0))]

    def learn(self, resources: tuple[Resource, ...]) -> None:
        """It is served like this by now: a version may have come, and the one before gone, or its scope be another."""
        new = tuple(each for each in resources if each not in self._known)
        self._known += new
        self._left += new

    @property
    def informer(self) -> Informer[StoredWorkload] | None:
        """None where no version is served; the next version is tried once one is known to be absent."""
        while self._left and all(map(_is_unserved, self._informers)):
            self._informers.append(self._watch(self._left.pop(0)))
        return next((each for each in self._informers if not _is_unserved(each)), None)


def _is_unserved(informer: Informer[StoredWorkload]) -> bool:
    """A right that is missing says nothing of what there is: it is waited for."""
    return informer.is_absent and not isinstance(informer.last_error, Forbidden)


class WatchedWorkloads:
    """Workloads of one namespace, or of all of them; several controllers may ask for them and hear of them."""

    def __init__(self, caches: Caches, namespace: str) -> None:
        self._caches, self._namespace = caches, namespace
        self._kinds: dict[tuple[str, str], _Kind] = {}
        self._pods: Informer[StoredPod] | None = None
        self._revisions: Informer[StoredRevision] | None = None
        self._listeners: list[Moved] = []
        self.autoscalers: Informer[StoredAutoscaler] = caches.informer(
            AUTOSCALERS, StoredAutoscaler, namespace=namespace, indexes={AIM: _by_aim}, optional=True
        )
        self.autoscalers.subscribe(self._autoscaler_changed)

    def subscribe(self, moved: Moved) -> None:
        self._listeners.append(moved)

    def want(self, reference: WorkloadReference, answers: Answers | None = None) -> None:
        """From now on its kind is watched; where it is no built-in one, as soon as discovery has told its resource."""
        kind = (reference.group, reference.kind)
        resources = BUILT_IN.get(kind) or served_resource(answers or Answers(), reference)
        if kind in self._kinds:
            self._kinds[kind].learn(resources)
        elif resources:
            self._kinds[kind] = _Kind(self._watch, resources)
        if kind in (_key(STATEFULSETS), _key(DAEMON_SETS)):
            self._watch_pods()

    def is_unserved(self, reference: WorkloadReference) -> bool:
        """Whether the cluster is known to serve no version of it; of kinds that are not built in, discovery tells."""
        kind = (reference.group, reference.kind)
        found = self._kinds.get(kind)
        return found is not None and found.informer is None and kind in BUILT_IN

    def is_unlisted(self, reference: WorkloadReference) -> bool:
        """Whether it is watched, and it is not known yet what there is of it, or in which version it is served now."""
        kind = (reference.group, reference.kind)
        found = self._kinds.get(kind)
        if found is None:
            return False
        informer = found.informer
        return kind not in BUILT_IN if informer is None else not informer.synced.is_set()

    def live(self, namespace: str, reference: WorkloadReference) -> tuple[Resource, StoredWorkload] | None:
        found = self._kinds.get((reference.group, reference.kind))
        informer = None if found is None else found.informer
        workload = None if informer is None else informer.store.get(namespace, reference.name)
        return None if informer is None or workload is None else (informer.resource, workload)

    def pods(self, owner: str) -> tuple[StoredPod, ...]:
        return () if self._pods is None else self._pods.store.by(OWNER, owner)

    def revisions(self, owner: str) -> tuple[StoredRevision, ...]:
        return () if self._revisions is None else self._revisions.store.by(OWNER, owner)

    def autoscaler(self, namespace: str, reference: WorkloadReference) -> str:
        """The name of the first that aims at the workload; empty where none does."""
        found = self.autoscalers.store.by(AIM, "/".join(place_of(namespace, reference)))
        return found[0].metadata.name if found else ""

    def informers(self, references: tuple[WorkloadReference, ...]) -> Mapping[Resource, Informer[Named]]:
        """What rounds about these workloads read and must not do without."""
        found: dict[Resource, Informer[Any]] = {}
        for each in references:
            kind = self._kinds.get((each.group, each.kind))
            if kind is not None and (informer := kind.informer) is not None:
                found[informer.resource] = informer
            if (each.group, each.kind) in (_key(STATEFULSETS), _key(DAEMON_SETS)):
                found |= {one.resource: one for one in (self._pods, self._revisions) if one is not None}
        return cast("Mapping[Resource, Informer[Named]]", found)

    def _watch(self, resource: Resource) -> Informer[StoredWorkload]:
        informer = self._caches.informer(
            resource,
            StoredWorkload,
            namespace=self._namespace,
            annotations=WORKLOAD_ANNOTATIONS,
            optional=True,
            apart=True,
        )
        informer.subscribe(lambda change: self._workload_changed(resource, change))
        return informer

    def _watch_pods(self) -> None:
        """Pods that carry the name of a ControllerRevision, which are those of StatefulSets and DaemonSets."""
        if self._pods is None:
            by_owner = {OWNER: _by_owner}
            self._pods = self._caches.informer(
                PODS, StoredPod, namespace=self._namespace, labels=REVISION_LABEL, indexes=by_owner
            )
            self._pods.subscribe(self._owned_changed)
            self._revisions = self._caches.informer(
                CONTROLLER_REVISIONS, StoredRevision, namespace=self._namespace, indexes=by_owner
            )
            self._revisions.subscribe(self._owned_changed)

    def _workload_changed(self, resource: Resource, change: Change[StoredWorkload]) -> None:
        meta = _newest(change).metadata
        self._tell((meta.namespace, resource.group, resource.kind, meta.name), change.initial)

    def _owned_changed(self, change: Change[Any]) -> None:
        meta = _newest(change).metadata
        for owner in meta.owner_references:
            if owner.controller:
                group = owner.api_version.rpartition("/")[0]
                self._tell((meta.namespace, group, owner.kind, owner.name), change.initial)

    def _autoscaler_changed(self, change: Change[StoredAutoscaler]) -> None:
        self._tell(_aim(_newest(change)), change.initial)

    def _tell(self, place: Place, initial: bool) -> None:
        for each in self._listeners:
            each(place, initial)


def _key(resource: Resource) -> tuple[str, str]:
    return resource.group, resource.kind


def _newest(change: Change[Any]) -> Any:
    return change.new if change.new is not None else change.old
