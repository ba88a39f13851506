"""Builders of objects of built-in kinds, for comparing what two clusters make of them; what is not said is sound."""

from __future__ import annotations

from typing import Any

Tree = dict[str, Any]


def an(kind: str, name: str = "it", version: str = "v1", **fields: Any) -> Tree:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def a_container(name: str = "main", **fields: Any) -> Tree:
    return {"name": name, "image": "app:1", **fields}


def a_pod(*containers: Tree, metadata: Tree | None = None, **spec: Any) -> Tree:
    return an("Pod", metadata=metadata or {}, spec={"containers": list(containers) or [a_container()], **spec})


def with_main(**fields: Any) -> Tree:
    """A pod whose only container has these fields."""
    return a_pod(a_container(**fields))


def a_template(*containers: Tree, labels: Tree | None = None, **spec: Any) -> Tree:
    return {
        "metadata": {"labels": labels or {"app": "web"}},
        "spec": {"containers": list(containers) or [a_container()], **spec},
    }


SELECTOR = {"matchLabels": {"app": "web"}}


def a_workload(kind: str, *, version: str = "apps/v1", template: Tree | None = None, **spec: Any) -> Tree:
    return an(kind, version=version, spec={"selector": SELECTOR, "template": template or a_template(), **spec})


def a_stateful_set(**spec: Any) -> Tree:
    return a_workload("StatefulSet", **{"serviceName": "web", **spec})


def a_job(template: Tree | None = None, **spec: Any) -> Tree:
    made = template or {"spec": {"restartPolicy": "Never", "containers": [a_container()]}}
    return an("Job", version="batch/v1", spec={"template": made, **spec})


def a_cron_job(schedule: str = "0 * * * *", **spec: Any) -> Tree:
    return an(
        "CronJob", version="batch/v1", spec={"schedule": schedule, "jobTemplate": {"spec": a_job()["spec"]}, **spec}
    )


def a_service(*ports: Tree, **spec: Any) -> Tree:
    return an("Service", spec={"ports": list(ports) or [{"port": 80}], "selector": {"app": "web"}, **spec})


def a_claim(**spec: Any) -> Tree:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return an("PersistentVolumeClaim", spec=wanted | spec)


def a_volume(**spec: Any) -> Tree:
    offered = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    return an("PersistentVolume", spec=offered | spec)


def an_autoscaler(version: str = "autoscaling/v2", **spec: Any) -> Tree:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return an("HorizontalPodAutoscaler", version=version, spec={"scaleTargetRef": target, "maxReplicas": 3, **spec})


def a_budget(**spec: Any) -> Tree:
    return an("PodDisruptionBudget", version="policy/v1", spec={"selector": SELECTOR, **spec})


def an_ingress(*rules: Tree, **spec: Any) -> Tree:
    return an("Ingress", version="networking.k8s.io/v1", spec={"rules": list(rules), **spec} if rules else spec)


def a_path(path: str = "/", kind: str | None = "Prefix", **service: Any) -> Tree:
    backend = {"service": {"name": "web", "port": {"number": 80}, **service}}
    return {"path": path, "backend": backend} | ({"pathType": kind} if kind else {})


def a_policy(**spec: Any) -> Tree:
    return an("NetworkPolicy", version="networking.k8s.io/v1", spec={"podSelector": {}, **spec})


def a_slice(**fields: Any) -> Tree:
    return an("EndpointSlice", version="discovery.k8s.io/v1", **{"addressType": "IPv4", "endpoints": [], **fields})


VOLUMES = [
    {"name": "empty"},
    {"name": "map", "configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]}},
    {"name": "secret", "secret": {"secretName": "s"}},
    {"name": "host", "hostPath": {"path": "/x"}},
    {"name": "iscsi", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", "lun": 0}},
    {"name": "rbd", "rbd": {"monitors": ["m"], "image": "i"}},
    {"name": "azure", "azureDisk": {"diskName": "d", "diskURI": "https://x.blob.core.windows.net/d"}},
    {"name": "sio", "scaleIO": {"gateway": "g", "system": "s", "secretRef": {"name": "s"}, "volumeName": "v"}},
    {"name": "down", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    {
        "name": "all",
        "projected": {
            "sources": [
                {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                {"serviceAccountToken": {"path": "token"}},
                {"configMap": {"name": "m"}},
            ]
        },
    },
    {
        "name": "scratch",
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            }
        },
    },
]
BUSY = a_container(
    ports=[{"containerPort": 80, "name": "http"}, {"containerPort": 53, "protocol": "UDP"}],
    livenessProbe={"httpGet": {"port": "http"}},
    readinessProbe={"grpc": {"port": 90}, "periodSeconds": 5},
    startupProbe={"exec": {"command": ["true"]}},
    lifecycle={"preStop": {"httpGet": {"port": 80}}, "postStart": {"exec": {"command": ["a"]}}},
    env=[
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "PLAIN", "value": "1"},
    ],
    envFrom=[{"configMapRef": {"name": "m"}}],
    resources={"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
    volumeMounts=[{"name": "empty", "mountPath": "/empty"}, {"name": "map", "mountPath": "/map", "readOnly": True}],
    securityContext={"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}},
)
FULL: Tree = {
    "volumes": VOLUMES,
    "initContainers": [
        a_container("first"),
        a_container("side", restartPolicy="Always", livenessProbe={"tcpSocket": {"port": 1}}),
    ],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
            }
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": SELECTOR}}
            ]
        },
    },
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR}
    ],
    "nodeSelector": {"a": "b"},
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a.b"]}],
    "dnsConfig": {"nameservers": ["1.1.1.1"], "options": [{"name": "ndots", "value": "2"}]},
    "imagePullSecrets": [{"name": "pull"}],
}
