"""Metadata, storage and smaller kinds, sound and broken, by what is said of each."""

from __future__ import annotations

from tests.e2e.builtin_trees import Tree, a_budget, a_claim, a_volume, an, an_autoscaler

METADATA: dict[str, Tree] = {
    "name with capitals": an("ConfigMap", "A"),
    "name too long": an("ConfigMap", "a" * 254),
    "namespace with a dot": an("Namespace", "a.b"),
    "service with a dot": an("Service", "a.b", spec={"ports": [{"port": 1}]}),
    "service that starts with a digit": an("Service", "1a", spec={"ports": [{"port": 1}]}),
    "no name": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}},
    "bad beginning of a name": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "A_"}},
    "bad label": an("ConfigMap", metadata={"labels": {"a b": "c"}}),
    "bad label value": an("ConfigMap", metadata={"labels": {"a": "c d"}}),
    "long label value": an("ConfigMap", metadata={"labels": {"a": "c" * 64}}),
    "label with a bad domain": an("ConfigMap", metadata={"labels": {"A_/a": "c"}}),
    "label with two slashes": an("ConfigMap", metadata={"labels": {"a/b/c": "c"}}),
    "label without a name": an("ConfigMap", metadata={"labels": {"a/": "c"}}),
    "bad annotation": an("ConfigMap", metadata={"annotations": {"a b": "c"}}),
    "too many annotations": an("ConfigMap", metadata={"annotations": {"a": "c" * 262144}}),
    "bad finalizer": an("ConfigMap", metadata={"finalizers": ["a b"]}),
    "plain finalizer": an("ConfigMap", metadata={"finalizers": ["mine"]}),
    "both policies": an("ConfigMap", metadata={"finalizers": ["orphan", "foregroundDeletion"]}),
    "owner without anything": an(
        "ConfigMap", metadata={"ownerReferences": [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]}
    ),
    "two controllers": an(
        "ConfigMap",
        metadata={
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True} for name in "ab"
            ]
        },
    ),
    "owned by an event": an(
        "ConfigMap", metadata={"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "a"}]}
    ),
}

STORAGE: dict[str, Tree] = {
    "claim": a_claim(),
    "claim of a class": a_claim(storageClassName="fast", volumeMode="Block"),
    "claim of nothing": an("PersistentVolumeClaim", spec={}),
    "claim of an odd mode": a_claim(accessModes=["Odd"], volumeMode="Odd"),
    "claim of no size": a_claim(resources={"requests": {"storage": "0"}}),
    "claim of a bad class": a_claim(storageClassName="A_"),
    "claim of one pod and others": a_claim(accessModes=["ReadWriteOncePod", "ReadWriteOnce"]),
    "claim from an odd source": a_claim(dataSource={"kind": "Pod", "name": "a"}),
    "claim from another claim": a_claim(dataSource={"kind": "PersistentVolumeClaim", "name": "a"}),
    "volume": a_volume(),
    "volume of nothing": an("PersistentVolume", spec={}),
    "volume of two sources": a_volume(nfs={"server": "a", "path": "/"}),
    "volume of an odd policy": a_volume(persistentVolumeReclaimPolicy="Odd", volumeMode="Odd", accessModes=["Odd"]),
    "volume that recycles the host": a_volume(hostPath={"path": "/"}, persistentVolumeReclaimPolicy="Recycle"),
    "volume of a path that climbs": a_volume(hostPath={"path": "/a/../b"}),
    "local volume without a node": {
        **a_volume(),
        "spec": {"capacity": {"storage": "1"}, "accessModes": ["ReadWriteOnce"], "local": {"path": "/a"}},
    },
    "storage class": an("StorageClass", version="storage.k8s.io/v1", provisioner="a.b/c"),
    "storage class of nothing": an("StorageClass", version="storage.k8s.io/v1"),
    "storage class of odd policies": an(
        "StorageClass", version="storage.k8s.io/v1", provisioner="a/b", reclaimPolicy="Odd", volumeBindingMode="Odd"
    ),
}

