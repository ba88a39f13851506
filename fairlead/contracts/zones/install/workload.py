"""The operator's pods, how they are reached and what they may reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.zones.install.values import METRICS_PORT, NAME, WEBHOOK_PORT, Values, labels, selector_labels
from fairlead.engine.charts import Object

ENDING_SECONDS = 20
"""At the end of a process, beside the time of a webhook request: draining, undoing, the last traces."""
REPLICAS = 2
"""With high availability: one acts, both answer webhooks."""


def program(values: Values) -> tuple[list[str], list[str]]:
    """Command and arguments: the contract's process where it is alone and does what that does, else the other."""
    if values.high_availability or values.phased_deployments:
        return ["fairlead", "operator"], list(_words(values))
    return ["rollout-operator"], list(_flags(values))


def _flags(values: Values) -> Iterator[str]:
    yield f"-kubernetes.namespace={values.namespace}"
    if values.webhooks:
        yield "-server-tls.enabled=true"
        yield f"-server-tls.request-timeout={values.timeout_seconds}s"
        yield f"-server-tls.self-signed-cert.secret-name={values.secret}"
        yield f"-server-tls.self-signed-cert.dns-name={values.host}"
    if values.zone_tracker:
        yield "-use-zone-tracker=true"
        yield f"-zone-tracker.config-map-name={values.zone_tracker}"


def _words(values: Values) -> Iterator[str]:
    yield "--parts=zones"
    yield f"--namespace={values.namespace}"
    yield f"--port={METRICS_PORT}"
    if not values.high_availability:
        yield "--no-lease"
    if values.webhooks:
        yield "--webhooks"
        yield f"--webhooks-port={WEBHOOK_PORT}"
        yield f"--webhooks-timeout={values.timeout_seconds}s"
        yield f"--certificate-secret={values.secret}"
        yield f"--certificate-dns-name={values.host}"
    if values.zone_tracker:
        yield f"--zone-tracker={values.zone_tracker}"
    if values.phased_deployments:
        yield "--phased-deployments"


def deployment(values: Values) -> Object:
    several = values.high_availability
    # Alone it has no Lease: two must never run at once. With a Lease the next one comes before the last one goes.
    rolling = {"maxSurge": 1, "maxUnavailable": 0} if several else {"maxSurge": 0, "maxUnavailable": 1}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(values),
        "spec": {
            "replicas": REPLICAS if several else 1,
            "revisionHistoryLimit": 10,
            "minReadySeconds": 10,
            "selector": {"matchLabels": selector_labels()},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            "template": {"metadata": {"labels": selector_labels()}, "spec": _pod(values)},
        },
    }


def _pod(values: Values) -> dict[str, Any]:
    pod: dict[str, Any] = {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": True,
        "terminationGracePeriodSeconds": values.timeout_seconds + ENDING_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(values)],
        # The key of the certificate passes through a file, which no disk is to keep.
        "volumes": [{"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}}],
    }
    if values.high_availability:
        spread = {"topologyKey": "kubernetes.io/hostname", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
        pod["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": selector_labels()}}]
    return pod


def _container(values: Values) -> dict[str, Any]:
    command, arguments = program(values)
    ports = [{"name": "http-metrics", "containerPort": METRICS_PORT, "protocol": "TCP"}]
    if values.webhooks:
        ports.append({"name": "https", "containerPort": WEBHOOK_PORT, "protocol": "TCP"})
    return {
        "name": NAME,
        "image": values.image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "command": command,
        "args": arguments,
        "ports": ports,
        "readinessProbe": {
            "httpGet": {"path": "/ready", "port": "http-metrics"},
            "periodSeconds": 5,
            "timeoutSeconds": 1,
        },
        "livenessProbe": {
            "httpGet": {"path": "/livez", "port": "http-metrics"},
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": 6,
        },
        "resources": {"limits": {"memory": "200Mi"}, "requests": {"cpu": "100m", "memory": "100Mi"}},
        "volumeMounts": [{"name": "memory", "mountPath": "/tmp"}],  # noqa: S108  of the pod, in memory
    }


def service(values: Values) -> Object:
    ports: list[dict[str, Any]] = [
        {"name": "http-metrics", "port": METRICS_PORT, "protocol": "TCP", "targetPort": "http-metrics"}
    ]
    if values.webhooks:
        ports.append({"name": "https", "port": 443, "protocol": "TCP", "targetPort": "https"})
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(values),
        "spec": {
            "type": "ClusterIP",
            # Webhooks are served before the operator is ready; with several replicas another one answers meanwhile.
            "publishNotReadyAddresses": not values.high_availability,
            "selector": selector_labels(),
            "ports": ports,
        },
    }


def budget(values: Values) -> Object:
    """Leaves one of the replicas when nodes are drained; one that does not work holds back no drain."""
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


def network_policy(values: Values) -> Object:
    # From anywhere: the API server is no pod, and its address is not known here.
    inwards = ["http-metrics", *(["https"] if values.webhooks else [])]
    names = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]
    api_server = [{"port": 443, "protocol": "TCP"}, {"port": 6443, "protocol": "TCP"}]
    pods: Object = {"to": [{"podSelector": {}}]}
    more: list[Object] = [
        {"to": [{"ipBlock": {"cidr": cidr}}], "ports": [{"port": port, "protocol": "TCP"}]}
        for cidr, port in values.egress
    ]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(values),
        "spec": {
            "podSelector": {"matchLabels": selector_labels()},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"ports": [{"port": port, "protocol": "TCP"} for port in inwards]}],
            "egress": [{"ports": names}, {"ports": api_server}, pods, *more],
        },
    }


def _metadata(values: Values) -> dict[str, Any]:
    return {"name": NAME, "namespace": values.namespace, "labels": labels()}
