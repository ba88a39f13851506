"""The core group: pods, as decisions see them."""

from __future__ import annotations

from msgspec import Struct

from fairlead.api.meta import Condition, Meta, Resource

PODS = Resource("", "v1", "pods", "Pod")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")


class ContainerWaiting(Struct, frozen=True, gc=False):
    reason: str = ""


class ContainerRunning(Struct, frozen=True, gc=False):
    pass


class ContainerState(Struct, frozen=True, gc=False):
    waiting: ContainerWaiting | None = None
    running: ContainerRunning | None = None


class ContainerStatus(Struct, frozen=True, gc=False):
    name: str
    ready: bool = False
    state: ContainerState = ContainerState()


class PodStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Struct, frozen=True):
    metadata: Meta
    status: PodStatus = PodStatus()
