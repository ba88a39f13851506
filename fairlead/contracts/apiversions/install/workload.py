"""The operator's pods, and how they are reached."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.apiversions.install.values import (
    CHART,
    NAME,
    PROBE_PORT,
    SERVICE,
    WEBHOOK_PORT,
    Values,
    named,
    selector_labels,
)
from fairlead.engine.charts import Object, chart_values

WEBHOOKS, PROBES = "webhook-server", "probes"
"""Names of the ports of a pod."""


def objects(values: Values) -> Iterator[Object]:
    selector = {"matchLabels": selector_labels()}
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": named(values, SERVICE),
        "spec": {
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": WEBHOOKS}],
            "selector": selector_labels(),
        },
    }
    if values.network_policy:
        yield _network_policy(values)
    template = {"metadata": {"labels": selector_labels()}, "spec": _pod(values)}
    yield {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": named(values, NAME),
        "spec": {"replicas": values.replicas, "selector": selector, "template": template},
    }
    if values.replicas > 1:
        yield {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": named(values, NAME),
            "spec": {"maxUnavailable": 1, "selector": selector},
        }


def words(values: Values) -> list[str]:
    """What the operator is started with."""
    return [
        "operator",
        "--parts=apiversions",
        f"--port={PROBE_PORT}",
        f"--webhook-port={WEBHOOK_PORT}",
        f"--webhook-service-name={SERVICE}",
        f"--webhook-service-namespace={values.namespace}",
        f"--webhook-cert-source={values.source}",
        f"--webhook-secret={values.secret}",
        f"--migrate-storage={chart_values(CHART)['operator']['migrateStorage']}",
    ]


def _pod(values: Values) -> Object:
    chart = chart_values(CHART)
    nearby = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": selector_labels()}}
    preferred = [{"weight": 100, "podAffinityTerm": nearby}]
    return {
        "serviceAccountName": NAME,
        "terminationGracePeriodSeconds": chart["terminationGracePeriodSeconds"],
        "securityContext": chart["podSecurityContext"],
        "containers": [_container(values, chart)],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
    }


def _container(values: Values, chart: Object) -> Object:
    ports = ((WEBHOOKS, WEBHOOK_PORT), (PROBES, PROBE_PORT))
    return {
        "name": NAME,
        "command": [NAME],
        "args": words(values),
        "env": [_field("POD_NAME", "name"), _field("POD_NAMESPACE", "namespace")],
        "image": values.image,
        "imagePullPolicy": chart["image"]["pullPolicy"],
        "securityContext": chart["securityContext"],
        "ports": [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": PROBES}, "periodSeconds": 2},
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": PROBES},
            "initialDelaySeconds": 15,
            "periodSeconds": 20,
        },
        "resources": chart["resources"],
    }


def _field(name: str, field: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.{field}"}}}


def _network_policy(values: Values) -> Object:
    ports = [{"port": name, "protocol": "TCP"} for name in (WEBHOOKS, PROBES)]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": named(values, NAME),
        "spec": {
            "podSelector": {"matchLabels": selector_labels()},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": ports}],
        },
    }
