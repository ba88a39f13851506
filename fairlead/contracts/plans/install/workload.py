"""The operator's pods, and how they are reached (section 2.17)."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.plans.install.values import (
    ADMISSION,
    CHART,
    METRICS_PORT,
    METRICS_SERVICE,
    NAME,
    OF_METRICS,
    PROBE_PORT,
    WEBHOOK_PORT,
    WEBHOOK_SERVICE,
    Values,
    metadata,
    selector_labels,
)
from fairlead.engine.charts import Object, chart_values


def services(values: Values) -> Iterator[Object]:
    if values.webhooks:
        port: Object = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": WEBHOOK_PORT}
        yield _service(values, WEBHOOK_SERVICE, {}, port)
    if values.monitoring:
        port = {"name": "metrics", "port": METRICS_PORT, "protocol": "TCP", "targetPort": METRICS_PORT}
        yield _service(values, METRICS_SERVICE, OF_METRICS, port)


def _service(values: Values, name: str, more: dict[str, str], port: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(values, name, more),
        "spec": {"ports": [port], "selector": selector_labels()},
    }


def deployment(values: Values) -> Object:
    chart = chart_values(CHART)
    nearby = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": selector_labels()}}
    preferred = [{"weight": 100, "podAffinityTerm": nearby}]
    pod = {
        "serviceAccountName": NAME,
        "securityContext": chart["podSecurityContext"],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
        "containers": [_container(values, chart)],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(values, NAME),
        "spec": {
            "replicas": values.replicas,
            "selector": {"matchLabels": selector_labels()},
            "template": {"metadata": {"labels": selector_labels()}, "spec": pod},
        },
    }


def _container(values: Values, chart: Object) -> Object:
    return {
        "name": NAME,
        "command": ["vela-core"],
        "args": words(values),
        "image": values.image,
        "imagePullPolicy": chart["image"]["pullPolicy"],
        "securityContext": chart["securityContext"],
        "ports": [_port(*each) for each in _ports(values)],
        "readinessProbe": _probe("/readyz", 5, 5),
        "livenessProbe": _probe("/healthz", 15, 20),
        "resources": chart["resources"],
    }


def words(values: Values) -> list[str]:
    """What the program is started with."""
    chart = chart_values(CHART)
    return [
        f"--metrics-addr=:{METRICS_PORT}",
        f"--health-addr=:{PROBE_PORT}",
        "--enable-leader-election",
        f"--system-definition-namespace={values.namespace}",
        f"--application-revision-limit={chart['applicationRevisionLimit']}",
        f"--concurrent-reconciles={chart['concurrentReconciles']}",
        f"--revision-limit={chart['fairlead']['revisionLimit']}",
        *(_webhook_words() if values.webhooks else []),
        *([f"--metrics-server={values.metrics_server}"] if values.metrics_server else []),
        *([f"--mesh-provider={values.mesh_provider}"] if values.mesh_provider else []),
    ]


def _webhook_words() -> list[str]:
    return [
        "--use-webhook",
        f"--webhook-port={WEBHOOK_PORT}",
        f"--webhook-secret={ADMISSION}",
        f"--webhook-service={WEBHOOK_SERVICE}",
    ]


def _ports(values: Values) -> Iterator[tuple[str, int]]:
    if values.webhooks:
        yield "webhook-server", WEBHOOK_PORT
    yield "healthz", PROBE_PORT
    yield "metrics", METRICS_PORT


def _port(name: str, number: int) -> Object:
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def _probe(path: str, delay: int, period: int) -> Object:
    return {
        "httpGet": {"path": path, "port": "healthz"},
        "initialDelaySeconds": delay,
        "periodSeconds": period,
    }


def network_policy(values: Values) -> Object:
    """Nothing is said of what the pods reach: hooks, Prometheus and chats are where plans say."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(values, NAME),
        "spec": {
            "podSelector": {"matchLabels": selector_labels()},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"port": name, "protocol": "TCP"} for name, _ in _ports(values)]}],
        },
    }
