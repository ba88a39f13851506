"""What a pass over a RolloutTrait is decided on."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fairlead.contracts.plans.kinds import Json, RolloutTrait, WorkloadReference
from fairlead.core.ask import Answers
from kubeloop.objects.meta import Resource


class LiveObject(Struct, frozen=True):
    """A workload as it is stored, under the resource that it was read by."""

    resource: Resource
    tree: Json


class Extension(Struct, frozen=True):
    """`extension.rollout` of the WorkloadDefinition of a kind."""

    group: str
    kind: str
    rollout: Any


class TraitSeen(Struct, frozen=True, kw_only=True):
    """Everything that a pass over one RolloutTrait may read."""

    trait: RolloutTrait
    namespace_uid: str
    workloads: tuple[LiveObject, ...] = ()
    """Those that the spec or the status names, as far as they are there."""
    pods: tuple[Json, ...] = ()
    """Of the target, where its kind needs them."""
    revisions: tuple[Json, ...] = ()
    """ControllerRevisions of the target, where its kind needs them."""
    gone: frozenset[str] = frozenset()
    """UIDs of controllers of these workloads that are known to exist no more."""
    autoscalers: dict[str, str] = {}
    """By name of a workload, the HorizontalPodAutoscaler that aims at it."""
    extensions: tuple[Extension, ...] = ()
    unserved: frozenset[str] = frozenset()
    """Kinds that the cluster does not serve, as `CloneSet.apps.kruise.io`."""
    answers: Answers = Answers()

    def live(self, reference: WorkloadReference) -> LiveObject | None:
        return next((each for each in self.workloads if _is_named(each, reference)), None)


def _is_named(live: LiveObject, reference: WorkloadReference) -> bool:
    metadata = live.tree.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    found = (live.resource.group, live.resource.kind, name)
    return found == (reference.group, reference.kind, reference.name)
