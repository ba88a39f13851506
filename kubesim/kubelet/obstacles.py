"""What keeps a pod from a node, or its containers from starting: claims, references, room.

Claims must be bound, Secrets and ConfigMaps that are not optional must be there with the keys that are named, and a
node must have room for what the pod requests alone; what the others on a node use is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.core import CONFIGMAPS, SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.quantities import quantity
from kubeloop.request import get
from kubesim.pods.scheduling import UNSCHEDULABLE, Node, Taint, Wishes

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
UNPLACED = "FailedScheduling"
UNATTRACTIVE = "node(s) didn't match Pod's node affinity/selector"
NO_PROVISIONER = (
    "no volume is made for this claim, and pods that use it wait: give it a StorageClass whose provisioner is "
    "fairlead.dev/sim, or make a PersistentVolume for it"
)


class Obstacle(Struct, frozen=True):
    """An Event about it."""

    about: Ref | None
    """None: the pod itself."""
    reason: str
    text: str


class _Source(Struct, frozen=True, rename="camel"):
    """A reference to a Secret or a ConfigMap, in any of its spellings."""

    name: str = ""
    secret_name: str = ""
    key: str = ""
    optional: bool = False

    @property
    def target(self) -> str:
        return self.name or self.secret_name


class _Claim(Struct, frozen=True, rename="camel"):
    claim_name: str


class _Projection(Struct, frozen=True, rename="camel"):
    secret: _Source | None = None
    config_map: _Source | None = None


class _Projected(Struct, frozen=True):
    sources: tuple[_Projection, ...] = ()


class _Volume(Struct, frozen=True, rename="camel"):
    name: str
    secret: _Source | None = None
    config_map: _Source | None = None
    projected: _Projected = _Projected()
    persistent_volume_claim: _Claim | None = None

    @property
    def sources(self) -> Iterable[_Projection]:
        return (_Projection(self.secret, self.config_map), *self.projected.sources)


class _ValueFrom(Struct, frozen=True, rename="camel"):
    secret_key_ref: _Source | None = None
    config_map_key_ref: _Source | None = None


class _Variable(Struct, frozen=True, rename="camel"):
    value_from: _ValueFrom = _ValueFrom()


class _Variables(Struct, frozen=True, rename="camel"):
    secret_ref: _Source | None = None
    config_map_ref: _Source | None = None


class _Resources(Struct, frozen=True):
    requests: dict[str, str] = {}


class _Container(Struct, frozen=True, rename="camel"):
    env: tuple[_Variable, ...] = ()
    env_from: tuple[_Variables, ...] = ()
    resources: _Resources = _Resources()

    @property
    def sources(self) -> Iterable[_Projection]:
        yield from (_Projection(each.secret_ref, each.config_map_ref) for each in self.env_from)
        for each in self.env:
            yield _Projection(each.value_from.secret_key_ref, each.value_from.config_map_key_ref)


class _Spec(Struct, frozen=True, rename="camel"):
    volumes: tuple[_Volume, ...] = ()
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()


class _Pod(Struct, frozen=True):
    spec: _Spec = _Spec()


class _Status(Struct, frozen=True):
    phase: str = ""


class _Bindable(Struct, frozen=True):
    status: _Status = _Status()


class _Holder(Struct, frozen=True, rename="camel"):
    """Of a Secret or a ConfigMap, what it holds."""

    data: dict[str, Any] | None = None
    binary_data: dict[str, Any] | None = None

    def holds(self, key: str) -> bool:
        return not key or key in (self.data or {}) or key in (self.binary_data or {})


class Obstacles:
    """Looks into the cluster for what pods need."""

    def __init__(self, client: Client, room: Mapping[str, str]) -> None:
        self._client = client
        self._room = {name: quantity(amount) for name, amount in room.items()}

    async def to_binding(self, pod: Ref, nodes: int) -> tuple[Obstacle, ...]:
        """Why no node is good enough, whichever it is."""
        spec = await self._spec(pod)
        for volume in spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            claim = Ref(CLAIMS, pod.namespace, volume.persistent_volume_claim.claim_name)
            try:
                bound = (await self._client.read(claim, _Bindable)).status.phase == "Bound"
            except NotFound:
                return (_unscheduled(nodes, f'persistentvolumeclaim "{claim.name}" not found'),)
            if not bound:
                text = "pod has unbound immediate PersistentVolumeClaims"
                return _unscheduled(nodes, text), Obstacle(claim, "NoProvisioner", NO_PROVISIONER)
        short = [name for name, wanted in _requests(spec).items() if wanted > self._room.get(name, 0)]
        if short:
            return (_unscheduled(nodes, ", ".join(f"{nodes} Insufficient {name}" for name in sorted(short))),)
        return ()

    async def to_starting(self, pod: Ref) -> tuple[Obstacle, ...]:
        """Why a container cannot be started on its node."""
        spec = await self._spec(pod)
        for volume in spec.volumes:
            if missing := await self._missing(pod.namespace, volume.sources):
                text = f'MountVolume.SetUp failed for volume "{volume.name}" : {missing}'
                return (Obstacle(None, "FailedMount", text),)
        for container in (*spec.init_containers, *spec.containers):
            if missing := await self._missing(pod.namespace, container.sources):
                return (Obstacle(None, "Failed", f"Error: {missing}"),)
        return ()

    async def _spec(self, pod: Ref) -> _Spec:
        return msgspec.json.decode((await self._client.call(get(pod))).body, type=_Pod).spec

    async def _missing(self, namespace: str, sources: Iterable[_Projection]) -> str:
        for source in sources:
            for resource, wanted in ((SECRETS, source.secret), (CONFIGMAPS, source.config_map)):
                if wanted is None or wanted.optional:
                    continue
                try:
                    found = await self._client.read(Ref(resource, namespace, wanted.target), _Holder)
                except NotFound:
                    return f'{resource.kind.lower()} "{wanted.target}" not found'
                if not found.holds(wanted.key):
                    return f"couldn't find key {wanted.key} in {resource.kind} {namespace}/{wanted.target}"
        return ""


def _requests(spec: _Spec) -> dict[str, Decimal]:
    """What its containers request together."""
    total: dict[str, Decimal] = {}
    for container in spec.containers:
        for name, amount in container.resources.requests.items():
            total[name] = total.get(name, Decimal()) + quantity(amount)
    return total


def no_place(reasons: Sequence[str]) -> Obstacle:
    """Why the pod may be on none of the nodes, given what is against each."""
    if not reasons:
        return Obstacle(None, UNPLACED, "no nodes available to schedule pods")
    counted = sorted(f"{reasons.count(reason)} {reason}" for reason in set(reasons))
    return _unscheduled(len(reasons), ", ".join(counted))


def why_not_on(wishes: Wishes, node: Node) -> str:
    """What the node itself has against the pod, or the pod against it; empty where it may be there.

    A cordon counts before its taint has been written.
    """
    if node.spec.unschedulable and not wishes.bears((Taint(UNSCHEDULABLE, "NoSchedule"),), "NoSchedule"):
        return "node(s) were unschedulable"
    if not wishes.bears(node.spec.taints, "NoSchedule", "NoExecute"):
        return "node(s) had untolerated taint(s)"
    return "" if wishes.attracted_by(node) else UNATTRACTIVE


def _unscheduled(nodes: int, why: str) -> Obstacle:
    return Obstacle(None, UNPLACED, f"0/{nodes} nodes are available: {why}.")
