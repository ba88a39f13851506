"""Alerts and dashboard of environments speak of metrics that their operator has."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fairlead.contracts import chart_of
from fairlead.contracts.environments.metrics import EnvironmentMetrics, EnvironmentProgress
from fairlead.core.reason import Reason
from fairlead.engine.blocked_metric import NAME as BLOCKED
from fairlead.engine.charts import data_of, text_of
from fairlead.engine.controller import RolloutKey
from fairlead.engine.metrics import Metrics
from tests.contracts.environments.install.charts import NAME, NAMESPACE, container, render
from tests.contracts.zones.install.test_monitoring import FROM_THE_SCRAPE, alerts, base

DASHBOARD: dict[str, Any] = json.loads(text_of(chart_of("environments"), "dashboard.json"))
QUERIES = {f"alert {name}": rule["expr"] for name, rule in alerts(chart_of("environments")).items()} | {
    f"panel {panel['title']}": target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]
}
ENVIRONMENT = RolloutKey(("ns", "name"))
MONITORED = {each: {"enabled": True} for each in ("podMonitor", "prometheusRule", "dashboard")}


def metrics() -> dict[str, set[str]]:
    """Labels by name of what is told of environments after something of each kind has happened."""
    process = Metrics(lambda: 100.0)
    process.blocked.passed("environments", ENVIRONMENT, Reason.POD_STUCK)
    made = process.of(EnvironmentMetrics)
    made.stands(ENVIRONMENT, EnvironmentProgress(needs_update=True, reason="Applying", stalled_since=1.0))
    made.of("materialize").ended(ENVIRONMENT, 1.0, failed=False, at=1.0)
    made.decided("materialize", "roll")
    made.conversions.labels("success").inc()
    made.migrated.labels("success").inc()
    of_every_process = {family.name for family in Metrics().registry.collect()} - {BLOCKED}
    return {
        family.name: {label for one in family.samples for label in one.labels}
        for family in process.registry.collect()
        if family.name not in of_every_process
    }


@pytest.mark.parametrize("query", QUERIES)
def test_query_names_metrics_of_the_operator_with_their_labels(query: str) -> None:
    known = metrics()

    used = re.findall(r"\b((?:orchestratord|environmentd|fairlead)_\w+|up)\b\{([^}]*)\}", QUERIES[query])

    assert used
    for name, matchers in used:
        labels = set(re.findall(r"(\w+)\s*!?=", matchers))
        grouped = {label for by in re.findall(r"\bby \(([^)]*)\)", QUERIES[query]) for label in by.split(", ")}
        assert "namespace" in labels, "operators of other namespaces are not meant"
        if name != "up":
            assert (labels | grouped) - FROM_THE_SCRAPE <= known[base(name)], name


def test_every_metric_has_a_panel() -> None:
    shown = {
        base(name) for key, query in QUERIES.items() if key.startswith("panel") for name in re.findall(r"\w+", query)
    }

    assert metrics().keys() - shown == set()


def test_the_monitor_finds_the_port_of_the_pods() -> None:
    rendered = render(MONITORED)

    monitor = rendered["PodMonitor", NAME]["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    deployment = rendered["Deployment", NAME]["spec"]["template"]
    assert endpoint["port"] in {port["name"] for port in container(rendered)["ports"]}
    assert monitor["selector"]["matchLabels"].items() <= deployment["metadata"]["labels"].items()
    assert f'namespace="{NAMESPACE}"' in str(rendered["PrometheusRule", NAME]["spec"])
    assert "__NAMESPACE__" not in str(rendered["PrometheusRule", NAME]["spec"])
    assert container(rendered)["name"] in str(data_of(chart_of("environments"), "alerts.yaml"))


def test_nothing_is_monitored_unless_it_is_asked_for() -> None:
    assert not {"PodMonitor", "PrometheusRule", "ConfigMap"} & {kind for kind, _ in render({})}
