"""Which endpoints a Service has, and how they are spread over EndpointSlices with as few changes as possible.

As in kube-controller-manager: a slice keeps the endpoints that it has, slices that change anyway are filled up first,
then one that has room for the rest, and only then new ones are made. Pods with different numbers behind the names of a
Service's ports are in different slices. A Service without endpoints has one empty slice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from kubeloop.objects.meta import Meta
from kubesim.controllers.endpoint_plan import (
    HEADLESS,
    Target,
    labels_of,
    numbers_of,
    place_among,
    shown,
    target_of,
)
from kubesim.controllers.selected_pods import Node, Pod, Service

LARGEST = 100
"""Endpoints of one slice."""
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
SERVICE_NAME = "kubernetes.io/service-name"
_ZONE = "topology.kubernetes.io/zone"
_RESERVED = (SERVICE_NAME, MANAGED_BY, HEADLESS)


class Conditions(Struct, frozen=True, gc=False):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class Endpoint(Struct, frozen=True, rename="camel", omit_defaults=True):
    addresses: tuple[str, ...]
    conditions: Conditions
    hostname: str | None = None
    target_ref: Target | None = None
    node_name: str | None = None
    zone: str | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """By which an endpoint is found again when something else about it has changed."""
        target = self.target_ref or Target()
        return self.addresses, self.hostname, target.namespace, target.name


class Port(Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str | None = None
    protocol: str | None = None
    port: int | None = None
    app_protocol: str | None = None


Ports = tuple[Port, ...]


class SliceMeta(Meta, frozen=True, rename="camel"):
    annotations: dict[str, str] = {}


class Slice(Struct, frozen=True, rename="camel"):
    metadata: SliceMeta
    address_type: str = ""
    endpoints: tuple[Endpoint, ...] | None = None
    ports: Ports | None = None


class Draft(Struct):
    """A slice as it shall be; `old` is the one that it replaces."""

    labels: dict[str, str]
    ports: Ports
    endpoints: list[Endpoint]
    old: Slice | None = None


class Plan(Struct):
    """What is to be written, in this order."""

    create: list[Draft]
    update: list[Draft]
    delete: list[Slice]


def ports_of(service: Service, pod: Pod) -> Ports:
    """The ports of a Service as they are in one pod, in the order in which the real controller hashes them."""
    found = numbers_of(service, pod)
    ports = (Port(port.name, port.protocol, number, port.app_protocol) for port, number in found)
    return tuple(sorted(ports, key=_place))


@lru_cache(maxsize=4096)
def _place(port: Port) -> int:
    return place_among(
        f"(v1.EndpointPort){{Name:(*string){port.name} Protocol:(*v1.Protocol){port.protocol} "
        f"Port:(*int32){port.port} AppProtocol:(*string){shown(port.app_protocol)}}}"
    )


def endpoint_of(service: Service, pod: Pod, node: Node | None, family: str) -> Endpoint | None:
    """The pod as an endpoint; None when it has no address of this family."""
    addresses = tuple(sorted(pod.addresses(family)))
    if not addresses:
        return None
    serving, terminating = pod.is_ready, pod.is_terminating
    ready = service.spec.publish_not_ready_addresses or (serving and not terminating)
    return Endpoint(
        addresses,
        Conditions(ready, serving, terminating),
        pod.hostname_in(service) or None,
        target_of(pod),
        pod.spec.node_name or None,
        (node.metadata.labels.get(_ZONE) or None) if node is not None else None,
    )


def slice_labels(service: Service) -> dict[str, str]:
    """Those of the Service, and those by which a slice is known."""
    return labels_of(service, _RESERVED, {SERVICE_NAME: service.metadata.name, MANAGED_BY: MANAGER})


def plan(
    service: Service, family: str, wanted: Mapping[Ports, Mapping[object, Endpoint]], existing: Sequence[Slice]
) -> Plan:
    """`wanted` are endpoints by their identities, by their ports; `existing` the slices of one family."""
    labels = slice_labels(service)
    result = Plan([], [], [each for each in existing if not _is_owned(each, service)])
    by_ports: dict[Ports, list[Slice]] = {}
    for each in existing:
        if _is_owned(each, service):
            by_ports.setdefault(each.ports or (), []).append(each)
    for ports, endpoints in wanted.items():
        _spread(result, labels, ports, dict(endpoints), by_ports.pop(ports, []))
    result.delete += [each for slices in by_ports.values() for each in slices]
    if len(existing) == len(result.delete) and not result.create:
        if len(result.delete) == 1 and _is_placeholder(result.delete[0], labels):
            result.delete.clear()
        else:
            result.create.append(Draft(labels, (), []))
    _reuse(result, service)
    return result


def _is_owned(slice_: Slice, service: Service) -> bool:
    uid = service.metadata.uid
    return any((each.uid, each.kind) == (uid, "Service") for each in slice_.metadata.owner_references)


def _is_placeholder(slice_: Slice, labels: dict[str, str]) -> bool:
    return not slice_.endpoints and not slice_.ports and slice_.metadata.labels == labels


def _reuse(result: Plan, service: Service) -> None:
    """Has slices that would go take the content of slices that would be made."""
    kept = []
    for each in result.delete:
        if result.create and _is_owned(each, service):
            draft = result.create.pop()
            draft.old = each
            result.update.append(draft)
        else:
            kept.append(each)
    result.delete = kept


def _spread(
    result: Plan, labels: dict[str, str], ports: Ports, wanted: dict[object, Endpoint], existing: Iterable[Slice]
) -> None:
    """Adds to the plan what brings the wanted endpoints into slices; takes from `wanted` what has a place."""
    changed: list[Draft] = []
    same: list[Slice] = []
    for each in existing:
        before = each.endpoints or ()
        found = [wanted.pop(endpoint.identity, None) for endpoint in before]
        kept = [endpoint for endpoint in found if endpoint is not None]
        if tuple(kept) != before and not kept:
            result.delete.append(each)
        elif tuple(kept) != before or not _says_the_same(each.metadata.labels, labels):
            changed.append(Draft(labels, ports, kept, each))
        else:
            same.append(each)
    rest = list(wanted.values())
    for draft in sorted(changed, key=lambda each: -len(each.endpoints)):
        _fill(draft, rest)
    result.update += changed
    while rest:
        old = _roomy(same, len(rest)) if len(rest) < LARGEST else None
        if old is None:
            draft = Draft(labels, ports, [])
            result.create.append(draft)
        else:
            same.remove(old)
            draft = Draft(labels, ports, list(old.endpoints or ()), old)
            result.update.append(draft)
        _fill(draft, rest)


def _says_the_same(labels: dict[str, str], wanted: dict[str, str]) -> bool:
    """Whether the labels are those of the Service; reserved ones are not looked at."""
    known = {key: value for key, value in labels.items() if key not in _RESERVED}
    return known == {key: value for key, value in wanted.items() if key not in _RESERVED}


def _fill(draft: Draft, rest: list[Endpoint]) -> None:
    """Moves endpoints from the rest as long as there is room."""
    room = LARGEST - len(draft.endpoints)
    draft.endpoints += rest[:room]
    del rest[:room]


def _roomy(slices: Sequence[Slice], count: int) -> Slice | None:
    """The slice that is fullest after so many more; None when none has room for all."""
    fitting = [each for each in slices if len(each.endpoints or ()) + count <= LARGEST]
    return max(fitting, key=lambda each: len(each.endpoints or ()), default=None)
