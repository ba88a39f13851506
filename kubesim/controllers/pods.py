"""Pods as controllers see them: one form for all, so that each version of a pod is decoded once for everybody."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from sys import intern

from msgspec import Struct, field
from msgspec.structs import force_setattr

from kubeloop.objects.core import Pod as NarrowPod
from kubeloop.objects.core import PodMeta as NarrowMeta
from kubeloop.objects.core import PodStatus as NarrowStatus
from kubeloop.objects.meta import Condition

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


class PodAnnotations(Struct, frozen=True, gc=False):
    deletion_cost: str = field(name=DELETION_COST, default="")


class PodMeta(NarrowMeta, frozen=True, rename="camel", gc=False):
    annotations: PodAnnotations = PodAnnotations()  # type: ignore[assignment]  # of all annotations only what is read
    creation_timestamp: datetime | None = None


class Restarts(Struct, frozen=True, rename="camel", gc=False):
    name: str = ""
    restart_count: int = 0


class Sidecar(Struct, frozen=True, rename="camel", gc=False):
    name: str = ""
    restart_policy: str = ""


class PodSpec(Struct, frozen=True, rename="camel", gc=False):
    node_name: str = ""
    init_containers: tuple[Sidecar, ...] = ()


class PodStatus(NarrowStatus, frozen=True, rename="camel", gc=False):
    """Of the conditions only whether it is ready, because a cluster may have many pods."""

    container_statuses: tuple[Restarts, ...] = ()  # type: ignore[assignment]  # other fields of the same thing
    init_container_statuses: tuple[Restarts, ...] = ()  # type: ignore[assignment]

    def __post_init__(self) -> None:
        force_setattr(self, "phase", intern(self.phase))
        force_setattr(self, "conditions", tuple(_shared(each) for each in self.conditions if each.type == "Ready"))


@lru_cache(maxsize=10_000)
def _shared(condition: Condition) -> Condition:
    """One copy for all pods that became ready at the same moment."""
    return condition


class Pod(NarrowPod, frozen=True, gc=False):
    metadata: PodMeta
    status: PodStatus = PodStatus()
    spec: PodSpec = PodSpec()  # type: ignore[assignment]  # other fields of the same thing

    @property
    def is_terminal(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_active(self) -> bool:
        return not self.is_terminal and self.metadata.deletion_timestamp is None

    @property
    def is_going(self) -> bool:
        return not self.is_terminal and self.metadata.deletion_timestamp is not None
