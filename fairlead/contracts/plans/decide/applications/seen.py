"""What a pass over an object of this family is decided on: the object, and what was answered."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import StoredObject
from fairlead.contracts.plans.decide.applications.trees import Tree, mapping
from fairlead.contracts.plans.decide.applications.writes import Reported
from fairlead.contracts.plans.kinds import Json
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.ask import Answers
from kubeloop.objects.meta import Ref, Resource


class FamilySeen(Struct, frozen=True, kw_only=True):
    """Everything else is read live while it is decided, so that no stale cache is decided on."""

    resource: Resource
    object: StoredObject
    settings: PlanSettings = PlanSettings()
    answers: Answers = Answers()

    @property
    def namespace(self) -> str:
        return self.object.metadata.namespace

    @property
    def name(self) -> str:
        return self.object.metadata.name

    @property
    def uid(self) -> str:
        return self.object.metadata.uid

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.namespace, self.name, self.uid)

    def as_owner(self, *, controls: bool = False) -> Json:
        """The reference by which something goes with it."""
        named = {"apiVersion": self.resource.api_version, "kind": self.resource.kind, "name": self.name}
        flags = {"controller": True, "blockOwnerDeletion": True} if controls else {}
        return {**named, "uid": self.uid, **flags}

    @property
    def annotations(self) -> dict[str, str]:
        return self.object.metadata.annotations

    @property
    def is_leaving(self) -> bool:
        return self.object.metadata.deletion_timestamp is not None

    @property
    def reported(self) -> Reported:
        metadata = self.object.metadata
        return Reported(self.ref, metadata.resource_version, self.object.status, metadata.generation)

    @property
    def tree(self) -> Tree:
        """As far as it is held: enough to patch its metadata by key, not to replace its lists."""
        metadata = self.object.metadata
        return Tree(
            self.resource,
            {
                "metadata": {
                    "name": metadata.name,
                    "namespace": metadata.namespace,
                    "uid": metadata.uid,
                    "resourceVersion": metadata.resource_version,
                    "generation": metadata.generation,
                    "labels": metadata.labels,
                    "annotations": metadata.annotations,
                },
                "spec": mapping(self.object.spec),
                "status": mapping(self.object.status),
            },
        )
