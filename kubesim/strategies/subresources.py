"""What a part of an object may change: its status, its scale, a pod's node."""

from __future__ import annotations

import copy
from collections.abc import Callable

from kubeloop.objects.meta import Resource
from kubesim.bodies.equality import identical
from kubesim.crds import rules as crd_rules
from kubesim.defaults.network import service_status
from kubesim.defaults.pods import pair_addresses
from kubesim.defaults.workloads import TEMPLATES
from kubesim.errors import bad_request, conflict, invalid, wrong
from kubesim.kinds.registry import (
    DEFINITIONS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    LIMIT_RANGES,
    NAMESPACES,
    PODS,
    SERVICES,
    Kind,
    is_built_in,
)
from kubesim.plugins import chain as plugins
from kubesim.store.store import Store
from kubesim.store.versions import Tree, timestamp
from kubesim.strategies import creation, pod_parts, service_addresses

SCALE = Resource("autoscaling", "v1", "scale", "Scale")
_FITTED = ("Pod", "PersistentVolumeClaim", "Ingress")


def limited(kind: Kind, before: Tree, new: Tree, subresource: str) -> Tree:
    """`new` with everything put back that a write to the subresource must not touch."""
    if subresource in pod_parts.PARTS:
        return pod_parts.limited(before, new, subresource)
    if subresource == "status":
        if kind.custom is not None:
            after = before | {"metadata": dict(before["metadata"])}
            after.pop("status", None)
            return after | ({"status": new["status"]} if "status" in new else {})
        after = {key: value for key, value in before.items() if key not in ("metadata", "status")}
        after |= {"metadata": new["metadata"], "status": new.get("status") or {}}
        if kind.resource == PODS:
            _limit_pod_status(before, after)
        if kind.resource == SERVICES:
            service_status(after["spec"], after["status"])
        if kind.resource == DEFINITIONS and not after["status"].get("storedVersions"):
            crd_rules.note_storage(after)
        if kind.resource == DEPLOYMENTS:
            after["metadata"].pop("labels", None)
            if "labels" in before["metadata"]:
                after["metadata"]["labels"] = before["metadata"]["labels"]
        return after
    if kind.has_status:
        new.pop("status", None)
        if "status" in before:
            new["status"] = before["status"]
    if kind.resource == NAMESPACES and subresource != "finalize":
        new["spec"] = before.get("spec") or {}
    return new


def _limit_pod_status(before: Tree, after: Tree) -> None:
    """Owners are out of reach, and the class of service is decided once."""
    after["metadata"].pop("ownerReferences", None)
    if "ownerReferences" in before["metadata"]:
        after["metadata"]["ownerReferences"] = before["metadata"]["ownerReferences"]
    known = before.get("status", {}).get("qosClass")
    if known and not after["status"].get("qosClass"):
        after["status"]["qosClass"] = known
    pair_addresses(after["status"])


def counts(kind: Kind, before: Tree, after: Tree) -> bool:
    """Whether a change is one that metadata.generation counts."""
    keys = kind.counted
    if kind.custom is not None:
        keys = tuple(key for key in {**before, **after} if key not in ("metadata", "apiVersion"))
    if kind.resource == DEPLOYMENTS and _annotations(before) != _annotations(after):
        return True  # they are copied to its ReplicaSets, so whoever does that has something to observe
    if kind.resource == ENDPOINT_SLICES and _labels(before) != _labels(after):
        return True  # which say whose endpoints they are
    if kind.custom is not None or kind.resource == DEFINITIONS:  # in which anything may stand
        return not all(identical(before.get(key), after.get(key)) for key in keys)
    return any(before.get(key) != after.get(key) for key in keys)


def _annotations(tree: Tree) -> object:
    return tree["metadata"].get("annotations") or {}


def _labels(tree: Tree) -> object:
    return tree["metadata"].get("labels") or {}


def admit(tree: Tree) -> None:
    """What a new object is given whatever else is in the cluster, the status it is born with included."""
    if is_built_in(tree):
        plugins.alone(tree)
        creation.born(tree)


def allocate(tree: Tree, store: Store, *, dry_run: bool = False) -> None:
    """What a new object is given because of others: a pod its account, a Service its address; raises when it cannot."""
    if not is_built_in(tree):
        return
    if tree["kind"] == "Service":
        service_addresses.allocate(tree, store, dry_run=dry_run)
    elif tree["kind"] in _FITTED:
        plugins.among(tree, store)
        if tree["kind"] == "Pod" and store.table(LIMIT_RANGES).live:
            tree["status"]["qosClass"] = creation.quality(tree["spec"])