OTHERS: dict[str, Tree] = {
    "budget": a_budget(minAvailable=1),
    "budget of nothing": an("PodDisruptionBudget", version="policy/v1"),
    "budget of both": a_budget(minAvailable=1, maxUnavailable=1),
    "budget of too much": a_budget(minAvailable="101%"),
    "budget of odd numbers": a_budget(maxUnavailable="a"),
    "budget of an odd policy": a_budget(maxUnavailable=1, unhealthyPodEvictionPolicy="Odd"),
    "budget of an odd selector": a_budget(selector={"matchExpressions": [{"key": "a b", "operator": "In"}]}),
    "autoscaler": an_autoscaler(),
    "autoscaler of the old version": an_autoscaler("autoscaling/v1", targetCPUUtilizationPercentage=50),
    "autoscaler with behaviour": an_autoscaler(
        behavior={"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 15}]}}
    ),
    "autoscaler with metrics": an_autoscaler(
        metrics=[
            {
                "type": "Resource",
                "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
            },
            {
                "type": "Pods",
                "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}},
            },
        ]
    ),
    "autoscaler of odd numbers": an_autoscaler(minReplicas=0, maxReplicas=0),
    "autoscaler of less than the least": an_autoscaler(minReplicas=5),
    "autoscaler of nothing": an(
        "HorizontalPodAutoscaler",
        version="autoscaling/v2",
        spec={"maxReplicas": 1, "scaleTargetRef": {"kind": "", "name": ""}},
    ),
    "autoscaler with odd metrics": an_autoscaler(metrics=[{"type": "Odd"}, {"type": "Resource"}]),
    "autoscaler with an odd target": an_autoscaler(
        metrics=[{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}]
    ),
    "autoscaler with odd behaviour": an_autoscaler(
        behavior={
            "scaleDown": {
                "stabilizationWindowSeconds": 4000,
                "selectPolicy": "Odd",
                "policies": [{"type": "Odd", "value": 0, "periodSeconds": 0}],
            }
        }
    ),
    "priority class": an("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000),
    "priority class above all": an("PriorityClass", "high", "scheduling.k8s.io/v1", value=2000000000),
    "priority class of the system": an("PriorityClass", "system-mine", "scheduling.k8s.io/v1", value=1),
    "priority class of an odd policy": an(
        "PriorityClass", "high", "scheduling.k8s.io/v1", value=1, preemptionPolicy="Odd"
    ),
    "namespace": an("Namespace", "other"),
    "node with bad taints": an("Node", "n1", spec={"taints": [{"key": "a b", "effect": "Odd"}, {"key": "b"}]}),
    "quota of less than nothing": an("ResourceQuota", spec={"hard": {"pods": "-1"}}),
    "limits": an("LimitRange", spec={"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "1Mi"}}]}),
    "limits that contradict": an(
        "LimitRange",
        spec={"limits": [{"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}, "default": {"cpu": "3"}}]},
    ),
    "limits twice": an("LimitRange", spec={"limits": [{"type": "Pod"}, {"type": "Pod"}]}),
    "quota": an("ResourceQuota", spec={"hard": {"pods": "3", "requests.cpu": "1"}}),
    "quota that is bad": an("ResourceQuota", spec={"hard": {"things": "1"}}),
    "quota of odd scopes": an("ResourceQuota", spec={"hard": {"pods": "1"}, "scopes": ["Odd"]}),
    "map": an("ConfigMap", data={"a": "b"}),
    "map with a bad key": an("ConfigMap", data={"a b": "c"}),
    "map with one key twice": an("ConfigMap", data={"a": "b"}, binaryData={"a": "Yg=="}),
    "secret": an("Secret", stringData={"a": "b"}),
    "secret of an account": an("Secret", type="kubernetes.io/service-account-token"),
    "secret of certificates": an("Secret", type="kubernetes.io/tls", data={}),
    "account": an("ServiceAccount", "mine"),
    "lease": an("Lease", version="coordination.k8s.io/v1", spec={"leaseDurationSeconds": 0, "leaseTransitions": -1}),
    "event": an("Event", involvedObject={"kind": "Pod", "name": "p", "namespace": "elsewhere"}),
    "revision": an("ControllerRevision", version="apps/v1", revision=1, data={"a": 1}),
    "revision of nothing": an("ControllerRevision", version="apps/v1", revision=-1),
    "policy": an(
        "ValidatingAdmissionPolicy",
        version="admissionregistration.k8s.io/v1",
        spec={
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                ]
            },
            "validations": [{"expression": "true"}],
        },
    ),
    "policy binding": an(
        "ValidatingAdmissionPolicyBinding",
        version="admissionregistration.k8s.io/v1",
        spec={
            "policyName": "p",
            "validationActions": ["Deny"],
            "matchResources": {},
        },
    ),
    "webhooks": an(
        "ValidatingWebhookConfiguration",
        version="admissionregistration.k8s.io/v1",
        webhooks=[
            {
                "name": "a.b.c",
                "clientConfig": {"service": {"name": "s", "namespace": "n"}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            }
        ],
    ),
}
