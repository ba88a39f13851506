"""The operator's pods, how the API server reaches them, and how many may go at once."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.environments.install.arguments import arguments
from fairlead.contracts.environments.install.values import (
    ACCOUNT,
    CHART,
    METRICS_PORT,
    NAME,
    REPLICAS,
    WEBHOOK_PORT,
    Values,
    labels,
    selector_labels,
)
from fairlead.engine.charts import Object, chart_values

ENDING_SECONDS = 30
USER = 65532
KEY_MODE = 0o400


def deployment(values: Values) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(values),
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": selector_labels()},
            # Conversions are answered throughout; the Lease sees to it that one acts.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": selector_labels()}, "spec": _pod(values)},
        },
    }


def _pod(values: Values) -> dict[str, Any]:
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": selector_labels()}}
    preferred = [{"weight": 100, "podAffinityTerm": apart}]
    secret = {"secretName": values.certificate, "defaultMode": KEY_MODE, "optional": False}
    return {
        "serviceAccountName": ACCOUNT,
        "automountServiceAccountToken": True,
        "terminationGracePeriodSeconds": ENDING_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,  # lets the program read the key
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(values)],
        "volumes": [
            {"name": "certificate", "secret": secret},
            {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}},
        ],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
    }


def _container(values: Values) -> dict[str, Any]:
    return {
        "name": NAME,
        "image": values.image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "command": ["orchestratord"],
        "args": arguments(values),
        "ports": [
            {"name": "webhook", "containerPort": WEBHOOK_PORT, "protocol": "TCP"},
            {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
        ],
        "readinessProbe": _probe("/healthz", 1),
        "livenessProbe": _probe("/livez", 3),
        "resources": chart_values(CHART)["operator"]["resources"],
        "volumeMounts": [
            {"name": "certificate", "mountPath": "/etc/tls", "readOnly": True},
            {"name": "memory", "mountPath": "/tmp"},  # noqa: S108  of the pod, in memory
        ],
    }


def _probe(path: str, failures: int) -> dict[str, Any]:
    asked = {"path": path, "port": "webhook", "scheme": "HTTPS"}
    return {"httpGet": asked, "periodSeconds": 10, "failureThreshold": failures}


def service(values: Values) -> Object:
    port = {"name": "webhook", "port": WEBHOOK_PORT, "protocol": "TCP", "targetPort": WEBHOOK_PORT}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(values),
        "spec": {"type": "ClusterIP", "selector": selector_labels(), "ports": [port]},
    }


def budget(values: Values) -> Object:
    """One that does not work holds back no drain."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(values),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": selector_labels()},
        },
    }


def _metadata(values: Values) -> dict[str, Any]:
    return {"name": NAME, "namespace": values.namespace, "labels": labels()}
