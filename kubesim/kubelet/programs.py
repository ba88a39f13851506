"""What runs in pods that answer calls, and the Services by which it is reached.

A program is made for a pod when its containers start and ends when they stop. Calls reach it as in a cluster: by the
name of a Service whose selector chooses the pod, while the pod is ready (or the Service publishes those that are not),
by the name of the pod within the Service, or by the address of the pod, ready or not. Among several the first by name
answers. A port of a Service that has an address of its own is the pod's port that it stands for, where that is a
number; else ports are not looked at.

One code serves both clusters: the embedded one resolves names with `find`, and `handle` answers where there is only one
address for all, at `/NAMESPACE/SERVICE`, `/NAMESPACE/POD.SERVICE` or `/NAMESPACE/ADDRESS`, with a port behind a colon
where the caller has one to tell. Asked as a proxy for a whole `http://` address, it answers for its host.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from kubeloop.calls import Call, Handler, NoReply, Reply
from kubeloop.client import Client
from kubeloop.informer import Informer
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Meta

_HTTP = 80


class Hosted(Struct, frozen=True):
    """A pod as its program sees it."""

    namespace: str
    name: str
    uid: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    address: str = ""


class Program(Protocol):
    """What runs in one pod, from the start of its containers to their end."""

    async def answer(self, call: Call) -> Reply:
        """As a Handler; may raise NoReply."""

    def changed(self, pod: Hosted) -> None:
        """The pod has other labels or annotations."""

    def stop(self) -> None:
        """The containers have ended, by themselves or not."""


Exit = Callable[[], None]
"""Called by a program that ends by itself: its containers crash, and start again after a while."""
Maker = Callable[[Hosted, Exit], Program | None]
"""Makes the program of a pod; None when the pod is none of its business."""
Served = Callable[[Call], Reply | None]
"""Answers a call that is about no pod; None when it does not know the path."""


class _Port(Struct, frozen=True, rename="camel"):
    port: int = 0
    target_port: int | str = 0


class _Spec(Struct, frozen=True, rename="camel"):
    selector: dict[str, str] = {}
    publish_not_ready_addresses: bool = False
    cluster_ip: str = field(name="clusterIP", default="")
    ports: tuple[_Port, ...] = ()

    def target(self, port: int) -> int:
        """The pod's port behind a port of the Service; as it is where there is no number to put in its place."""
        if self.cluster_ip in ("", "None"):
            return port
        found = (each.target_port for each in self.ports if each.port == port)
        return next((each for each in found if isinstance(each, int) and each), port)


class _Service(Struct, frozen=True):
    metadata: Meta
    spec: _Spec = _Spec()


class _Running:
    __slots__ = ("pod", "program", "ready")

    def __init__(self, pod: Hosted, program: Program, ready: bool) -> None:
        self.pod = pod
        self.program = program
        self.ready = ready


class Programs:
    """The programs of one kubelet's pods; `extra` answers calls at paths of its own, for `handle` alone."""

    def __init__(self, *makers: Maker, extra: Served = lambda _: None) -> None:
        self._makers = makers
        self._extra = extra
        self._running: dict[str, _Running] = {}
        """By the UID of the pod."""
        self._services: Informer[_Service] | None = None
        self.synced = asyncio.Event()
        """Set once the Services that there are have been seen."""
        self.exited: Callable[[str], None] = lambda _: None
        """Set by the kubelet: hears the UID of a pod whose program has ended by itself."""

    async def follow(self, client: Client, namespace: str = "") -> None:
        """Until cancelled: keeps up with the Services there are; before it runs nothing is found by name."""
        self._services = services = Informer(client, SERVICES, _Service, namespace=namespace)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(services.run())
            await services.synced.wait()
            self.synced.set()

    # The kubelet's side

    def runs(self, pod: Hosted, *, ready: bool) -> None:
        """The pod's containers run; starts its program unless it runs already."""
        found = self._running.get(pod.uid)
        if found is None:
            program = self._made(pod)
            if program is not None:
                self._running[pod.uid] = _Running(pod, program, ready)
            return
        found.ready = ready
        if found.pod != pod:
            found.pod = pod
            found.program.changed(pod)

    def stopped(self, uid: str) -> None:
        """The pod's containers do not run, or the pod is going or gone."""
        found = self._running.pop(uid, None)
        if found is not None:
            found.program.stop()

    def _made(self, pod: Hosted) -> Program | None:
        made = (maker(pod, lambda: self._exit(pod.uid)) for maker in self._makers)
        return next((program for program in made if program is not None), None)

    def _exit(self, uid: str) -> None:
        if uid in self._running:
            self.stopped(uid)
            self.exited(uid)

    # The callers' side

    def find(self, host: str) -> Handler | None:
        """Who answers at a pod's address or a host of the cluster's DNS: a Service's, or a pod's within one."""
        found = next((each for each in self._running.values() if each.pod.address == host), None)
        if found is not None:
            return found.program.answer
        name = host.lower().rstrip(".").removesuffix(".cluster.local")
        parts = name.removesuffix(".svc").split(".")
        if not name.endswith(".svc") or len(parts) not in (2, 3):
            return None
        service = self._service(parts[-1], parts[-2])
        return None if service is None else self._answering(service, parts[0] if len(parts) == 3 else "")

    async def handle(self, call: Call) -> Reply:
        """Answers at one address for all: the path starts with the namespace and the Service, or is a whole address."""
        reply = self._extra(call)
        if reply is not None:
            return reply
        if call.url.startswith("http://"):
            parts = urlsplit(call.url)
            name, port = parts.hostname or "", f"{parts.port or ''}"
            rest = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        else:
            _, namespace, place, tail = [*call.url.split("/", 3), "", "", ""][:4]
            short, _, port = place.partition(":")
            name = short if _is_address(short) else f"{short}.{namespace}.svc"
            rest = f"/{tail}"
        handler = self.find(name)
        if handler is None:
            raise NoReply(f"{call.shown}: no such host")
        return await handler(_at(call, name, port, rest))

    def _service(self, namespace: str, name: str) -> _Service | None:
        return None if self._services is None else self._services.store.get(namespace, name)

    def _answering(self, service: _Service, pod: str = "") -> Handler:
        async def answer(call: Call) -> Reply:
            chosen = [each for each in self._running.values() if _chooses(service, each)]
            chosen = [each for each in chosen if not pod or each.pod.name == pod]
            if not chosen:
                raise NoReply(f"{call.shown}: connection refused")
            first = min(chosen, key=lambda each: each.pod.name)
            return await first.program.answer(_translated(call, service.spec))

        return answer


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _at(call: Call, name: str, port: str, url: str) -> Call:
    """The call as the host of that name hears it."""
    headers = tuple(pair for pair in call.headers if pair[0].lower() != "host")
    host = f"{name}:{port}" if port else name
    return msgspec.structs.replace(call, url=url, headers=(*headers, ("Host", host)))


def _translated(call: Call, spec: _Spec) -> Call:
    """With the port of the pod in the place of that of the Service."""
    host = next(iter(call.header("Host")), "")
    parts = urlsplit(f"//{host}")
    called = parts.port or _HTTP
    target = spec.target(called)
    return call if target == called else _at(call, parts.hostname or "", str(target), call.url)


def _chooses(service: _Service, running: _Running) -> bool:
    spec, pod = service.spec, running.pod
    return (
        service.metadata.namespace == pod.namespace
        and bool(spec.selector)
        and spec.selector.items() <= pod.labels.items()
        and (running.ready or spec.publish_not_ready_addresses)
    )
