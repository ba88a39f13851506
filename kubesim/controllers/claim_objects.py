"""What the binder of claims reads of pods, and the objects that it writes."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from kubeloop.objects.meta import Meta
from kubesim.controllers.storage import PROVISIONED_BY, Claim, StorageClass, Volume
from kubesim.kinds.registry import CLAIMS
from kubesim.store.versions import Tree

OURS = "fairlead.dev/sim"
"""The provisioner."""


class ClaimSource(Struct, frozen=True, rename="camel", gc=False):
    claim_name: str = ""


class PodVolume(Struct, frozen=True, rename="camel"):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, object] | None = None


class PodSpec(Struct, frozen=True, rename="camel"):
    node_name: str = ""
    volumes: tuple[PodVolume, ...] = ()


class Pod(Struct, frozen=True):
    metadata: Meta
    spec: PodSpec = PodSpec()

    @property
    def claims(self) -> list[str]:
        """Names of the claims that it uses."""
        named = [each.persistent_volume_claim.claim_name for each in self.spec.volumes if each.persistent_volume_claim]
        return named + [f"{self.metadata.name}-{each.name}" for each in self.spec.volumes if each.ephemeral is not None]


def claims_of(pod: Pod) -> Iterable[str]:
    return [f"{pod.metadata.namespace}/{name}" for name in pod.claims]


def undeletable(volume: Volume) -> str:
    """Why nobody can delete what is behind a volume that was made by hand; empty when somebody can."""
    source = volume.spec.host_path
    if source is None:
        which = f'"{volume.metadata.name}": no deletable volume plugin matched'
        return f"error getting deleter volume plugin for volume {which}"
    if source.path.startswith("/tmp/") and len(source.path) > len("/tmp/"):  # noqa: S108  nothing is written there
        return ""
    return f"host_path deleter only supports /tmp/.+ but received provided {source.path}"


def annotate(tree: Tree, notes: dict[str, str]) -> None:
    tree["metadata"]["annotations"] = (tree["metadata"].get("annotations") or {}) | notes


def reference(claim: Claim) -> Tree:
    meta = claim.metadata
    return {
        "kind": CLAIMS.kind,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "apiVersion": "v1",
        "resourceVersion": meta.resource_version,
    }


def volume_for(claim: Claim, class_: StorageClass) -> Tree:
    """As large as the claim asks for; its name is made of the claim's UID, so that it is made once."""
    name = f"pvc-{claim.metadata.uid}"
    return {
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: OURS}},
        "spec": {
            "capacity": dict(claim.spec.resources.requests),
            "accessModes": list(claim.spec.access_modes),
            "claimRef": reference(claim),
            "persistentVolumeReclaimPolicy": class_.reclaim_policy,
            "storageClassName": class_.metadata.name,
            "volumeMode": claim.spec.volume_mode,
            "csi": {"driver": OURS, "volumeHandle": name},
        },
    }
