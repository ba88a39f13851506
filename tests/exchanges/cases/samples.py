"""An object of every kind, as little as the API server takes, and paths."""

from __future__ import annotations

import copy
from typing import Any

from msgspec import Struct

Tree = dict[str, Any]

CORE = "/api/v1/namespaces/{ns}"
CLUSTER = "/api/v1"
MAPS = f"{CORE}/configmaps"
PODS = f"{CORE}/pods"
SERVICES = f"{CORE}/services"
SECRETS = f"{CORE}/secrets"
APPS = "/apis/apps/v1/namespaces/{ns}"
DEPLOYMENTS = f"{APPS}/deployments"
SETS = f"{APPS}/statefulsets"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

CONTAINER: Tree = {"name": "main", "image": "image:1"}
POD_SPEC: Tree = {"containers": [CONTAINER]}
LABELS = {"app": "a"}
TEMPLATE: Tree = {"metadata": {"labels": LABELS}, "spec": POD_SPEC}
SELECTOR: Tree = {"matchLabels": LABELS}


def an_object(version: str, kind: str, name: str = "one", **fields: Any) -> Tree:
    """Fields named `metadata_...` go into the metadata."""
    extra = {key.removeprefix("metadata_"): value for key, value in fields.items() if key.startswith("metadata_")}
    rest = {key: value for key, value in fields.items() if not key.startswith("metadata_")}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name} | extra} | copy.deepcopy(rest)


def a_map(name: str = "one", data: Tree | None = None, **metadata: Any) -> Tree:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name} | metadata}
    return tree if data is None else tree | {"data": data}


def a_pod(name: str = "one", spec: Tree | None = None, **metadata: Any) -> Tree:
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name} | metadata}
    return tree | {"spec": copy.deepcopy(POD_SPEC) | (spec or {})}


def a_deployment(name: str = "one", **spec: Any) -> Tree:
    return an_object("apps/v1", "Deployment", name, spec={"selector": SELECTOR, "template": TEMPLATE} | spec)


def a_set(name: str = "one", **spec: Any) -> Tree:
    whole = {"serviceName": "one", "selector": SELECTOR, "template": TEMPLATE} | spec
    return an_object("apps/v1", "StatefulSet", name, spec=whole)


def a_service(name: str = "one", **spec: Any) -> Tree:
    return an_object("v1", "Service", name, spec={"ports": [{"port": 80}], "selector": LABELS} | spec)


class Sample(Struct, frozen=True):
    """A kind: where it is, and an object of it."""

    path: str
    object: Tree
    name: str = "one"


def _at(group: str, plural: str, *, namespaced: bool = True) -> str:
    prefix = f"/apis/{group}" if "/" in group else f"/api/{group}"
    return f"{prefix}/namespaces/{{ns}}/{plural}" if namespaced else f"{prefix}/{plural}"


def _sample(version: str, plural: str, kind: str, /, **fields: Any) -> Sample:
    return Sample(_at(version, plural), an_object(version, kind, **fields))


def _wide(version: str, plural: str, kind: str, /, name: str = "{ns}", **fields: Any) -> Sample:
    """Of a kind at cluster scope, where names must be the case's own."""
    return Sample(_at(version, plural, namespaced=False), an_object(version, kind, name, **fields), name)


_CLAIM: Tree = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
_JOB: Tree = {"template": {"spec": POD_SPEC | {"restartPolicy": "Never"}}}
_METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "one"}
_RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
_PATHS = [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "one", "port": {"number": 80}}}}]
_HOOK: Tree = {
    "name": "hook.example.com",
    "clientConfig": {"service": {"namespace": "{ns}", "name": "hook"}},
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "rules": [
        {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["xs"]}
    ],
}
_MATCH: Tree = {"resourceRules": [_HOOK["rules"][0]]}
_VERSION: Tree = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
}
_SINCE = "2026-01-02T03:04:05Z"