def carry_over(before: Tree, after: Tree, store: Store) -> None:
    """What an object was given stays with it when an update does not mention it; a definition remembers its storage."""
    if not is_built_in(after):
        return
    match after["kind"]:
        case "CustomResourceDefinition":
            after["status"] = copy.deepcopy(after.get("status") or {})
            crd_rules.note_storage(after)
        case "Service":
            service_addresses.reallocate(before, after, store)
        case "Pod":
            for key in ("priority", "preemptionPolicy"):
                if after["spec"].get(key) is None and key in before["spec"]:
                    after["spec"][key] = before["spec"][key]
            plugins.tolerate(after["spec"])
        case "PersistentVolumeClaim":
            creation.name_source(after["spec"])
            if before["spec"].get("storageClassName") is None:
                plugins.among(after, store)
        case "DaemonSet":
            _count_templates(before, after)


def _count_templates(before: Tree, after: Tree) -> None:
    """A DaemonSet counts its templates in an annotation, as it did when that was a field."""
    known = int((before["metadata"].get("annotations") or {}).get(TEMPLATES) or 1)
    changed = before["spec"]["template"] != after["spec"]["template"]
    after["metadata"].setdefault("annotations", {})[TEMPLATES] = str(known + changed)


def scale_shown(kind: Kind, tree: Tree) -> Tree:
    """The Scale for somebody who asks for it; it needs a number to show."""
    if kind.custom is not None and kind.custom.scale_numbers(tree)[0] is None:
        raise kind.custom.no_replicas()
    return scale_of(kind, tree)


def scale_of(kind: Kind, tree: Tree) -> Tree:
    """The Scale of a workload."""
    metadata = tree["metadata"]
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    if kind.custom is None:
        found, selector = (tree.get("status") or {}).get("replicas") or 0, _selector(tree["spec"])
        replicas = tree["spec"].get("replicas") or 0
    else:
        wanted, found, selector = kind.custom.scale_numbers(tree)
        replicas = wanted or 0
    status = {"replicas": found, "selector": selector}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in shown if key in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {key: value for key, value in status.items() if key == "replicas" or value},
    }


def _selector(spec: Tree) -> str:
    """A label selector as a query would carry it, in the order of its keys."""
    selector = spec.get("selector") or {}
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or []:
        key, values = expression["key"], ",".join(sorted(expression.get("values") or []))
        text = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }[expression["operator"]]
        terms.append((key, text))
    return ",".join(text for _, text in sorted(terms))


def rescaled(kind: Kind, tree: Tree, change: Callable[[Tree], Tree]) -> Tree:
    """The workload after a change of its Scale: only the replicas and the version it is based on are taken over."""
    scale = change(scale_of(kind, tree))
    name = tree["metadata"]["name"]
    metadata = scale.get("metadata") or {}
    if metadata.get("name", name) != name:
        raise bad_request(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if not isinstance(replicas, int):
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: spec.replicas is {replicas!r}')
    if replicas < 0 and kind.custom is None:  # else its schema says so
        cause = wrong("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid(SCALE, name, [cause])
    uid = tree["metadata"]["uid"]
    if metadata.get("uid", uid) != uid:
        text = f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {uid}"
        raise conflict(kind.resource, name, text, subresource="scale")
    if kind.custom is None:
        tree["spec"]["replicas"] = replicas
        tree["metadata"]["resourceVersion"] = metadata.get("resourceVersion") or ""
        return tree
    if "replicas" not in (scale.get("spec") or {}) and kind.custom.scale_numbers(tree)[0] is None:
        raise kind.custom.empty_replicas()
    kind.custom.set_replicas(tree, replicas)
    if metadata.get("resourceVersion"):
        tree["metadata"]["resourceVersion"] = metadata["resourceVersion"]
    return tree


def bound(pod: Tree, name: str, binding: Tree) -> Tree:
    """The pod on the node that the Binding names, said to be scheduled."""
    metadata = binding.get("metadata") or {}
    if why := _unbindable(pod, metadata, name):
        raise conflict(PODS, name, why, subresource="binding")
    pod["spec"]["nodeName"] = binding["target"]["name"]
    for key in ("annotations", "labels"):
        if metadata.get(key):
            pod["metadata"][key] = (pod["metadata"].get(key) or {}) | metadata[key]
    set_condition(pod, {"type": "PodScheduled", "status": "True"})
    return pod


def set_condition(pod: Tree, condition: Tree) -> None:
    """Sets a condition in its place, or adds it; its time is that of the last change of its status."""
    condition = {"lastProbeTime": None} | condition
    conditions: list[Tree] = pod["status"].setdefault("conditions", [])
    for index, known in enumerate(conditions):
        if known["type"] == condition["type"]:
            same = known["status"] == condition["status"]
            since = known.get("lastTransitionTime", timestamp()) if same else timestamp()
            conditions[index] = condition | {"lastTransitionTime": since}
            return
    conditions.append(condition | {"lastTransitionTime": timestamp()})


def _unbindable(pod: Tree, binding: Tree, name: str) -> str:
    """Why the pod cannot be put on a node; empty when it can."""
    uid = pod["metadata"]["uid"]
    if binding.get("uid", uid) != uid:
        return f"Precondition failed: UID in precondition: {binding['uid']}, UID in object meta: {uid}"
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if node := pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{node}"'
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""
