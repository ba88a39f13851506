"""What makes a Prometheus and a Grafana look at the operator."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.leaderworker.install.values import (
    CHART,
    METRICS_SERVICE,
    NAME,
    OPERATOR,
    Values,
    labels,
    pod_labels,
)
from fairlead.engine.charts import MONITORING, Object, data_of, text_of

TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105  the path of one


def objects(values: Values) -> Iterator[Object]:
    """ServiceMonitor, PrometheusRule, and the dashboard in a ConfigMap."""
    endpoint = {
        "path": "/metrics",
        "port": "https",
        "scheme": "https",
        "bearerTokenFile": TOKEN,
        "tlsConfig": {"insecureSkipVerify": True},
    }
    yield {
        "apiVersion": MONITORING,
        "kind": "ServiceMonitor",
        "metadata": _metadata(values, f"{OPERATOR}-metrics-monitor", {"control-plane": "controller-manager"}),
        "spec": {"endpoints": [endpoint], "selector": {"matchLabels": pod_labels()}},
    }
    names = {"NAMESPACE": values.namespace, "SERVICE": METRICS_SERVICE}
    yield {
        "apiVersion": MONITORING,
        "kind": "PrometheusRule",
        "metadata": _metadata(values, OPERATOR),
        "spec": data_of(CHART, "alerts.yaml", names),
    }
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(values, f"{NAME}-dashboard", {"grafana_dashboard": "1"}),
        "data": {f"{NAME}.json": text_of(CHART, "dashboard.json")},
    }


def _metadata(values: Values, name: str, more: dict[str, str] | None = None) -> Object:
    return {"name": name, "namespace": values.namespace, "labels": {**(more or {}), **labels()}}
