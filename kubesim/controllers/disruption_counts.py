"""How many pods a disruption budget is about, how many of them must be healthy, and how many are.

Where the budget is a share, or says how many may be missing, it is the owners of its pods that tell how many pods there
should be: a Deployment, ReplicaSet, StatefulSet, ReplicationController, or anything that has a scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from fractions import Fraction

from msgspec import Struct

from kubeloop.objects.apps import DEPLOYMENTS, REPLICASETS, STATEFULSETS
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import LabelSelector, Meta, OwnerReference, Resource
from kubesim.controllers.base import Api, View
from kubesim.controllers.statefulset_pods import is_ready
from kubesim.errors import StatusError, qualified
from kubesim.kinds.registry import REPLICATION_CONTROLLERS
from kubesim.strategies import subresources

DELETION_TIMEOUT = timedelta(minutes=2)
"""How long a disrupted pod may take to be seen to go."""


class Unclear(Exception):
    """It cannot be said how many pods there should be; the text is part of the budget's status."""


class BudgetSpec(Struct, frozen=True, rename="camel"):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class Sized(Struct, frozen=True):
    """A workload, of which only the size is read."""

    class Spec(Struct, frozen=True):
        replicas: int = 1

    metadata: Meta
    spec: Spec = Spec()


class Expected(Struct, frozen=True):
    """Pods that there should be, those of them that must be healthy, and the names of pods that nobody controls."""

    count: int
    healthy: int
    unmanaged: tuple[str, ...] = ()


class Workloads:
    """Sizes of the owners of pods, as lagging watches show them; of kinds that are not watched, as they are."""

    def __init__(self, api: Api) -> None:
        self._api = api
        kinds = (DEPLOYMENTS, REPLICASETS, STATEFULSETS, REPLICATION_CONTROLLERS)
        self.views: dict[Resource, View[Sized]] = {kind: api.view(kind, Sized) for kind in kinds}

    def expected(self, spec: BudgetSpec, pods: Sequence[Pod]) -> Expected:
        """Raises Unclear where an owner cannot be asked."""
        if spec.max_unavailable is not None:
            count, unmanaged = self._scale(pods)
            return Expected(count, max(count - share(spec.max_unavailable, count), 0), unmanaged)
        if isinstance(spec.min_available, str):
            count, unmanaged = self._scale(pods)
            return Expected(count, share(spec.min_available, count), unmanaged)
        return Expected(len(pods) if spec.min_available is not None else 0, spec.min_available or 0)

    def _scale(self, pods: Iterable[Pod]) -> tuple[int, tuple[str, ...]]:
        """The sizes of all controllers of the pods, each counted once."""
        sizes: dict[str, int] = {}
        unmanaged = []
        for pod in pods:
            owner = next((each for each in pod.metadata.owner_references if each.controller), None)
            if owner is None:
                unmanaged.append(pod.metadata.name)
            elif owner.uid not in sizes:
                found = self._size(owner, pod.metadata.namespace)
                if found is None:
                    raise Unclear(f'found no controllers for pod "{pod.metadata.name}"')
                sizes.update((found,))
        return sum(sizes.values()), tuple(unmanaged)

    def _size(self, owner: OwnerReference, namespace: str) -> tuple[str, int] | None:
        """UID and size of what the pod belongs to; a ReplicaSet of a Deployment stands for that."""
        group = owner.api_version.rpartition("/")[0]
        for kind, view in self.views.items():
            if kind != DEPLOYMENTS and (kind.group, kind.kind) == (group, owner.kind):
                found = _same(view, namespace, owner)
                if found is not None and kind == REPLICASETS:
                    found = self._deployment_or_set(found)
                if found is not None:
                    return found.metadata.uid, found.spec.replicas
        return self._scale_of(owner, namespace)

    def _deployment_or_set(self, set_: Sized) -> Sized | None:
        owner = next((each for each in set_.metadata.owner_references if each.controller), None)
        if owner is None or owner.kind != DEPLOYMENTS.kind:
            return set_
        return _same(self.views[DEPLOYMENTS], set_.metadata.namespace, owner)

    def _scale_of(self, owner: OwnerReference, namespace: str) -> tuple[str, int] | None:
        resource = self._api.resource(owner.api_version, owner.kind)
        if resource is None:
            raise Unclear(f'no matches for kind "{owner.kind}" in version "{owner.api_version}"')
        kind = self._api.registry.kind(resource)
        if "scale" not in kind.subresources:
            raise Unclear(f"{qualified(resource)} does not implement the scale subresource")
        try:
            tree = self._api.read(resource, namespace, owner.name)
            scale = subresources.scale_shown(kind, tree)
        except StatusError as error:
            if error.code == 404:
                return None
            raise Unclear(str(error)) from error
        if scale["metadata"]["uid"] != owner.uid:
            return None
        return owner.uid, scale["spec"].get("replicas") or 0


def _same(view: View[Sized], namespace: str, owner: OwnerReference) -> Sized | None:
    """What the reference names, unless it is another of that name."""
    found = view.objects.get(namespace, owner.name)
    return found if found is not None and found.metadata.uid == owner.uid else None


def share(value: int | str, whole: int) -> int:
    """A number, or a percentage of the whole, rounded up: of 3 pods `50%` are 2."""
    return value if isinstance(value, int) else math.ceil(Fraction(value.removesuffix("%")) * whole / 100)


def still_disrupted(
    pods: Iterable[Pod], said: dict[str, datetime], now: datetime
) -> tuple[dict[str, datetime], list[Pod]]:
    """Of the pods that were to be deleted those that may yet be, and those that should have been seen to go."""
    left: dict[str, datetime] = {}
    late = []
    for pod in pods:
        since = said.get(pod.metadata.name)
        if since is None or pod.metadata.deletion_timestamp is not None:
            continue
        if since + DELETION_TIMEOUT < now:
            late.append(pod)
        else:
            left[pod.metadata.name] = since
    return left, late


def count_healthy(pods: Iterable[Pod], disrupted: dict[str, datetime], now: datetime) -> int:
    """Pods that are ready and will stay."""
    return sum(
        is_ready(pod) and pod.metadata.deletion_timestamp is None and not _is_leaving(pod, disrupted, now)
        for pod in pods
    )


def _is_leaving(pod: Pod, disrupted: dict[str, datetime], now: datetime) -> bool:
    since = disrupted.get(pod.metadata.name)
    return since is not None and since + DELETION_TIMEOUT > now
