"""The few fields of pods and StatefulSets that are read here, decoded straight from the server's bytes.

Written apart from the operator's own types, so that a mistake there is not repeated by those who judge it.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from fairlead.contracts.zones.kinds import NAME_LABEL
from kubeloop.objects.apps import REVISION_LABEL

T = TypeVar("T")


class Meta(Struct, frozen=True, rename="camel"):
    name: str
    uid: str
    resource_version: str
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletion_timestamp: str | None = None


class Running(Struct, frozen=True, gc=False):
    pass


class State(Struct, frozen=True, gc=False):
    running: Running | None = None


class Container(Struct, frozen=True):
    ready: bool = False
    state: State = State()


class PodStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    container_statuses: tuple[Container, ...] = ()


class Pod(Struct, frozen=True):
    metadata: Meta
    status: PodStatus = PodStatus()

    @property
    def zone(self) -> str:
        return self.metadata.labels.get(NAME_LABEL, "")

    @property
    def revision(self) -> str:
        return self.metadata.labels.get(REVISION_LABEL, "")

    @property
    def is_terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def is_ready(self) -> bool:
        """By the contract: Running, not terminating, every container ready and running."""
        return (
            self.status.phase == "Running"
            and not self.is_terminating
            and all(each.ready and each.state.running is not None for each in self.status.container_statuses)
        )


class Spec(Struct, frozen=True):
    replicas: int = 1


class Status(Struct, frozen=True, rename="camel"):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""


class StatefulSet(Struct, frozen=True):
    metadata: Meta
    spec: Spec = Spec()
    status: Status = Status()


class ListMeta(Struct, frozen=True, rename="camel"):
    resource_version: str


class Listing(Struct, Generic[T], frozen=True):
    metadata: ListMeta
    items: list[T]


class Line(Struct, Generic[T], frozen=True):
    """One line of a watch without bookmarks."""

    type: str
    object: T


pods_in = msgspec.json.Decoder(Listing[Pod]).decode
statefulsets_in = msgspec.json.Decoder(Listing[StatefulSet]).decode
anything_in = msgspec.json.Decoder(Listing[Raw]).decode
pod_line = msgspec.json.Decoder(Line[Pod]).decode
statefulset_line = msgspec.json.Decoder(Line[StatefulSet]).decode
