"""Objects of every kind, in states that show in their rows."""

from __future__ import annotations

from typing import Any

from kubesim.kinds.registry import KINDS, Kind
from tests.e2e.reading_pods import EARLY, LATE, POD_SPECS, POD_STATUSES, SELECTOR, Tree, condition, pod_spec, template

OBJECTS: list[tuple[str, Tree, Tree]] = [
    ("v1 ServiceAccount", {"metadata": {"name": "default"}}, {}),
    ("v1 ConfigMap", {"metadata": {"name": "full", "labels": {"a": "b"}}, "data": {"x": "1", "y": "2"}}, {}),
    ("v1 ConfigMap", {"metadata": {"name": "empty"}, "binaryData": {"z": "AA=="}}, {}),
    ("v1 Secret", {"metadata": {"name": "opaque"}, "data": {"x": "MQ=="}}, {}),
    ("v1 Secret", {"metadata": {"name": "typed"}, "type": "example.org/own"}, {}),
    *(
        ("v1 Pod", {"metadata": {"name": name}, "spec": POD_SPECS.get(name) or pod_spec()}, status)
        for name, status in POD_STATUSES.items()
    ),
    ("v1 PodTemplate", {"metadata": {"name": "template"}, "template": template("a", "b")}, {}),
    (
        "v1 ReplicationController",
        {"metadata": {"name": "old"}, "spec": {"replicas": 2, "selector": {"app": "a"}, "template": template()}},
        {"replicas": 2, "readyReplicas": 1},
    ),
    (
        "apps/v1 ReplicaSet",
        {"metadata": {"name": "set"}, "spec": {"replicas": 2, "selector": SELECTOR, "template": template("a", "b")}},
        {"replicas": 2, "readyReplicas": 1},
    ),
    (
        "apps/v1 Deployment",
        {
            "metadata": {"name": "rolled"},
            "spec": {
                "replicas": 0,
                "selector": {
                    "matchLabels": {"app": "a"},
                    "matchExpressions": [
                        {"key": "tier", "operator": "In", "values": ["c", "b"]},
                        {"key": "app", "operator": "Exists"},
                        {"key": "gone", "operator": "DoesNotExist"},
                        {"key": "not", "operator": "NotIn", "values": ["x"]},
                    ],
                },
                "template": template(),
            },
        },
        {"replicas": 3, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 1},
    ),
    (
        "apps/v1 StatefulSet",
        {"metadata": {"name": "kept"}, "spec": {"serviceName": "x", "selector": SELECTOR, "template": template()}},
        {"replicas": 1, "readyReplicas": 1},
    ),
    (
        "apps/v1 DaemonSet",
        {
            "metadata": {"name": "everywhere"},
            "spec": {"selector": SELECTOR, "template": template(nodeSelector={"disk": "fast"})},
        },
        {
            "desiredNumberScheduled": 3,
            "currentNumberScheduled": 2,
            "numberReady": 1,
            "updatedNumberScheduled": 1,
            "numberAvailable": 1,
            "numberMisscheduled": 0,
        },
    ),
    (
        "apps/v1 ControllerRevision",
        {
            "metadata": {
                "name": "owned",
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "StatefulSet",
                        "name": "kept",
                        "uid": "6f1b8c3a-0000-4000-8000-000000000000",
                        "controller": True,
                    }
                ],
            },
            "revision": 4,
            "data": {"x": 1},
        },
        {},
    ),
    ("apps/v1 ControllerRevision", {"metadata": {"name": "free"}, "revision": 1, "data": {}}, {}),
    (
        "batch/v1 Job",
        {"metadata": {"name": "many"}, "spec": {"parallelism": 3, "template": template(restartPolicy="Never")}},
        {"startTime": EARLY, "active": 1},
    ),
    (
        "batch/v1 Job",
        {"metadata": {"name": "one"}, "spec": {"suspend": True, "template": template(restartPolicy="Never")}},
        {},
    ),
    (
        "batch/v1 CronJob",
        {
            "metadata": {"name": "hourly"},
            "spec": {
                "schedule": "0 * * * *",
                "timeZone": "Etc/UTC",
                "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}},
            },
        },
        {"lastScheduleTime": EARLY},
    ),
    (
        "policy/v1 PodDisruptionBudget",
        {"metadata": {"name": "half"}, "spec": {"minAvailable": "50%", "selector": SELECTOR}},
        {"disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3},
    ),
    (
        "policy/v1 PodDisruptionBudget",
        {"metadata": {"name": "one"}, "spec": {"maxUnavailable": 1, "selector": SELECTOR}},
        {},
    ),
    (
        "autoscaling/v2 HorizontalPodAutoscaler",
        {
            "metadata": {"name": "scaled"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "rolled"},
                "minReplicas": 2,
                "maxReplicas": 5,
                "metrics": [
                    {
                        "type": "Pods",
                        "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1500m"}},
                    },
                    {
                        "type": "Resource",
                        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
                    },
                    {
                        "type": "External",
                        "external": {"metric": {"name": "q"}, "target": {"type": "Value", "value": "30"}},
                    },
                ],
            },
        },
        {
            "currentReplicas": 3,
            "desiredReplicas": 4,
            "currentMetrics": [
                {"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "2"}}},
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "current": {"averageUtilization": 55, "averageValue": "1"}},
                },
            ],
            "conditions": [{"type": "AbleToScale", "status": "True", "reason": "R", "message": "m"}],
        },
    ),
    (
        "autoscaling/v2 HorizontalPodAutoscaler",
        {
            "metadata": {"name": "rich", "annotations": {"own": "note"}},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "rolled"},
                "maxReplicas": 5,
                "behavior": {
                    "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 30}]},
                    "scaleDown": {"stabilizationWindowSeconds": 60, "selectPolicy": "Disabled"},
                },
                "metrics": [
                    {
                        "type": "Object",
                        "object": {
                            "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "named"},
                            "metric": {"name": "hits", "selector": {"matchLabels": {"a": "b"}}},
                            "target": {"type": "Value", "value": "10k"},
                        },
                    },
                    {
                        "type": "ContainerResource",
                        "containerResource": {
                            "name": "memory",
                            "container": "main",
                            "target": {"type": "AverageValue", "averageValue": "1Gi"},
                        },
                    },
                    {
                        "type": "External",
                        "external": {
                            "metric": {"name": "q", "selector": {"matchLabels": {"c": "d"}}},
                            "target": {"type": "AverageValue", "averageValue": "5"},
                        },
                    },
                    {
                        "type": "Resource",
                        "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 75}},
                    },
                ],
            },
        },
        {},
    ),
    (
        "autoscaling/v1 HorizontalPodAutoscaler",
        {
            "metadata": {"name": "simple"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "rolled"},
                "maxReplicas": 3,
                "targetCPUUtilizationPercentage": 60,
            },
        },
        {"currentReplicas": 1, "desiredReplicas": 2},
    ),
    (
        "v1 Service",
        {"metadata": {"name": "headless"}, "spec": {"clusterIP": "None", "selector": {"b": "2", "a": "1"}}},
        {},
    ),
    (
        "v1 Service",
        {"metadata": {"name": "named"}, "spec": {"type": "ExternalName", "externalName": "example.org"}},
        {},
    ),
    (
        "v1 Endpoints",
        {
            "metadata": {"name": "four"},
            "subsets": [
                {
                    "addresses": [{"ip": f"10.0.0.{number}"} for number in range(1, 5)],
                    "ports": [{"port": 80}],
                }
            ],
        },
        {},
    ),
    ("v1 Endpoints", {"metadata": {"name": "none"}}, {}),
    (
        "discovery.k8s.io/v1 EndpointSlice",
        {
            "metadata": {"name": "slice"},
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2"]}],
            "ports": [{"port": 80, "name": "http"}],
        },
        {},
    ),
    ("discovery.k8s.io/v1 EndpointSlice", {"metadata": {"name": "bare"}, "addressType": "IPv4", "endpoints": []}, {}),
    (
        "networking.k8s.io/v1 Ingress",
        {
            "metadata": {"name": "way"},
            "spec": {
                "tls": [{"hosts": ["a.example.org"]}],
                "rules": [{"host": f"{letter}.example.org"} for letter in "abcd"],
            },
        },
        {"loadBalancer": {"ingress": [{"ip": "10.1.1.1"}]}},
    ),
    (
        "networking.k8s.io/v1 NetworkPolicy",
        {"metadata": {"name": "closed"}, "spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
        {},
    ),
    ("networking.k8s.io/v1 NetworkPolicy", {"metadata": {"name": "all"}, "spec": {"podSelector": {}}}, {}),
    (
        "v1 PersistentVolumeClaim",
        {
            "metadata": {"name": "bound"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "volumeName": "volume",
                "storageClassName": "slow",
            },
        },
        {"phase": "Bound", "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "capacity": {"storage": "2Gi"}},
    ),
    (
        "v1 PersistentVolumeClaim",
        {
            "metadata": {"name": "waiting"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        },
        {},
    ),
    ("v1 LimitRange", {"metadata": {"name": "limits"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}}, {}),
    (
        "v1 ResourceQuota",
        {"metadata": {"name": "quota"}, "spec": {"hard": {"pods": "1k"}}},
        {"hard": {"pods": "1k", "limits.cpu": "2"}, "used": {"pods": "3"}},
    ),
    (
        "coordination.k8s.io/v1 Lease",
        {"metadata": {"name": "held"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
        {},
    ),
    ("coordination.k8s.io/v1 Lease", {"metadata": {"name": "open"}}, {}),
    (
        "v1 Event",
        {
            "metadata": {"name": "old"},
            "involvedObject": {
                "kind": "Pod",
                "name": "running",
                "namespace": "{ns}",
                "fieldPath": "spec.containers{main}",
            },
            "reason": "Pulled",
            "message": " It is here. ",
            "type": "Normal",
            "count": 3,
            "firstTimestamp": EARLY,
            "lastTimestamp": LATE,
            "source": {"component": "kubelet", "host": "node-1"},
        },
        {},
    ),
    (
        "events.k8s.io/v1 Event",
        {
            "metadata": {"name": "new"},
            "regarding": {"kind": "Pod", "name": "running", "namespace": "{ns}"},
            "reason": "Killing",
            "action": "Kill",
            "note": "It goes.",
            "type": "Warning",
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "example.org/c",
            "reportingInstance": "c-1",
        },
        {},
    ),
    (
        "rbac.authorization.k8s.io/v1 Role",
        {"metadata": {"name": "reader"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
        {},
    ),
    (
        "rbac.authorization.k8s.io/v1 RoleBinding",
        {
            "metadata": {"name": "reading"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [
                {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"},
                {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob"},
                {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "all"},
                {"kind": "ServiceAccount", "namespace": "x", "name": "y"},
            ],
        },
        {},
    ),
    # What lies in no namespace has names of its own.
    (
        "v1 Node",
        {
            "metadata": {"name": "{ns}-n", "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "x"}},
            "spec": {"unschedulable": True},
        },
        {
            "conditions": [condition("Ready")],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.9"}],
            "nodeInfo": {
                "kubeletVersion": "v1.36.4",
                "osImage": "Some OS",
                "kernelVersion": "6.1",
                "architecture": "amd64",
                "containerRuntimeVersion": "",
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
            },
        },
    ),
    (
        "v1 PersistentVolume",
        {
            "metadata": {"name": "{ns}-v"},
            "spec": {
                "capacity": {"storage": "5Gi"},
                "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                "hostPath": {"path": "/x"},
                "storageClassName": "slow",
                "claimRef": {"namespace": "a", "name": "b"},
            },
        },
        {"phase": "Released", "reason": "Because"},
    ),
    (
        "storage.k8s.io/v1 StorageClass",
        {
            "metadata": {"name": "{ns}-s", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            "provisioner": "example.org/p",
            "allowVolumeExpansion": True,
        },
        {},
    ),
    (
        "scheduling.k8s.io/v1 PriorityClass",
        {"metadata": {"name": "{ns}-p"}, "value": 10, "preemptionPolicy": "Never"},
        {},
    ),
    (
        "networking.k8s.io/v1 IngressClass",
        {
            "metadata": {"name": "{ns}-i"},
            "spec": {
                "controller": "example.org/c",
                "parameters": {"apiGroup": "g.io", "kind": "K", "name": "n", "scope": "Cluster"},
            },
        },
        {},
    ),
    (
        "rbac.authorization.k8s.io/v1 ClusterRoleBinding",
        {
            "metadata": {"name": "{ns}-b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        },
        {},
    ),
    ("rbac.authorization.k8s.io/v1 ClusterRole", {"metadata": {"name": "{ns}-c"}, "rules": []}, {}),
    (
        "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
        {
            "metadata": {"name": "{ns}-a"},
            "spec": {
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "matchConstraints": {
                    "resourceRules": [
                        {"apiGroups": ["x.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["xs"]}
                    ]
                },
                "validations": [{"expression": "true"}],
            },
        },
        {},
    ),
    (
        "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding",
        {
            "metadata": {"name": "{ns}-a"},
            "spec": {
                "policyName": "{ns}-a",
                "validationActions": ["Deny"],
                "paramRef": {"name": "p", "parameterNotFoundAction": "Deny"},
            },
        },
        {},
    ),
    (
        "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
        {"metadata": {"name": "{ns}-w"}, "webhooks": []},
        {},
    ),
]
"""API version and kind, the object, and its status where that is to be written afterwards."""


AUTOSCALERS = (("v2", "scaled"), ("v2", "rich"), ("v2", "simple"), ("v1", "simple"))
"""What v1 has no field for is carried in another form than on the real server."""


def kind_named(said: str) -> Kind:
    """The kind of an example."""
    version, _, name = said.partition(" ")
    return next(kind for kind in KINDS if (kind.resource.api_version, kind.resource.kind) == (version, name))


def in_namespace(value: Any, namespace: str) -> Any:
    """An example with the namespace of a test in the places that are left for it."""
    if isinstance(value, dict):
        return {key: in_namespace(each, namespace) for key, each in value.items()}
    if isinstance(value, list):
        return [in_namespace(each, namespace) for each in value]
    return value.replace("{ns}", namespace) if isinstance(value, str) else value
