"""The core group: pods, as decisions see them."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from kubeloop.objects.meta import Condition, Meta, Resource

PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
SERVICES = Resource("", "v1", "services", "Service")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")


class ContainerWaiting(Struct, frozen=True, gc=False):
    reason: str = ""
    message: str = ""


class ContainerRunning(Struct, frozen=True, gc=False):
    pass


class ContainerTerminated(Struct, frozen=True, rename="camel", gc=False):
    finished_at: datetime | None = None
    started_at: datetime | None = None
    exit_code: int = 0
    reason: str = ""
    """`Error`, `Completed`, `OOMKilled` and others."""


class ContainerState(Struct, frozen=True, gc=False):
    waiting: ContainerWaiting | None = None
    running: ContainerRunning | None = None
    terminated: ContainerTerminated | None = None


class ContainerStatus(Struct, frozen=True, rename="camel", gc=False):
    name: str
    ready: bool = False
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    """How its predecessor ended; empty until it is restarted."""
    restart_count: int = 0


class PodStatus(Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class PodMeta(Meta, frozen=True, rename="camel"):
    annotations: dict[str, str] = {}
    creation_timestamp: datetime | None = None


class Container(Struct, frozen=True, gc=False):
    name: str
    image: str = ""


class PodSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()

    @property
    def all_containers(self) -> tuple[Container, ...]:
        return (*self.init_containers, *self.containers)


class Pod(Struct, frozen=True):
    metadata: PodMeta
    status: PodStatus = PodStatus()
    spec: PodSpec = PodSpec()
