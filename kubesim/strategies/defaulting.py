"""Defaults that the API server fills in, a filler for each kind that has some.

They follow the release exactly: what is filled in, and what is left out. What admission adds on top stands in
`defaults.admission`.
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.crds import rules as crd_rules
from kubesim.defaults import network as defaults_network
from kubesim.defaults import pods as defaults_pods
from kubesim.defaults import workloads as defaults_workloads
from kubesim.defaults.values import absent, child, has, items, unset
from kubesim.kinds.features import MAX_UNAVAILABLE
from kubesim.kinds.registry import is_built_in
from kubesim.rules import roles, stored, webhooks
from kubesim.store.versions import Tree

_NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
_PERIOD = 15
_CPU_PERCENT = 80


def fill(tree: Tree, features: frozenset[str] = frozenset()) -> None:
    """Fills in the defaults of the tree's kind, in place; those of custom resources stand in their schemas.

    `features` are the feature gates that are on.
    """
    kind = tree["kind"]
    filler = _FILLERS.get(kind)
    if filler is None or not is_built_in(tree):
        return
    if kind == "StatefulSet":
        defaults_workloads.stateful_set(tree, several_at_once=MAX_UNAVAILABLE in features)
    else:
        filler(tree)


def _namespace(tree: Tree) -> None:
    name = tree["metadata"].get("name")
    if name:
        child(tree["metadata"], "labels")["kubernetes.io/metadata.name"] = name
    unset(child(tree, "status"), "phase", "Active")


def _event(tree: Tree) -> None:
    for key in ("source", "involvedObject"):
        child(tree, key)
    for key in ("reportingComponent", "reportingInstance"):
        tree.setdefault(key, "")


def _node(tree: Tree) -> None:
    child(tree, "spec")
    status = child(tree, "status")
    absent(status, "daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
    absent(status, "nodeInfo", dict.fromkeys(_NODE_INFO, ""))
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def _volume(tree: Tree) -> None:
    spec = child(tree, "spec")
    unset(child(tree, "status"), "phase", "Pending")
    unset(spec, "persistentVolumeReclaimPolicy", "Retain")
    absent(spec, "volumeMode", "Filesystem")
    if has(spec, "hostPath"):
        absent(spec["hostPath"], "type", "")


def _claim(tree: Tree) -> None:
    unset(child(tree, "status"), "phase", "Pending")
    defaults_pods.claim_spec(child(tree, "spec"))


def _storage_class(tree: Tree) -> None:
    unset(tree, "reclaimPolicy", "Delete")
    absent(tree, "volumeBindingMode", "Immediate")


def _priority_class(tree: Tree) -> None:
    absent(tree, "preemptionPolicy", "PreemptLowerPriority")


def _limit_range(tree: Tree) -> None:
    """A default limit is the most there may be, a default request the default limit or the least there may be."""
    for limit in items(child(tree, "spec"), "limits"):
        if limit.get("type") != "Container":
            continue
        limit["default"] = (limit.get("max") or {}) | (limit.get("default") or {})
        limit["defaultRequest"] = (limit.get("min") or {}) | limit["default"] | (limit.get("defaultRequest") or {})
        for key in ("default", "defaultRequest"):
            if not limit[key]:
                del limit[key]


def _quota(tree: Tree) -> None:
    child(tree, "spec")
    child(tree, "status")


def _autoscaler(tree: Tree) -> None:
    spec = child(tree, "spec")
    absent(spec, "minReplicas", 1)
    if tree["apiVersion"].endswith("v1"):
        return
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _CPU_PERCENT}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if has(spec, "behavior"):
        pods = {"type": "Pods", "value": 4, "periodSeconds": _PERIOD}
        all_of_them = {"type": "Percent", "value": 100, "periodSeconds": _PERIOD}
        up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, all_of_them]}
        down = {"selectPolicy": "Max", "policies": [all_of_them]}
        for direction, rules in (("scaleUp", up), ("scaleDown", down)):
            spec["behavior"][direction] = rules | (spec["behavior"].get(direction) or {})


def _policy(tree: Tree) -> None:
    spec = child(tree, "spec")
    absent(spec, "failurePolicy", "Fail")
    if has(spec, "matchConstraints"):
        _matched(spec["matchConstraints"])


def _policy_binding(tree: Tree) -> None:
    spec = child(tree, "spec")
    if has(spec, "matchResources"):
        _matched(spec["matchResources"])


def _matched(constraints: Tree) -> None:
    absent(constraints, "matchPolicy", "Equivalent")
    for key in ("namespaceSelector", "objectSelector"):
        child(constraints, key)
    for key in ("resourceRules", "excludeResourceRules"):
        for rule in items(constraints, key):
            unset(rule, "scope", "*")


_FILLERS: dict[str, Callable[[Tree], None]] = {
    "ConfigMap": stored.fill_config_map,
    "CronJob": defaults_workloads.cron_job,
    "CustomResourceDefinition": crd_rules.fill,
    "DaemonSet": defaults_workloads.daemon_set,
    "Deployment": defaults_workloads.deployment,
    "EndpointSlice": defaults_network.endpoint_slice,
    "Endpoints": defaults_network.endpoints,
    "Event": _event,
    "HorizontalPodAutoscaler": _autoscaler,
    "Ingress": defaults_network.ingress,
    "IngressClass": defaults_network.ingress_class,
    "Job": defaults_workloads.job,
    "LimitRange": _limit_range,
    "Namespace": _namespace,
    "NetworkPolicy": defaults_network.network_policy,
    "Node": _node,
    "PersistentVolume": _volume,
    "PersistentVolumeClaim": _claim,
    "Pod": defaults_pods.fill,
    "PodTemplate": defaults_workloads.pod_template,
    "PriorityClass": _priority_class,
    "ReplicaSet": defaults_workloads.replica_set,
    "ReplicationController": defaults_workloads.replication_controller,
    "ResourceQuota": _quota,
    "Secret": stored.fill_secret,
    "Service": defaults_network.service,
    "StatefulSet": defaults_workloads.stateful_set,
    "StorageClass": _storage_class,
    "ValidatingAdmissionPolicy": _policy,
    "ValidatingAdmissionPolicyBinding": _policy_binding,
    **dict.fromkeys(roles.KINDS, roles.fill),
    **dict.fromkeys(webhooks.KINDS, webhooks.fill),
}
