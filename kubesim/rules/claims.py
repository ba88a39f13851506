"""Rules for claims of storage, in objects of their own and in the templates of others."""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.quantities import quantity
from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules.labels import annotated, labels, selector
from kubesim.schema.values import IMMUTABLE, chosen, each, label, subdomain
from kubesim.store.versions import Tree

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_FIXED_TEXT = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def claim(tree: Tree) -> Iterator[Cause]:
    yield from claim_spec(tree.get("spec") or {}, "spec")


def claim_spec(spec: Tree, at: str) -> Iterator[Cause]:
    modes = spec.get("accessModes") or []
    if not modes:
        yield required(f"{at}.accessModes", "at least 1 access mode is required")
    yield from selector(spec.get("selector"), f"{at}.selector")
    for mode in modes:
        yield from chosen(mode, ACCESS_MODES, f"{at}.accessModes")
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        yield not_allowed(f"{at}.accessModes", "may not use ReadWriteOncePod with other access modes")
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        yield required(f"{at}.resources[storage]")
    elif quantity(size) <= 0:
        yield wrong(f"{at}.resources[storage]", size, "must be greater than zero")
    if spec.get("storageClassName"):
        yield from each(subdomain, spec["storageClassName"], f"{at}.storageClassName")
    yield from chosen(spec.get("volumeMode"), VOLUME_MODES, f"{at}.volumeMode")
    for key in ("dataSource", "dataSourceRef"):
        if spec.get(key) is not None:
            yield from _origin(spec[key], f"{at}.{key}")


def _origin(source: Tree, at: str) -> Iterator[Cause]:
    """What a volume is filled from."""
    for key in ("name", "kind"):
        if not source.get(key):
            yield required(f"{at}.{key}")
    if not source.get("apiGroup"):
        if source.get("kind") != "PersistentVolumeClaim":
            text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            yield wrong(at, source.get("kind") or "", text)
    else:
        yield from each(subdomain, source["apiGroup"], f"{at}.apiGroup")
    if source.get("namespace"):
        yield from each(label, source["namespace"], f"{at}.namespace")


def template_metadata(metadata: Tree, at: str) -> Iterator[Cause]:
    """A template of a claim carries labels and annotations, nothing else."""
    yield from annotated(metadata.get("annotations"), f"{at}.annotations")
    yield from labels(metadata.get("labels"), f"{at}.labels")
    for key in metadata:
        if key not in ("annotations", "labels"):
            yield not_allowed(f"{at}.{key}", "cannot be set")


def changed_claim(old: Tree, new: Tree) -> Iterator[Cause]:
    """A claim is not changed, except that it may grow when it is bound, get its volume and its class once."""
    before, after = dict(old["spec"]), dict(new["spec"])
    if not before.get("volumeName"):
        _same(after, before, "volumeName")
    if before.get("storageClassName") is None and after.get("storageClassName") is not None:
        del after["storageClassName"]
    sizes = [
        quantity(((spec.get("resources") or {}).get("requests") or {}).get("storage", 0)) for spec in (before, after)
    ]
    bound = (new.get("status") or {}).get("phase") == "Bound"
    if bound:
        _same(before, after, "volumeAttributesClassName")
        resources = after.get("resources") or {}
        if resources.get("requests"):
            kept = (before.get("resources") or {}).get("requests") or {}
            after["resources"] = resources | {"requests": resources["requests"] | {"storage": kept.get("storage")}}
    if before != after:
        yield not_allowed("spec", _FIXED_TEXT)
    capacity = quantity(((old.get("status") or {}).get("capacity") or {}).get("storage", 0))
    if sizes[1] < sizes[0] and sizes[1] <= capacity:
        yield not_allowed("spec.resources.requests.storage", "field can not be less than status.capacity")
    if old["spec"].get("volumeMode") != new["spec"].get("volumeMode"):
        yield wrong("volumeMode", new["spec"].get("volumeMode"), IMMUTABLE)


def _same(source: Tree, target: Tree, key: str) -> None:
    """Has a field say the same in both, or be in neither."""
    target.pop(key, None)
    if key in source:
        target[key] = source[key]


def access_modes(modes: list[str], at: str) -> Iterator[Cause]:
    """How a volume can be used, told at the field for each that is unknown."""
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield unsupported(at, mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield not_allowed(at, "may not use ReadWriteOncePod with other access modes")
