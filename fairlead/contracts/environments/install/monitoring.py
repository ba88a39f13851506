"""What makes a Prometheus and a Grafana look at the operator of environments."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.environments.install.values import CHART, NAME, Values, labels, selector_labels
from fairlead.engine.charts import MONITORING, Object, data_of, text_of


def objects(values: Values) -> Iterator[Object]:
    """PodMonitor, since the Service is for the webhook alone; PrometheusRule; the dashboard in a ConfigMap."""
    metadata = {"name": NAME, "namespace": values.namespace, "labels": labels()}
    yield {
        "apiVersion": MONITORING,
        "kind": "PodMonitor",
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": selector_labels()},
            "podMetricsEndpoints": [{"port": "metrics", "path": "/metrics", "scheme": "http"}],
        },
    }
    yield {
        "apiVersion": MONITORING,
        "kind": "PrometheusRule",
        "metadata": metadata,
        "spec": data_of(CHART, "alerts.yaml", {"NAMESPACE": values.namespace}),
    }
    shown = {**labels(), "grafana_dashboard": "1"}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**metadata, "name": f"{NAME}-dashboard", "labels": shown},
        "data": {f"{NAME}.json": text_of(CHART, "dashboard.json")},
    }
