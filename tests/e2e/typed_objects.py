"""Sound objects of built-in kinds, with fields of every type, and random mistakes in them."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from msgspec import Struct

Tree = dict[str, Any]

_POD: Tree = {
    "containers": [
        {
            "name": "main",
            "image": "app:1",
            "args": ["--a", "--b"],
            "env": [
                {"name": "A", "value": "x"},
                {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
            ],
            "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
            "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}},
            "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 3},
            "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": True}],
            "securityContext": {"runAsUser": 1, "capabilities": {"drop": ["ALL"]}},
        }
    ],
    "volumes": [
        {"name": "config", "configMap": {"name": "settings", "items": [{"key": "a", "path": "b"}]}},
        {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
    ],
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
            ]
        }
    },
    "terminationGracePeriodSeconds": 10,
    "serviceAccountName": "default",
    "automountServiceAccountToken": False,
}
_TEMPLATE: Tree = {"metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}}, "spec": _POD}
_SELECTOR: Tree = {"matchLabels": {"app": "web"}}
_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1-2", "controller": True}


def _of(path: str, kind: str, **fields: Any) -> tuple[str, Tree]:
    version = path.removeprefix("/apis/").rpartition("/namespaces/")[0] if "/namespaces/" in path else ""
    version = version or path.removeprefix("/apis/").removeprefix("/api/").rpartition("/")[0]
    metadata = {"name": "it", "labels": {"app": "web"}, "ownerReferences": [_OWNER]}
    return path, {"apiVersion": version.removeprefix("/api/"), "kind": kind, "metadata": metadata, **fields}


def objects(namespace: str) -> list[tuple[str, Tree]]:
    """The paths under which objects are created, and an object for each."""
    core, apps = f"/api/v1/namespaces/{namespace}", f"/apis/apps/v1/namespaces/{namespace}"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    hook: Tree = {
        "name": "one.example.com",
        "clientConfig": {"url": "https://example.com/"},
        "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["its"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5, "default": 1}}}
        },
    }
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "its", "kind": "It", "singular": "it", "shortNames": ["i"]}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    definition = _of(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "CustomResourceDefinition",
        spec={"group": "example.com", "scope": "Namespaced", "names": names, "versions": [served]},
    )
    definition[1]["metadata"]["name"] = "its.example.com"
    return [
        _of(f"{core}/pods", "Pod", spec=_POD),
        _of(f"{core}/configmaps", "ConfigMap", data={"a": "b"}, binaryData={"c": "YQ=="}, immutable=False),
        _of(f"{core}/secrets", "Secret", data={"a": "YQ=="}, stringData={"b": "c"}, type="Opaque"),
        _of(
            f"{core}/services",
            "Service",
            spec={"ports": [{"name": "http", "port": 80, "targetPort": 8080}], "selector": {"app": "web"}},
        ),
        _of("/api/v1/nodes", "Node", spec={"taints": [{"key": "a", "effect": "NoSchedule"}], "unschedulable": True}),
        _of(
            f"{core}/events",
            "Event",
            involvedObject={"kind": "Pod", "namespace": namespace, "name": "web"},
            reason="Seen",
            message="it was",
            firstTimestamp="2030-01-01T00:00:00Z",
            count=1,
            type="Normal",
        ),
        _of(
            f"{apps}/deployments",
            "Deployment",
            spec={
                "replicas": 0,
                "selector": _SELECTOR,
                "template": _TEMPLATE,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 1}},
            },
        ),
        _of(
            f"{apps}/statefulsets",
            "StatefulSet",
            spec={
                "replicas": 0,
                "serviceName": "web",
                "selector": _SELECTOR,
                "template": _TEMPLATE,
                "volumeClaimTemplates": [claim],
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
            },
        ),
        _of(
            f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
            "PodDisruptionBudget",
            spec={"minAvailable": "50%", "selector": _SELECTOR},
        ),
        _of(
            f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers",
            "HorizontalPodAutoscaler",
            spec={
                "scaleTargetRef": target,
                "minReplicas": 1,
                "maxReplicas": 3,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "1500m"}},
                    }
                ],
            },
        ),
        _of(
            f"/apis/batch/v1/namespaces/{namespace}/jobs",
            "Job",
            spec={
                "completions": 1,
                "suspend": True,
                "manualSelector": True,
                "selector": _SELECTOR,
                "template": {**_TEMPLATE, "spec": {**_POD, "restartPolicy": "Never"}},
            },
        ),
        _of(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles", "Role", rules=[rule]),
        _of(
            f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies",
            "NetworkPolicy",
            spec={
                "podSelector": _SELECTOR,
                "ingress": [{"ports": [{"port": 80, "protocol": "TCP"}], "from": [{"podSelector": {}}]}],
            },
        ),
        _of(
            f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases",
            "Lease",
            spec={"holderIdentity": "me", "leaseDurationSeconds": 5, "renewTime": "2030-01-01T00:00:00.000000Z"},
        ),
        definition,
        _of(
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            "ValidatingWebhookConfiguration",
            webhooks=[hook],
        ),
    ]


class Mistake(Struct, frozen=True):
    """An object with a mistake in it, and in words where."""

    tree: Tree
    body: bytes
    said: str


_MEANINGFUL = ("image",)
"""Texts that the server looks into when it fills in what is absent."""
_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.5,
    2**40,
    "",
    "a",
    "5",
    "1Gi",
    [],
    {},
    ["a"],
    [None],
    {"a": "b"},
    [1],
]
_QUANTITIES = ["1000m", "0.5", "1024Mi", "1.5Gi", 2, 0.1, "1e3", "0", "+5", "1.500", "100n", "0.0001", "12E", "-1", ""]
_TIMES = [
    "2030-01-01T01:00:00+01:00",
    "2030-01-01T00:00:00.5Z",
    "2030-02-30T00:00:00Z",
    "2030-01-01",
    "0001-01-01T00:00:00Z",
]
_DATA = ["YQ==", "YQ", "YR==", "a=b", "", "YWI=", "Y\nQ==", "====", "YQ==x"]


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(tree, dict):
        items: Any = tree.items()
    else:
        items = enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        if path or key not in ("apiVersion", "kind"):
            found += _places(value, (*path, key))
    return found


def _special(path: tuple[Any, ...]) -> list[Any] | None:
    """Values of particular interest at a place."""
    if {"requests", "limits"} & {*path[:-1]} or path[-1] in ("sizeLimit", "averageValue"):
        return _QUANTITIES
    if str(path[-1]).endswith(("Timestamp", "Time")):
        return _TIMES
    return _DATA if path[0] in ("data", "binaryData") and len(path) > 1 else None


def a_mistake(draw: random.Random, sound: Tree) -> Mistake:
    """One change somewhere in the object, which may turn out to be none."""
    tree = copy.deepcopy(sound)
    places = [each for each in _places(tree) if each[-1] not in _MEANINGFUL]
    path = draw.choice(places)
    special = [each for each in places if _special(each)]
    if special and draw.random() < 0.2:
        path = draw.choice(special)
    parent: Any = tree
    for word in path[:-1]:
        parent = parent[word]
    value = parent[path[-1]]
    kind = draw.choice(("value", "value", "value", "null", "unknown", "twice", "empty"))
    body: bytes | None = None
    if kind == "unknown" and isinstance(value, dict):
        value["odd"] = draw.choice(_VALUES)
    elif kind == "twice" and isinstance(parent, dict):
        marked = json.dumps(value)
        parent[path[-1]] = "@@"
        key = json.dumps(path[-1])
        body = json.dumps(tree).replace(f'{key}: "@@"', f"{key}: {marked}, {key}: {marked}").encode()
        parent[path[-1]] = value
    elif kind == "null":
        parent[path[-1]] = None
    elif kind == "empty":
        parent[path[-1]] = type(value)()
    else:
        parent[path[-1]] = draw.choice(_special(path) or _VALUES)
    where = ".".join(map(str, path))
    return Mistake(tree, body or json.dumps(tree).encode(), f"{kind} {where} {parent[path[-1]]!r}"[:200])
