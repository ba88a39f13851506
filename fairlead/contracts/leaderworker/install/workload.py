"""The operator's pods, how they are reached and what they may reach (section 2.17)."""

from __future__ import annotations

from fairlead.contracts.leaderworker.configuration import API_VERSION, KIND
from fairlead.contracts.leaderworker.install.values import (
    CHART,
    CONFIGURATION,
    METRICS_PORT,
    METRICS_SERVICE,
    OPERATOR,
    PROBE_PORT,
    SECRET,
    WEBHOOK_PORT,
    WEBHOOK_SERVICE,
    Values,
    labels,
    pod_labels,
)
from fairlead.contracts.leaderworker.options import CERTIFICATES
from fairlead.engine.charts import Object, chart_values, written

FILE = "controller_manager_config.yaml"
GRACE_SECONDS = 10


def configuration(values: Values) -> Object:
    tree: Object = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "leaderElection": {"leaderElect": True},
        "internalCertManagement": {"enable": True},
    }
    if values.gang_scheduler:
        tree["gangSchedulingManagement"] = {"schedulerProvider": values.gang_scheduler}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIGURATION, "namespace": values.namespace, "labels": labels()},
        "data": {FILE: written((tree,)).removeprefix("---\n")},
    }


def services(values: Values) -> tuple[Object, ...]:
    hooks = {"port": 443, "protocol": "TCP", "targetPort": WEBHOOK_PORT}
    metrics = {"name": "https", "port": METRICS_PORT, "protocol": "TCP", "targetPort": METRICS_PORT}
    return (
        _service(values, WEBHOOK_SERVICE, labels(), hooks),
        _service(values, METRICS_SERVICE, {"control-plane": "controller-manager", **labels()}, metrics),
    )


def _service(values: Values, name: str, its_labels: dict[str, str], port: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": values.namespace, "labels": its_labels},
        "spec": {"ports": [port], "selector": pod_labels()},
    }


def deployment(values: Values) -> Object:
    chart = chart_values(CHART)
    nearby = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": pod_labels()}}
    preferred = [{"weight": 100, "podAffinityTerm": nearby}]
    pod = {
        "serviceAccountName": OPERATOR,
        "securityContext": chart["podSecurityContext"],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "containers": [_container(values, chart)],
        "volumes": [
            {"name": "manager-config", "configMap": {"name": CONFIGURATION}},
            {"name": "cert", "secret": {"defaultMode": 420, "secretName": SECRET}},
        ],
    }
    annotations = {"kubectl.kubernetes.io/default-container": "manager"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": OPERATOR,
            "namespace": values.namespace,
            "labels": {"control-plane": "controller-manager", **labels()},
        },
        "spec": {
            "replicas": values.replicas,
            "selector": {"matchLabels": pod_labels()},
            "template": {"metadata": {"annotations": annotations, "labels": pod_labels()}, "spec": pod},
        },
    }


def _container(values: Values, chart: Object) -> Object:
    words = [f"--config=/{FILE}", "--zap-log-level=2"]
    if values.history_limit:
        words.append(f"--lws-revision-history-limit={values.history_limit}")
    if values.disruption_budgets:
        words.append("--lws-disruption-budgets")
    if values.eviction_webhook:
        words.append("--lws-eviction-webhook")
    return {
        "name": "manager",
        "command": ["/manager"],
        "args": words,
        "image": values.image,
        "imagePullPolicy": chart["image"]["manager"]["pullPolicy"],
        "securityContext": chart["securityContext"],
        "ports": [
            {"name": "webhook-server", "containerPort": WEBHOOK_PORT, "protocol": "TCP"},
            {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
        ],
        "livenessProbe": _probe("/healthz", 15, 20),
        "readinessProbe": _probe("/readyz", 5, 10),
        "resources": chart["resources"],
        "volumeMounts": [
            {"name": "manager-config", "subPath": FILE, "mountPath": f"/{FILE}"},
            {"name": "cert", "mountPath": CERTIFICATES, "readOnly": True},
        ],
    }


def _probe(path: str, delay: int, period: int) -> Object:
    return {
        "httpGet": {"path": path, "port": PROBE_PORT},
        "initialDelaySeconds": delay,
        "periodSeconds": period,
    }


def network_policy(values: Values) -> Object:
    """From anywhere: the API server is no pod, and its address is not known here."""

    def ports(*known: tuple[int | str, str]) -> Object:
        return {"ports": [{"port": port, "protocol": protocol} for port, protocol in known]}

    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": OPERATOR, "namespace": values.namespace, "labels": labels()},
        "spec": {
            "podSelector": {"matchLabels": pod_labels()},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [ports(("webhook-server", "TCP"), ("metrics", "TCP"), (PROBE_PORT, "TCP"))],
            "egress": [ports((53, "UDP"), (53, "TCP")), ports((443, "TCP"), (6443, "TCP"))],
        },
    }
