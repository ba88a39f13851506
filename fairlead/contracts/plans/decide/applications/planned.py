"""What a pass over a rollout is decided on whose workloads others stand for: Applications, or revisions."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import StoredObject
from fairlead.contracts.plans.decide.seen import TraitSeen


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
