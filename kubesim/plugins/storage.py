"""What new claims and volumes are given: protection while they are in use, and a claim the class of the cluster."""

from __future__ import annotations

from kubesim.kinds.registry import STORAGE_CLASSES
from kubesim.store.store import Store
from kubesim.store.versions import Tree, timestamp

_PROTECTION = {
    "PersistentVolumeClaim": "kubernetes.io/pvc-protection",
    "PersistentVolume": "kubernetes.io/pv-protection",
}
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_CLASS = "volume.beta.kubernetes.io/storage-class"


def protect(tree: Tree) -> None:
    """A claim or volume goes only when its finalizer is taken away; it is born pending."""
    finalizer = _PROTECTION[tree["kind"]]
    finalizers: list[str] = tree["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)
    tree["status"] = {"phase": "Pending"}
    if tree["kind"] == "PersistentVolume":
        tree["status"]["lastPhaseTransitionTime"] = timestamp()


def assign_class(claim: Tree, store: Store) -> None:
    """Gives the claim the newest of the classes that are marked as default, unless it says itself which it wants."""
    if "storageClassName" in claim["spec"] or _CLASS in (claim["metadata"].get("annotations") or {}):
        return
    classes = (version.tree()["metadata"] for version in store.table(STORAGE_CLASSES).live.values())
    marked = [each for each in classes if _is_default(each.get("annotations") or {})]
    if marked:
        newest = max(each["creationTimestamp"] for each in marked)
        named = (each["name"] for each in marked if each["creationTimestamp"] == newest)
        claim["spec"]["storageClassName"] = min(named)


def _is_default(annotations: dict[str, str]) -> bool:
    return any(annotations.get(key) == "true" for key in _DEFAULT)
