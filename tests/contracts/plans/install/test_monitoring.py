"""Alerts and dashboard of plans: their metrics are there, and every alert has its page in the runbooks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from fairlead.contracts.plans.install.values import CHART
from fairlead.contracts.plans.metrics import PlanMetrics
from fairlead.engine.charts import data_of, text_of
from fairlead.engine.metrics import Metrics

METRICS = {
    "up": None,
    "fairlead_rollout_blocked": {"part", "namespace", "rollout", "reason"},
    "fairlead_certificate_not_after_timestamp_seconds": {"server"},
    "fairlead_leader": {"part"},
    "fairlead_events_dropped_total": set(),
    "fairlead_plan_rollouts": {"kind", "rolling_state"},
    "fairlead_plan_transitions_total": {"kind", "from", "to", "event"},
    "fairlead_plan_current_batch": {"kind", "namespace", "name"},
    "fairlead_plan_replicas": {"kind", "namespace", "name", "which"},
    "fairlead_plan_traffic_weight": {"kind", "namespace", "name"},
    "fairlead_plan_metric_value": {"kind", "namespace", "name", "metric"},
    "fairlead_plan_hook_requests_total": {"type", "outcome"},
    "fairlead_plan_hook_seconds_bucket": {"le"},
    "fairlead_plan_notifications_total": {"provider", "outcome"},
}
"""Those that are spoken of, with their labels; None: of Prometheus itself."""
FROM_THE_SCRAPE = {"namespace", "service", "pod", "exported_namespace"}
ALERTS: dict[str, Any] = {
    rule["alert"]: rule for group in data_of(CHART, "alerts.yaml")["groups"] for rule in group["rules"]
}
PANELS: list[Any] = json.loads(text_of(CHART, "dashboard.json"))["panels"]
QUERIES = {
    **{f"alert {name}": rule["expr"] for name, rule in ALERTS.items()},
    **{f"panel {panel['title']}": target["expr"] for panel in PANELS for target in panel["targets"]},
}
RUNBOOKS = (Path(__file__).parents[4] / "docs" / "runbooks.md").read_text()


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_speaks_of_metrics_and_labels_that_there_are(query: str) -> None:
    text = QUERIES[query]
    spoken = re.findall(r"\b(up|fairlead_[a-z_]+)\{([^}]*)\}", text)

    assert spoken, text
    for metric, matchers in spoken:
        labels = METRICS[metric]
        named = set(re.findall(r"([a-z_]+)!?=", matchers))
        assert named <= FROM_THE_SCRAPE | (labels or set()), (metric, named)


def test_the_metrics_of_plans_have_these_names() -> None:
    metrics = Metrics()
    metrics.of(PlanMetrics)
    text = generate_latest(metrics.registry).decode()

    families = set(re.findall(r"^# TYPE (fairlead_plan_[a-z_]+) ", text, re.MULTILINE))
    assert families == {name.removesuffix("_bucket") for name in METRICS if name.startswith("fairlead_plan_")}


@pytest.mark.parametrize("name", ALERTS)
def test_every_alert_has_its_page(name: str) -> None:
    assert f"\n## {name}\n" in RUNBOOKS
    annotations = ALERTS[name]["annotations"]
    assert annotations["runbook"] == f"docs/runbooks.md#{name.lower()}"
    assert annotations["summary"].endswith(".")
    assert ALERTS[name]["labels"]["severity"] in ("warning", "critical")
