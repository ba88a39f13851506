"""What a pass over a rollout is decided on whose workloads others stand for: Applications, or revisions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import StoredObject
from fairlead.contracts.plans.decide.applications.trees import mapping
from fairlead.contracts.plans.decide.reading import written
from fairlead.contracts.plans.decide.seen import RolloutObject, TraitSeen
from fairlead.contracts.plans.kinds import WorkloadReference
from kubeloop.objects.meta import Resource


class PlannedSeen(Struct, frozen=True, kw_only=True):
    object: StoredObject
    trait: TraitSeen
    """The rollout that it is, with the workloads that its status names."""

    @property
    def namespace(self) -> str:
        return self.object.metadata.namespace

    @property
    def uid(self) -> str:
        return self.object.metadata.uid


def as_rollout(
    stored: StoredObject,
    kind: tuple[Resource, str],
    names: tuple[WorkloadReference, Iterable[WorkloadReference]],
    *,
    reverts: bool = False,
    **more: Any,
) -> RolloutObject:
    """Of this resource with its finalizer; `names` are what it goes to and comes from.

    `reverts`: `revertOnDelete` stands beside the plan, too.
    """
    plan = mapping(stored.spec).get("rolloutPlan")
    return RolloutObject(
        resource=kind[0],
        finalizer=kind[1],
        metadata=stored.metadata,
        spec={
            "targetRef": written(names[0]),
            "sourceRef": [written(each) for each in names[1]],
            "rolloutPlan": {**mapping(plan), "revertOnDelete": True} if reverts else plan,
        },
        status=stored.status,
        **more,
    )