SAMPLES: dict[str, Sample] = {
    "configmaps": _sample("v1", "configmaps", "ConfigMap", data={"key": "value"}),
    "endpoints": _sample(
        "v1", "endpoints", "Endpoints", subsets=[{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]
    ),
    "events": _sample(
        "v1",
        "events",
        "Event",
        involvedObject={"kind": "Pod", "namespace": "{ns}", "name": "one"},
        reason="Tried",
        message="it was tried",
        type="Normal",
        firstTimestamp=_SINCE,
        lastTimestamp=_SINCE,
        count=1,
    ),
    "limitranges": _sample(
        "v1", "limitranges", "LimitRange", spec={"limits": [{"type": "Container", "default": {"cpu": "500m"}}]}
    ),
    "persistentvolumeclaims": _sample("v1", "persistentvolumeclaims", "PersistentVolumeClaim", spec=_CLAIM),
    "pods": _sample("v1", "pods", "Pod", spec=POD_SPEC),
    "podtemplates": _sample("v1", "podtemplates", "PodTemplate", template=TEMPLATE),
    "replicationcontrollers": _sample(
        "v1", "replicationcontrollers", "ReplicationController", spec={"template": TEMPLATE}
    ),
    "resourcequotas": _sample("v1", "resourcequotas", "ResourceQuota", spec={"hard": {"pods": "5", "cpu": "1000m"}}),
    "secrets": _sample("v1", "secrets", "Secret", data={"key": "dmFsdWU="}, stringData={"word": "text"}),
    "serviceaccounts": _sample("v1", "serviceaccounts", "ServiceAccount"),
    "services": _sample("v1", "services", "Service", spec={"ports": [{"port": 80}], "selector": LABELS}),
    "namespaces": _wide("v1", "namespaces", "Namespace", "{ns}-two"),
    "nodes": _wide("v1", "nodes", "Node"),
    "persistentvolumes": _wide(
        "v1",
        "persistentvolumes",
        "PersistentVolume",
        spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}},
    ),
    "controllerrevisions": _sample("apps/v1", "controllerrevisions", "ControllerRevision", data={"a": 1}, revision=1),
    "daemonsets": _sample("apps/v1", "daemonsets", "DaemonSet", spec={"selector": SELECTOR, "template": TEMPLATE}),
    "deployments": _sample("apps/v1", "deployments", "Deployment", spec={"selector": SELECTOR, "template": TEMPLATE}),
    "replicasets": _sample("apps/v1", "replicasets", "ReplicaSet", spec={"selector": SELECTOR, "template": TEMPLATE}),
    "statefulsets": _sample(
        "apps/v1",
        "statefulsets",
        "StatefulSet",
        spec={
            "serviceName": "one",
            "selector": SELECTOR,
            "template": TEMPLATE,
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": _CLAIM}],
        },
    ),
    "horizontalpodautoscalers": _sample(
        "autoscaling/v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        spec={"scaleTargetRef": _TARGET, "maxReplicas": 3, "metrics": [_METRIC]},
    ),
    "horizontalpodautoscalers v1": _sample(
        "autoscaling/v1",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        spec={"scaleTargetRef": _TARGET, "maxReplicas": 3, "targetCPUUtilizationPercentage": 70},
    ),
    "jobs": _sample("batch/v1", "jobs", "Job", spec=_JOB),
    "cronjobs": _sample(
        "batch/v1", "cronjobs", "CronJob", spec={"schedule": "*/5 * * * *", "jobTemplate": {"spec": _JOB}}
    ),
    "leases": _sample(
        "coordination.k8s.io/v1",
        "leases",
        "Lease",
        spec={"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-02T03:04:05.000006Z"},
    ),
    "endpointslices": _sample(
        "discovery.k8s.io/v1",
        "endpointslices",
        "EndpointSlice",
        addressType="IPv4",
        endpoints=[{"addresses": ["10.1.2.3"]}],
        ports=[{"port": 80}],
    ),
    "events of events.k8s.io": _sample(
        "events.k8s.io/v1",
        "events",
        "Event",
        regarding={"kind": "Pod", "namespace": "{ns}", "name": "one"},
        reason="Tried",
        action="Trying",
        note="it was tried",
        type="Normal",
        eventTime="2026-01-02T03:04:05.000006Z",
        reportingController="example.com/tries",
        reportingInstance="one",
    ),
    "ingresses": _sample(
        "networking.k8s.io/v1", "ingresses", "Ingress", spec={"rules": [{"host": "h.io", "http": {"paths": _PATHS}}]}
    ),
    "ingressclasses": _wide(
        "networking.k8s.io/v1", "ingressclasses", "IngressClass", spec={"controller": "example.com/ingress"}
    ),
    "networkpolicies": _sample(
        "networking.k8s.io/v1",
        "networkpolicies",
        "NetworkPolicy",
        spec={"podSelector": SELECTOR, "ingress": [{"ports": [{"port": 80}]}], "egress": []},
    ),
    "poddisruptionbudgets": _sample(
        "policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", spec={"minAvailable": 1, "selector": SELECTOR}
    ),
    "roles": _sample("rbac.authorization.k8s.io/v1", "roles", "Role", rules=_RULES),
    "rolebindings": _sample(
        "rbac.authorization.k8s.io/v1",
        "rolebindings",
        "RoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one"},
        subjects=[{"kind": "User", "name": "jane"}, {"kind": "ServiceAccount", "name": "bot", "namespace": "{ns}"}],
    ),
    "clusterroles": _wide("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", rules=_RULES),
    "clusterrolebindings": _wide(
        "rbac.authorization.k8s.io/v1",
        "clusterrolebindings",
        "ClusterRoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "{ns}"},
        subjects=[{"kind": "Group", "name": "people"}],
    ),
    "priorityclasses": _wide("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", value=10),
    "storageclasses": _wide("storage.k8s.io/v1", "storageclasses", "StorageClass", provisioner="example.com/disk"),
    "mutatingwebhookconfigurations": _wide(
        "admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        webhooks=[_HOOK],
    ),
    "validatingwebhookconfigurations": _wide(
        "admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        webhooks=[_HOOK],
    ),
    "validatingadmissionpolicies": _wide(
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        spec={"matchConstraints": _MATCH, "validations": [{"expression": "object.metadata.name != 'x'"}]},
    ),
    "validatingadmissionpolicybindings": _wide(
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        spec={"policyName": "{ns}", "validationActions": ["Deny"]},
    ),
    "customresourcedefinitions": _wide(
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        "xs.{ns}.example.com",
        spec={
            "group": "{ns}.example.com",
            "scope": "Namespaced",
            "names": {"plural": "xs", "kind": "X"},
            "versions": [_VERSION],
        },
    ),
}
"""By plural."""
