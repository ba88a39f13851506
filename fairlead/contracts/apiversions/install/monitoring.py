"""What makes a Prometheus and a Grafana look at the operator."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.apiversions.install.values import (
    CHART,
    METRICS_SERVICE,
    NAME,
    OF_METRICS,
    PROBE_PORT,
    Values,
    named,
    selector_labels,
)
from fairlead.contracts.apiversions.install.workload import PROBES
from fairlead.engine.charts import MONITORING, Object, data_of, text_of


def objects(values: Values) -> Iterator[Object]:
    """A Service with its ServiceMonitor, a PrometheusRule, and the dashboard in a ConfigMap."""
    port = {"name": "metrics", "port": PROBE_PORT, "protocol": "TCP", "targetPort": PROBES}
    spec: Object = {"ports": [port], "selector": selector_labels()}
    yield _made("v1", "Service", named(values, METRICS_SERVICE, OF_METRICS), spec)
    spec = {"endpoints": [{"path": "/metrics", "port": "metrics"}]}
    spec["selector"] = {"matchLabels": {**selector_labels(), **OF_METRICS}}
    yield _made(MONITORING, "ServiceMonitor", named(values, NAME), spec)
    rules = data_of(CHART, "alerts.yaml", {"NAMESPACE": values.namespace, "SERVICE": METRICS_SERVICE})
    yield _made(MONITORING, "PrometheusRule", named(values, NAME), rules)
    held = {f"{NAME}.json": text_of(CHART, "dashboard.json")}
    shown = named(values, f"{NAME}-dashboard", {"grafana_dashboard": "1"})
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": shown, "data": held}


def _made(version: str, kind: str, metadata: Object, spec: Object) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
