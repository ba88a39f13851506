"""What makes a Prometheus and a Grafana look at the operator."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.plans.install.values import (
    CHART,
    METRICS_SERVICE,
    NAME,
    OF_METRICS,
    Values,
    metadata,
    selector_labels,
)
from fairlead.engine.charts import MONITORING, Object, data_of, text_of


def objects(values: Values) -> Iterator[Object]:
    """ServiceMonitor, PrometheusRule, and the dashboard in a ConfigMap."""
    yield {
        "apiVersion": MONITORING,
        "kind": "ServiceMonitor",
        "metadata": metadata(values, NAME),
        "spec": {
            "endpoints": [{"path": "/metrics", "port": "metrics"}],
            "selector": {"matchLabels": {**selector_labels(), **OF_METRICS}},
        },
    }
    names = {"NAMESPACE": values.namespace, "SERVICE": METRICS_SERVICE}
    yield {
        "apiVersion": MONITORING,
        "kind": "PrometheusRule",
        "metadata": metadata(values, NAME),
        "spec": data_of(CHART, "alerts.yaml", names),
    }
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(values, f"{NAME}-dashboard", {"grafana_dashboard": "1"}),
        "data": {f"{NAME}.json": text_of(CHART, "dashboard.json")},
    }
