"""Rules for volumes that outlive pods, and for the classes they are made by."""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.quantities import quantity
from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules.claims import VOLUME_MODES, access_modes
from kubesim.rules.scheduling import node_selector
from kubesim.rules.volumes import host_path, needs, nfs
from kubesim.schema.values import IMMUTABLE, chosen, each, fixed, no_steps_back, qualified, subdomain
from kubesim.store.versions import Tree

_RECLAIM = ("Delete", "Recycle", "Retain")
_SOURCES = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)
_SEVERAL = "may not specify more than 1 volume type"
_BINDING = ("Immediate", "WaitForFirstConsumer")


def volume(tree: Tree) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    modes = spec.get("accessModes") or []
    if not modes:
        yield required("spec.accessModes")
    yield from access_modes(modes, "spec.accessModes")
    capacity = spec.get("capacity") or {}
    if not capacity:
        yield required("spec.capacity")
    if list(capacity) != ["storage"]:
        yield unsupported("spec.capacity", spec.get("capacity"), ("storage",))
    for name, value in sorted(capacity.items()):
        if quantity(value) <= 0:
            yield wrong(f"spec.capacity[{name}]", value, "must be greater than zero")
    yield from chosen(spec.get("persistentVolumeReclaimPolicy") or None, _RECLAIM, "spec.persistentVolumeReclaimPolicy")
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if affinity.get("required") is None:
            yield required("spec.nodeAffinity.required", "must specify required node constraints")
        else:
            yield from node_selector(affinity["required"], "spec.nodeAffinity.required")
    yield from _source(spec)
    if spec.get("storageClassName"):
        yield from each(subdomain, spec["storageClassName"], "spec.storageClassName")
    yield from chosen(spec.get("volumeMode"), VOLUME_MODES, "spec.volumeMode")


def _source(spec: Tree) -> Iterator[Cause]:
    kinds = [key for key in _SOURCES if spec.get(key) is not None]
    if not kinds:
        yield required("spec", "must specify a volume type")
        return
    first, *others = kinds
    source, at = spec[first], f"spec.{first}"
    match first:
        case "hostPath":
            yield from host_path(source, at)
            recycled = spec.get("persistentVolumeReclaimPolicy") == "Recycle"
            if recycled and not (source.get("path") or "x").strip("/"):
                yield not_allowed(
                    "spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'"
                )
        case "nfs":
            yield from nfs(source, at)
        case "csi":
            yield from needs("driver", "volumeHandle")(source, at)
        case "local":
            if not source.get("path"):
                yield required(f"{at}.path")
            else:
                yield from no_steps_back(source["path"], f"{at}.path")
            if spec.get("nodeAffinity") is None:
                yield required("spec.nodeAffinity", "Local volume requires node affinity")
    for key in others:
        yield not_allowed(f"spec.{key}", _SEVERAL)


def changed_volume(old: Tree, new: Tree) -> Iterator[Cause]:
    yield from volume(new)  # once more, as the server does
    before, after = ({key: tree["spec"].get(key) for key in _SOURCES} for tree in (old, new))
    if before != after:
        text = "spec.persistentvolumesource is immutable after creation"
        yield not_allowed("spec.persistentvolumesource", text)
    if old["spec"].get("volumeMode") != new["spec"].get("volumeMode"):
        yield wrong("volumeMode", new["spec"].get("volumeMode"), IMMUTABLE)
    if old["spec"].get("nodeAffinity") is not None and old["spec"]["nodeAffinity"] != new["spec"].get("nodeAffinity"):
        yield wrong("nodeAffinity", new["spec"].get("nodeAffinity"), IMMUTABLE)


def storage_class(tree: Tree) -> Iterator[Cause]:
    provisioner = tree.get("provisioner") or ""
    if not provisioner:
        yield required("provisioner")
    else:
        yield from (wrong("provisioner", provisioner.lower(), text) for text in qualified(provisioner.lower()))
    yield from chosen(tree.get("reclaimPolicy"), ("Delete", "Retain"), "reclaimPolicy")
    yield from chosen(tree.get("volumeBindingMode"), _BINDING, "volumeBindingMode")


def changed_class(old: Tree, new: Tree) -> Iterator[Cause]:
    for cause in fixed(old, new, ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"), ""):
        yield Cause(cause.reason, cause.message, cause.field.removeprefix("."))
