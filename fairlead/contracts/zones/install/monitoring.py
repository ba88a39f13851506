"""What makes a Prometheus and a Grafana look at the operator."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.zones.install.values import CHART, NAME, Values, labels, selector_labels
from fairlead.engine.charts import MONITORING, Object, data_of, text_of


def objects(values: Values) -> Iterator[Object]:
    """ServiceMonitor, PrometheusRule, and the dashboard in a ConfigMap."""
    metadata = {"name": NAME, "namespace": values.namespace, "labels": labels()}
    yield {
        "apiVersion": MONITORING,
        "kind": "ServiceMonitor",
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": selector_labels()},
            "endpoints": [{"port": "http-metrics", "path": "/metrics", "scheme": "http"}],
        },
    }
    names = {"NAMESPACE": values.namespace, "SERVICE": NAME}
    yield {
        "apiVersion": MONITORING,
        "kind": "PrometheusRule",
        "metadata": metadata,
        "spec": data_of(CHART, "alerts.yaml", names),
    }
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{NAME}-dashboard",
            "namespace": values.namespace,
            "labels": {**labels(), "grafana_dashboard": "1"},
        },
        "data": {f"{NAME}.json": text_of(CHART, "dashboard.json")},
    }
