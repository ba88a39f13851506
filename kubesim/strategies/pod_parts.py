"""The parts of a pod that have paths of their own: its ephemeral containers, and what its containers may use."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from kubesim.errors import Cause, not_allowed, quoted, wrong
from kubesim.store.versions import Tree

EPHEMERAL = "ephemeralcontainers"
RESIZE = "resize"
PARTS = (EPHEMERAL, RESIZE)
_KEPT = ("labels", "annotations", "finalizers", "ownerReferences")
_RESIZED = ("resources", "resizePolicy")
_RESIZABLE = ("cpu", "memory")
_NOT_MUTABLE = "only cpu and memory resources are mutable"


def limited(before: Tree, new: Tree, subresource: str) -> Tree:
    """The pod with the part taken from `new`, everything else as it was."""
    metadata = {key: value for key, value in new["metadata"].items() if key not in _KEPT}
    metadata |= {key: before["metadata"][key] for key in _KEPT if key in before["metadata"]}
    after = before | {"metadata": metadata, "spec": copy.deepcopy(before["spec"])}
    spec, wanted = after["spec"], new.get("spec") or {}
    if subresource == EPHEMERAL:
        spec.pop("ephemeralContainers", None)
        if wanted.get("ephemeralContainers"):
            spec["ephemeralContainers"] = wanted["ephemeralContainers"]
        return after
    if any(len(spec.get(key) or ()) != len(wanted.get(key) or ()) for key in ("containers", "initContainers")):
        return after | {"spec": wanted}
    for key in ("containers", "initContainers"):
        for container, sized in zip(spec.get(key) or (), wanted.get(key) or (), strict=True):
            container["name"] = sized.get("name")
            for field in _RESIZED:
                container.pop(field, None)
                if field in sized:
                    container[field] = sized[field]
    return after


def causes(before: Tree, after: Tree, subresource: str) -> Iterator[Cause]:
    """Broken rules of a change to a part."""
    if subresource == EPHEMERAL:
        yield from _ephemeral(before["spec"], after["spec"])
    else:
        yield from _resized(before, after)


def _ephemeral(old: Tree, new: Tree) -> Iterator[Cause]:
    """They are added and never changed."""
    given = {each.get("name"): each for each in new.get("ephemeralContainers") or ()}
    for each in old.get("ephemeralContainers") or ():
        name = quoted(each["name"])
        if each["name"] not in given:
            yield not_allowed("spec.ephemeralContainers", f"existing ephemeral containers {name} may not be removed\n")
        elif given[each["name"]] != each:
            yield not_allowed("spec.ephemeralContainers", f"existing ephemeral containers {name} may not be changed\n")


def _resized(before: Tree, after: Tree) -> Iterator[Cause]:
    old, new = before["spec"], after["spec"]
    known = (before.get("status") or {}).get("qosClass")
    if known and known != quality(new):
        yield wrong("spec", known, "Pod QOS Class may not change as a result of resizing")
    if not _node_can(before):
        yield not_allowed("spec", "Pod running on node without support for resize")
    if moved := [cause for key in ("containers", "initContainers") for cause in _moved(old, new, key)]:
        yield from moved
        return
    for key in ("initContainers", "containers"):
        for index, pair in enumerate(zip(old.get(key) or (), new.get(key) or (), strict=True)):
            one, other = (each.get("resources") or {} for each in pair)
            yield from _removed(one, other, f"spec.{key}[{index}].resources")
    for one, other in zip(old.get("containers") or (), new.get("containers") or (), strict=True):
        if _fixed(one) != _fixed(other):
            yield not_allowed("spec", _NOT_MUTABLE)


def _moved(old: Tree, new: Tree, key: str) -> Iterator[Cause]:
    """Containers that are not where they were."""
    known, wanted = old.get(key) or [], new.get(key) or []
    if len(known) != len(wanted):
        yield not_allowed(f"spec.{key}", f"{key} may not be added or removed on resize")
        return
    for index, (one, other) in enumerate(zip(known, wanted, strict=True)):
        if one.get("name") != other.get("name"):
            yield not_allowed(f"spec.{key}[{index}].name", f"{key} may not be renamed or reordered on resize")


def _removed(old: Tree, new: Tree, path: str) -> Iterator[Cause]:
    for field in ("requests", "limits"):
        if any(name not in (new.get(field) or {}) for name in old.get(field) or {}):
            yield not_allowed(f"{path}.{field}", f"resource {field} cannot be removed")


def _fixed(container: Tree) -> Any:
    """What a resize may not touch."""
    resources = container.get("resources") or {}
    kept = {
        field: {name: value for name, value in (resources.get(field) or {}).items() if name not in _RESIZABLE}
        for field in ("requests", "limits")
    }
    return {key: value for key, value in container.items() if key not in _RESIZED} | kept


def _node_can(pod: Tree) -> bool:
    """Whether whoever runs the pod tells what its containers use; before it runs, nobody can say that he cannot."""
    for each in (pod.get("status") or {}).get("containerStatuses") or ():
        if "running" in (each.get("state") or {}):
            return each.get("resources") is not None
    return True


def quality(spec: Tree) -> str:
    """The class of service that requests and limits of cpu and memory amount to."""
    containers = (spec.get("containers") or []) + (spec.get("initContainers") or [])
    asked, guaranteed = False, bool(containers)
    for container in containers:
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        asked = asked or any(name in requests or name in limits for name in _RESIZABLE)
        same = all(name in limits and requests.get(name, limits[name]) == limits[name] for name in _RESIZABLE)
        guaranteed = guaranteed and same
    return "BestEffort" if not asked else "Guaranteed" if guaranteed else "Burstable"
