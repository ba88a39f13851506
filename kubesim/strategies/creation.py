"""What the server makes of a new object before it checks it: its first status, and what follows from its identity."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from kubeloop.quantities import quantity
from kubesim.crds import rules as crd_rules
from kubesim.defaults.workloads import TEMPLATES
from kubesim.plugins.storage import protect
from kubesim.rules.jobs import select_own
from kubesim.store.versions import Tree, timestamp

_BUDGET_NUMBERS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_DAEMON_NUMBERS = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def born(tree: Tree) -> None:
    """Completes a new object of a built-in kind, in place."""
    make = _BIRTHS.get(tree["kind"])
    if make is not None:
        make(tree)


def _pod(tree: Tree) -> None:
    spec = tree["spec"]
    tree["status"] = {"phase": "Pending", "qosClass": quality(spec)}
    if spec.get("schedulingGates"):
        tree["status"]["conditions"] = [{**_GATED, "lastProbeTime": None, "lastTransitionTime": timestamp()}]
    labels = tree["metadata"].get("labels") or {}
    for constraint in spec.get("topologySpreadConstraints") or []:
        _narrow(constraint, labels)
    for key in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(key) or {}
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or []:
            _narrow(term, labels)
        for weighted in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
            _narrow(weighted.get("podAffinityTerm") or {}, labels)


def _narrow(term: Tree, labels: dict[str, str]) -> None:
    """Has a selector say what the pod's own labels mean for it."""
    if term.get("labelSelector") is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field) or []:
            expression = {"key": key, "operator": operator, "values": [labels.get(key)]}
            known = term["labelSelector"].setdefault("matchExpressions", [])
            if key in labels and expression not in known:
                known.append(expression)


def quality(spec: Tree) -> str:
    """The class of service that requests and limits of cpu and memory amount to."""
    if spec.get("resources"):
        parts = [spec["resources"]]
        guaranteed = not parts[0].get("limits") or _complete(parts[0]["limits"])
    else:
        containers = (spec.get("containers") or []) + (spec.get("initContainers") or [])
        parts = [container.get("resources") or {} for container in containers]
        guaranteed = all(_complete(part.get("limits") or {}) for part in parts)
    requests, limits = _sum(parts, "requests"), _sum(parts, "limits")
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _complete(limits: dict[str, str]) -> bool:
    return all(name in limits and quantity(limits[name]) > 0 for name in ("cpu", "memory"))


def _sum(parts: list[Tree], field: str) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for part in parts:
        found = part.get(field)
        if not found:
            continue
        for name in ("cpu", "memory"):
            if name in found and quantity(found[name]) > 0:
                total[name] = total.get(name, Decimal(0)) + quantity(found[name])
    return total


def _stateful_set(tree: Tree) -> None:
    tree["status"] = {"replicas": 0, "availableReplicas": 0}


def _replicas(tree: Tree) -> None:
    tree["status"] = {"replicas": 0}


def _nothing(tree: Tree) -> None:
    tree["status"] = {}


def _daemon_set(tree: Tree) -> None:
    tree["status"] = dict.fromkeys(_DAEMON_NUMBERS, 0)
    tree["metadata"].setdefault("annotations", {})[TEMPLATES] = "1"


def _budget(tree: Tree) -> None:
    tree["status"] = dict.fromkeys(_BUDGET_NUMBERS, 0)


def _autoscaler(tree: Tree) -> None:
    version = tree["apiVersion"].rpartition("/")[2]
    tree["status"] = {"desiredReplicas": 0, "currentMetrics": None} | (
        {"currentReplicas": 0} if version == "v1" else {}
    )


def _claim(tree: Tree) -> None:
    protect(tree)
    name_source(tree["spec"])


def name_source(spec: Tree) -> None:
    """What a claim is filled from is said in two fields, of which the older one knows only claims and snapshots."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and (source.get("apiGroup") or "", source.get("kind")) not in _SOURCES:
        del spec["dataSource"]
    elif source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif source is None and reference is not None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)
    for key in ("dataSource", "dataSourceRef"):
        if spec.get(key) is not None:
            spec[key] = {"apiGroup": None} | spec[key]


def _job(tree: Tree) -> None:
    tree["status"] = {}
    if tree["metadata"].get("uid"):
        select_own(tree)


def _namespace(tree: Tree) -> None:
    finalizers = tree.setdefault("spec", {}).setdefault("finalizers", [])
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")


def _definition(tree: Tree) -> None:
    tree["status"] = crd_rules.born_status(tree)


def _service(tree: Tree) -> None:
    tree["status"] = {"loadBalancer": {}}


_BIRTHS: dict[str, Callable[[Tree], None]] = {
    "CronJob": _nothing,
    "CustomResourceDefinition": _definition,
    "DaemonSet": _daemon_set,
    "Deployment": _nothing,
    "HorizontalPodAutoscaler": _autoscaler,
    "Ingress": _service,
    "Job": _job,
    "Namespace": _namespace,
    "PersistentVolume": protect,
    "PersistentVolumeClaim": _claim,
    "Pod": _pod,
    "PodDisruptionBudget": _budget,
    "ReplicaSet": _replicas,
    "ReplicationController": _replicas,
    "ResourceQuota": _nothing,
    "Service": _service,
    "StatefulSet": _stateful_set,
    "ValidatingAdmissionPolicy": _nothing,
}
