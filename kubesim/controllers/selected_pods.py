"""Services and the pods that their selectors choose, as both controllers of endpoints see them.

The two share their watches, as in kube-controller-manager. A change of a pod costs a look at the Services of its
namespace; pods of a cluster without Services that choose any are not even watched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from msgspec import Struct, field

from kubeloop.objects.meta import Meta
from kubeloop.store import Named
from kubesim.api.verbs import Verbs
from kubesim.controllers.base import ACCOUNTS, Api
from kubesim.kinds.registry import NODES, PODS, SERVICES

Key = tuple[str, str]


_NAMESPACE = "namespace"


class ServicePort(Struct, frozen=True, rename="camel"):
    name: str = ""
    protocol: str = "TCP"
    port: int = 0
    target_port: int | str = 0
    app_protocol: str | None = None


class ServiceMeta(Meta, frozen=True, rename="camel"):
    creation_timestamp: str = ""


class ServiceSpec(Struct, frozen=True, rename="camel"):
    selector: dict[str, str] = {}
    ports: tuple[ServicePort, ...] = ()
    type: str = ""
    cluster_ip: str = field(name="clusterIP", default="")
    ip_families: tuple[str, ...] = ("IPv4",)
    publish_not_ready_addresses: bool = False


class Service(Struct, frozen=True):
    metadata: ServiceMeta
    spec: ServiceSpec = ServiceSpec()

    @property
    def key(self) -> Key:
        return self.metadata.namespace, self.metadata.name

    @property
    def is_headless(self) -> bool:
        return self.spec.cluster_ip in ("", "None")

    @property
    def has_endpoints(self) -> bool:
        """Whether its endpoints are worked out from pods."""
        return bool(self.spec.selector) and self.spec.type != "ExternalName"


class ContainerPort(Struct, frozen=True, rename="camel", gc=False):
    name: str = ""
    container_port: int = 0
    protocol: str = "TCP"


class Container(Struct, frozen=True, rename="camel"):
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class PodSpec(Struct, frozen=True, rename="camel"):
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()


class Address(Struct, frozen=True, gc=False):
    ip: str = ""


class Condition(Struct, frozen=True, rename="camel", gc=False):
    type: str
    status: str
    last_transition_time: str | None = None


class PodStatus(Struct, frozen=True):
    phase: str = ""
    pod_ip: str = field(name="podIP", default="")
    pod_ips: tuple[Address, ...] = field(name="podIPs", default=())
    conditions: tuple[Condition, ...] = ()


class Pod(Struct, frozen=True):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def ready(self) -> Condition | None:
        return next((each for each in self.status.conditions if each.type == "Ready"), None)

    @property
    def is_ready(self) -> bool:
        return self.ready is not None and self.ready.status == "True"

    @property
    def is_terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def has_address(self) -> bool:
        """Whether it can be reached: it has an address and has not ended."""
        status = self.status
        return status.phase not in ("Succeeded", "Failed") and bool(status.pod_ip or status.pod_ips)

    def hostname_in(self, service: Service) -> str:
        """Its name within the Service; empty when it has none there."""
        return self.spec.hostname if self.spec.subdomain == service.metadata.name else ""

    def addresses(self, family: str) -> tuple[str, ...]:
        """Its addresses of a family, `IPv4` or `IPv6`."""
        return tuple(each.ip for each in self.status.pod_ips if (":" in each.ip) == (family == "IPv6"))

    def port_for(self, port: ServicePort) -> int | None:
        """The number that a port of a Service means in this pod; None when no container names it."""
        if isinstance(port.target_port, int):
            return port.target_port
        sidecars = (each for each in self.spec.init_containers if each.restart_policy == "Always")
        for container in (*self.spec.containers, *sidecars):
            for known in container.ports:
                if (known.name, known.protocol) == (port.target_port, port.protocol):
                    return known.container_port
        return None


class Node(Struct, frozen=True):
    metadata: Meta


class Chosen:
    """The Services, and the pods that each chooses; its watches are behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs) -> None:
        api = Api(verbs, f"{ACCOUNTS}endpoint-controller")
        self.services = api.view(SERVICES, Service, {_NAMESPACE: _namespace_of})
        self.nodes = api.view(NODES, Node)
        self.synced = asyncio.Event()
        """Set once there has been a Service that chooses pods and the pods have been seen."""
        self._pods = api.view(PODS, Pod, {_NAMESPACE: _namespace_of})
        self._members: dict[Key, dict[str, Pod]] = {}
        self._listeners: list[Callable[[Key], None]] = []
        self._wanted = asyncio.Event()
        self.services.subscribe(self._service_changed)
        self._pods.subscribe(self._pod_changed)

    def listen(self, listener: Callable[[Key], None]) -> None:
        """Has the listener called with a Service that has changed, or whose pods have in a way that matters."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.services.run())
            await self._wanted.wait()
            for view in (self._pods, self.nodes):
                tasks.create_task(view.run())
            await asyncio.gather(self._pods.synced.wait(), self.nodes.synced.wait())
            self.synced.set()

    def members(self, service: Service) -> list[Pod]:
        """The pods that the Service chooses, by name."""
        members = self._members.get(service.key, {})
        return [members[name] for name in sorted(members)]

    def _service_changed(self, old: Service | None, new: Service | None) -> None:
        if any(each is not None and each.has_endpoints for each in (old, new)):
            self._wanted.set()
        if new is None:
            if old is not None:
                self._members.pop(old.key, None)
                self._tell(old.key)
            return
        if old is None or old.spec.selector != new.spec.selector:
            pods = self._pods.objects.by(_NAMESPACE, new.metadata.namespace)
            self._members[new.key] = {pod.metadata.name: pod for pod in pods if _chooses(new, pod)}
        self._tell(new.key)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        if pod is None:
            return
        for service in self.services.objects.by(_NAMESPACE, pod.metadata.namespace):
            members = self._members[service.key]
            before = members.get(pod.metadata.name)
            after = new if new is not None and _chooses(service, new) else None
            if after is not None:
                members[pod.metadata.name] = after
            elif before is not None:
                del members[pod.metadata.name]
            if _matters(before, after):
                self._tell(service.key)

    def _tell(self, key: Key) -> None:
        for listener in self._listeners:
            listener(key)


def _namespace_of(item: Named) -> Iterable[str]:
    return (item.metadata.namespace,)


def _chooses(service: Service, pod: Pod) -> bool:
    selector = service.spec.selector
    return bool(selector) and selector.items() <= pod.metadata.labels.items()


def _matters(before: Pod | None, after: Pod | None) -> bool:
    """Whether endpoints may be different with the pod as it is after."""
    if before is None or after is None:
        return before is not after
    return (
        before.metadata.uid != after.metadata.uid
        or before.is_terminating != after.is_terminating
        or before.is_ready != after.is_ready
        or before.status.pod_ips != after.status.pod_ips
        or before.status.phase != after.status.phase
        or (before.spec.hostname, before.spec.subdomain) != (after.spec.hostname, after.spec.subdomain)
    )
