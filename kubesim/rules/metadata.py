"""Rules for names, labels, annotations, owners and finalizers, of new objects and of changed ones.

What is stored has been checked, so a change is looked at only where it changes something.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.errors import Cause, not_allowed, required, wrong
from kubesim.rules import roles
from kubesim.rules.labels import annotated, labels
from kubesim.schema.values import IMMUTABLE, Check, label, qualified, subdomain
from kubesim.store.versions import Tree

LOOSE = ("Event", "PodDisruptionBudget")
"""Kinds whose names are checked no further than that they fit into a path, and that after everything else."""
_SHORT = ("StatefulSet", "Namespace", "Service")
_FREE_FINALIZERS = (
    *LOOSE,
    "Lease",
    "CustomResourceDefinition",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
"""Kinds that do not mind finalizers without a domain."""
STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_CHECKED_AGAIN = (
    "ConfigMap",
    "Endpoints",
    "EndpointSlice",
    "Ingress",
    "IngressClass",
    "Job",
    "LimitRange",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "Secret",
    "ServiceAccount",
    "StorageClass",
    *roles.KINDS,
)
"""Kinds whose changed objects are checked as new ones are, too."""


_COMPARED_ONCE = (*LOOSE, "EndpointSlice", "LimitRange", "PersistentVolume")
"""Kinds that do not look themselves at what must not change."""


def _check_of(kind: str) -> Check:
    if kind in LOOSE or kind in roles.KINDS:
        return roles.segment_troubles
    return label if kind in _SHORT else subdomain


def of_new(tree: Tree, *, built_in: bool = True) -> Iterator[Cause]:
    """Broken rules of the metadata of a new object."""
    metadata, kind = tree["metadata"], tree["kind"]
    check = _check_of(kind) if built_in else subdomain
    yield from _name(metadata, check)
    if metadata.get("generation", 0) < 0:
        yield wrong("metadata.generation", metadata["generation"], "must be greater than or equal to 0")
    yield from _content(metadata)
    if metadata.get("finalizers") and built_in and kind not in _FREE_FINALIZERS:
        yield from _finalizers(metadata["finalizers"])


def _name(metadata: Tree, check: Check) -> Iterator[Cause]:
    beginning, name = metadata.get("generateName"), metadata.get("name") or ""
    if beginning:
        # What is generated comes after the dash.
        masked = f"{beginning[:-1]}a" if len(beginning) > 1 and beginning.endswith("-") else beginning
        yield from (wrong("metadata.generateName", beginning, text) for text in check(masked))
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from (wrong("metadata.name", name, text) for text in check(name))


def _content(metadata: Tree) -> Iterator[Cause]:
    yield from _marks(metadata)
    if found := metadata.get("finalizers"):
        for name in found:
            yield from (wrong("metadata.finalizers", name, text) for text in qualified(name))
        if "orphan" in found and "foregroundDeletion" in found:
            text = "finalizer orphan and foregroundDeletion cannot be both set"
            yield wrong("metadata.finalizers", found, text)


def _marks(metadata: Tree) -> Iterator[Cause]:
    if metadata.get("labels"):
        yield from labels(metadata["labels"], "metadata.labels")
    if metadata.get("annotations"):
        yield from annotated(metadata["annotations"], "metadata.annotations")
    if metadata.get("ownerReferences"):
        yield from _owners(metadata["ownerReferences"])


def _owners(owners: list[Tree]) -> Iterator[Cause]:
    controller = ""
    for owner in owners:
        yield from _owner(owner)
        if not owner.get("controller"):
            continue
        name = f"{owner.get('kind')}/{owner.get('name')}"
        if controller:
            text = 'Only one reference can have Controller set to true. Found "true" in references for'
            yield wrong("metadata.ownerReferences", owners, f"{text} {controller} and {name}")
        else:
            controller = name


def _owner(owner: Tree) -> Iterator[Cause]:
    version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
    if not version.rpartition("/")[2]:
        yield wrong("metadata.ownerReferences.apiVersion", version, "version must not be empty")
    for key in ("kind", "name", "uid"):
        if not owner.get(key):
            yield wrong(f"metadata.ownerReferences.{key}", "", "must not be empty")
    if (version, kind) == ("v1", "Event"):
        text = "/v1, Kind=Event is disallowed from being an owner"
        yield wrong("metadata.ownerReferences", owner, text)


def _finalizers(found: list[str]) -> Iterator[Cause]:
    for index, name in enumerate(found):
        if "/" not in name and name not in STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield wrong(f"metadata.finalizers[{index}]", name, text)


def of_changed(old: Tree, new: Tree, *, built_in: bool = True, whole: bool = True) -> list[Cause]:
    """Broken rules of metadata that changed, as often as the server tells them.

    It checks as for a new object, then what must not change, and then again what the kind checks. Where not the whole
    object is written, the kind checks less.
    """
    before, after = old["metadata"], new["metadata"]
    if all(before.get(key) == after.get(key) for key in _LOOKED_AT):
        return []
    changed = [*_fixed(before, after), *_marks(after)]
    causes = [*_content(after), *changed]
    finalizers: list[Cause] = []
    if built_in and new["kind"] not in _FREE_FINALIZERS:
        finalizers = list(_finalizers(after.get("finalizers") or []))
    if new["kind"] not in _COMPARED_ONCE or not built_in:
        causes += changed + finalizers
    if built_in and whole and new["kind"] in _CHECKED_AGAIN:
        causes += [*_content(after), *finalizers]
    return causes


_FIXED = ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_LOOKED_AT = ("labels", "annotations", "ownerReferences", "finalizers", *_FIXED)


def _fixed(old: Tree, new: Tree) -> Iterator[Cause]:
    if old.get("deletionTimestamp"):
        added = [name for name in new.get("finalizers") or [] if name not in (old.get("finalizers") or [])]
        if added:
            names = ", ".join(f'"{name}"' for name in sorted(added))
            text = "no new finalizers can be added if the object is being deleted, found new finalizers"
            yield not_allowed("metadata.finalizers", f"{text} []string{{{names}}}")
    for key in _FIXED:
        if new.get(key) != old.get(key):
            yield wrong(f"metadata.{key}", new.get(key) or "", IMMUTABLE)
