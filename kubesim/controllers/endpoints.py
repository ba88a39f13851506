"""The Endpoints controller: says in the Endpoints of each Service with a selector where its pods are reached."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from kubeloop.objects.meta import Meta
from kubesim.api.verbs import Verbs
from kubesim.controllers.base import ACCOUNTS, Api
from kubesim.controllers.endpoint_controller import EndpointController
from kubesim.controllers.endpoint_plan import (
    CHANGED_AT,
    HEADLESS,
    Target,
    labels_of,
    numbers_of,
    place_among,
    shown,
    target_of,
)
from kubesim.controllers.pod_control import is_of_ending_namespace
from kubesim.controllers.selected_pods import Chosen, Key, Pod, Service
from kubesim.errors import StatusError
from kubesim.kinds.registry import ENDPOINTS
from kubesim.store.versions import Tree

MOST_ADDRESSES = 1000
MANAGED_BY = "endpoints.kubernetes.io/managed-by"
MANAGER = "endpoint-controller"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"


class Address(Struct, frozen=True, rename="camel", omit_defaults=True):
    ip: str
    hostname: str = ""
    node_name: str | None = None
    target_ref: Target | None = None

    @property
    def order(self) -> tuple[str, str]:
        return self.ip, self.target_ref.uid if self.target_ref is not None else ""


class Port(Struct, frozen=True, rename="camel", omit_defaults=True):
    port: int
    name: str = ""
    protocol: str | None = None
    app_protocol: str | None = None


class Subset(Struct, frozen=True, rename="camel", omit_defaults=True):
    addresses: tuple[Address, ...] = ()
    not_ready_addresses: tuple[Address, ...] = ()
    ports: tuple[Port, ...] = ()


class EndpointsMeta(Meta, frozen=True, rename="camel"):
    annotations: dict[str, str] = {}


class Endpoints(Struct, frozen=True):
    metadata: EndpointsMeta
    subsets: tuple[Subset, ...] | None = None


class EndpointsController(EndpointController[Endpoints, "Place"]):
    """One controller of them."""

    first_retry = 0.005

    def __init__(self, verbs: Verbs, chosen: Chosen) -> None:
        api = Api(verbs, f"{ACCOUNTS}{MANAGER}")
        super().__init__(api, MANAGER, chosen, api.view(ENDPOINTS, Endpoints), place_of)

    def _begin(self) -> None:
        for each in self._view.objects.items():
            self._queue.add((each.metadata.namespace, each.metadata.name), initial=True)

    def _changed(self, old: Endpoints | None, new: Endpoints | None) -> None:
        if new is None and old is not None:
            self._queue.add((old.metadata.namespace, old.metadata.name))

    async def _bring_up_to_date(self, service: Service, pods: list[Pod], since: str) -> None:
        packed = subsets_of(service, self._remembered.of(service, pods))
        current = self._view.objects.get(*service.key)
        if current is None or not _is_right(current, service, packed):
            await self._write(service, current, packed, since)

    async def _remove(self, key: Key) -> None:
        try:
            await self._api.delete(ENDPOINTS, *key)
        except StatusError as error:
            if error.code != 404:
                raise

    async def _write(self, service: Service, current: Endpoints | None, packed: Sequence[Subset], since: str) -> None:
        key = service.key
        fewer = truncated(packed)
        annotations = {} if current is None else dict(current.metadata.annotations)
        for name, value in ((CHANGED_AT, since), (OVER_CAPACITY, "" if fewer == packed else "truncated")):
            annotations.pop(name, None)
            annotations |= {name: value} if value else {}
        metadata: Tree = {"name": key[1], "namespace": key[0], "labels": _labels(service), "annotations": annotations}
        content = {"subsets": to_builtins(fewer)}
        try:
            if current is None:
                written = await self._api.create(ENDPOINTS, key[0], {"metadata": metadata} | content)
            else:
                tree = self._api.read(ENDPOINTS, *key)
                tree["metadata"] |= metadata | {"resourceVersion": current.metadata.resource_version}
                written = await self._api.replace(ENDPOINTS, tree | content)
        except StatusError as error:
            if is_of_ending_namespace(error):
                return
            place = "/".join(key)
            if current is None:
                reason, text = "FailedToCreateEndpoint", f"Failed to create endpoint for service {place}: {error}"
            else:
                reason, text = "FailedToUpdateEndpoint", f"Failed to update endpoint {place}: {error}"
            about = Meta(key[1], "", "", key[0]) if current is None else current.metadata
            self._events.tell(ENDPOINTS, about, reason, text, warning=True)
            raise
        self._written.written(key, self._view, written)


Place = tuple[Address | None, tuple[Port | None, ...]]
"""Where a pod is reached; without an address it is not."""


def subsets_of(service: Service, places: Iterable[tuple[Pod, Place]]) -> list[Subset]:
    """Addresses by the ports they share, packed and sorted as the real controller does."""
    by_port: dict[Port | None, dict[Address, bool]] = {}
    tolerant = service.spec.publish_not_ready_addresses
    for pod, (address, ports) in places:
        if address is None or not pod.has_address or (pod.is_terminating and not tolerant):
            continue
        ready = tolerant or pod.is_ready
        for port in ports:
            by_port.setdefault(port, {})[address] = ready
    shared: dict[tuple[tuple[Address, bool], ...], list[Port]] = {}
    for port, addresses in by_port.items():
        found = shared.setdefault(tuple(addresses.items()), [])
        found += [port] if port is not None else []
    return [_subset(addresses, ports) for addresses, ports in sorted(shared.items(), key=lambda pair: _places(pair[1]))]


def place_of(service: Service, pod: Pod) -> Place:
    """The pod's address of the Service's first family, and its ports.

    A headless Service without ports has one that is None.
    """
    ip = next(iter(pod.addresses((*service.spec.ip_families, "IPv4")[0])), "")
    if not ip:
        return None, ()
    address = Address(ip, pod.hostname_in(service), pod.spec.node_name, target_of(pod))
    if not service.spec.ports:
        return address, (None,) if service.spec.cluster_ip == "None" else ()
    found = numbers_of(service, pod)
    return address, tuple(Port(number, port.name, port.protocol, port.app_protocol) for port, number in found)


def _subset(addresses: Sequence[tuple[Address, bool]], ports: list[Port]) -> Subset:
    ready = sorted((address for address, is_ready in addresses if is_ready), key=lambda each: each.order)
    others = sorted((address for address, is_ready in addresses if not is_ready), key=lambda each: each.order)
    return Subset(tuple(ready), tuple(others), tuple(sorted(ports, key=_place)))


def _places(ports: list[Port]) -> list[int]:
    return sorted(map(_place, ports))


@lru_cache(maxsize=4096)
def _place(port: Port) -> int:
    return place_among(
        f"(v1.EndpointPort){{Name:(string){port.name} Port:(int32){port.port} "
        f"Protocol:(v1.Protocol){port.protocol} AppProtocol:(*string){shown(port.app_protocol)}}}"
    )


def truncated(subsets: Sequence[Subset]) -> Sequence[Subset]:
    """No more addresses than one object may have, taken from all subsets in proportion; ready ones stay first.

    With 900 ready and 300 others, 100 of the others stay.
    """
    ready = sum(len(each.addresses) for each in subsets)
    others = sum(len(each.not_ready_addresses) for each in subsets)
    if ready + others <= MOST_ADDRESSES:
        return subsets
    room, total = (MOST_ADDRESSES, ready) if ready > MOST_ADDRESSES else (MOST_ADDRESSES - ready, others)
    left, result = room, []
    for each in subsets:
        part = each.addresses if ready > MOST_ADDRESSES else each.not_ready_addresses
        part = part[: min(math.ceil(len(part) / total * room), left)]
        left -= len(part)
        if ready > MOST_ADDRESSES:
            result.append(replace(each, addresses=part, not_ready_addresses=()))
        else:
            result.append(replace(each, not_ready_addresses=part))
    return result


def _labels(service: Service) -> dict[str, str]:
    return labels_of(service, (HEADLESS,), {MANAGED_BY: MANAGER})


def _is_right(current: Endpoints, service: Service, packed: Sequence[Subset]) -> bool:
    """Whether nothing need be written; whether the Service is headless does not count."""
    labels = dict(current.metadata.labels)
    labels.pop(HEADLESS, None)
    wanted = _labels(service)
    wanted.pop(HEADLESS, None)
    # Truncated ones are written over and over, and each time it comes to nothing.
    fits = truncated(packed) == packed and OVER_CAPACITY not in current.metadata.annotations
    return fits and labels == wanted and (current.subsets or ()) == tuple(packed)
