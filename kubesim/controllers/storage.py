"""Claims and volumes as their controllers see them, and which volume a claim gets."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from msgspec import Struct

from kubeloop.objects.meta import LabelSelector, Meta
from kubeloop.quantities import quantity

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
CLASS = "volume.beta.kubernetes.io/storage-class"
"""The field of the same meaning came later, and the annotation still goes first."""
CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"


class StoredMeta(Meta, frozen=True, rename="camel"):
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


class Resources(Struct, frozen=True):
    requests: dict[str, str | int] = {}


class ClaimSpec(Struct, frozen=True, rename="camel"):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: Resources = Resources()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"


class Phase(Struct, frozen=True):
    phase: str = ""


class Claim(Struct, frozen=True):
    metadata: StoredMeta
    spec: ClaimSpec = ClaimSpec()
    status: Phase = Phase()

    @property
    def class_name(self) -> str:
        return self.metadata.annotations.get(CLASS) or self.spec.storage_class_name or ""

    @property
    def size(self) -> Decimal:
        return quantity(self.spec.resources.requests.get("storage", 0))


class ClaimRef(Struct, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class HostPath(Struct, frozen=True, gc=False):
    path: str = ""


class VolumeSpec(Struct, frozen=True, rename="camel"):
    capacity: dict[str, str | int] = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ClaimRef | None = None
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    persistent_volume_reclaim_policy: str = "Retain"
    host_path: HostPath | None = None


class Volume(Struct, frozen=True):
    metadata: StoredMeta
    spec: VolumeSpec = VolumeSpec()
    status: Phase = Phase()

    @property
    def class_name(self) -> str:
        return self.metadata.annotations.get(CLASS) or self.spec.storage_class_name

    @property
    def size(self) -> Decimal:
        return quantity(self.spec.capacity.get("storage", 0))

    def is_for(self, claim: Claim) -> bool:
        """Whether the volume names this claim; a volume that somebody has set aside need not know its UID."""
        ref, meta = self.spec.claim_ref, claim.metadata
        return (
            ref is not None and (ref.namespace, ref.name) == (meta.namespace, meta.name) and ref.uid in ("", meta.uid)
        )


class StorageClass(Struct, frozen=True, rename="camel"):
    metadata: StoredMeta
    provisioner: str = ""
    reclaim_policy: str = "Delete"
    volume_binding_mode: str = "Immediate"

    @property
    def waits(self) -> bool:
        """Whether claims are bound only when a pod needs them."""
        return self.volume_binding_mode == "WaitForFirstConsumer"


def mismatch(volume: Volume, claim: Claim) -> str:
    """Why the claim cannot have the volume that it asks for by name; empty when it can."""
    if volume.metadata.deletion_timestamp is not None:
        return f'the volume is marked for deletion "{volume.metadata.name}"'
    if volume.size < claim.size:
        return "requested PV is too small"
    if volume.class_name != claim.class_name:
        return "storageClassName does not match"
    if volume.spec.volume_mode != claim.spec.volume_mode:
        return "incompatible volumeMode"
    return "" if set(claim.spec.access_modes) <= set(volume.spec.access_modes) else "incompatible accessMode"


def best_match(volumes: Iterable[Volume], claim: Claim, *, waits: bool) -> Volume | None:
    """The volume that was set aside for the claim, else the smallest of the free ones; None when there is none.

    One that can be mounted in fewer ways goes before one that can in more. A claim that waits for a pod takes only
    what was set aside for it.
    """
    fitting = []
    for volume in volumes:
        if volume.metadata.deletion_timestamp is not None or volume.spec.volume_mode != claim.spec.volume_mode:
            continue
        if volume.size < claim.size or not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
            continue
        if volume.is_for(claim):
            return volume
        if not waits and volume.spec.claim_ref is None and _is_free(volume, claim):
            fitting.append(volume)
    return min(fitting, key=lambda each: (len(each.spec.access_modes), each.size, each.metadata.name), default=None)


def _is_free(volume: Volume, claim: Claim) -> bool:
    selector = claim.spec.selector
    return (
        volume.status.phase == "Available"
        and volume.class_name == claim.class_name
        and (selector is None or selector.matches(volume.metadata.labels))
    )
