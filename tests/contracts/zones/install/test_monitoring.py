"""Alerts and dashboard speak of metrics that the operator has, and every alert has its page in the runbooks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.metrics import MetricWrapperBase

from fairlead.contracts import chart_of
from fairlead.contracts.zones.metrics import ZoneMetrics
from fairlead.engine.charts import data_of, text_of
from fairlead.engine.metrics import Metrics

EXPECTED = {
    "rollout_operator_pod_http_client_request_duration_seconds": ("path", "method", "status_code"),
    "rollout_operator_client_invalid_cluster_validation_label_requests": ("method", "protocol", "request_cluster"),
    "rollout_operator_server_invalid_cluster_validation_label_requests": (
        "protocol",
        "method",
        "cluster_validation_label",
        "request_cluster_validation_label",
    ),
    "rollout_operator_zpdb_configurations_observed": ("result",),
    "rollout_operator_zpdb_eviction_requests": ("reason", "status"),
    "rollout_operator_zpdb_inflight_eviction_requests": (),
    "kube_validating_webhook_failure_policy": ("type", "webhook", "policy"),
    "rollout_operator_health_check_evaluations": None,
    "rollout_operator_health_check_blocked": None,
    "rollout_operator_health_check_misconfigured": None,
    "rollout_operator_health_check_query_duration_seconds": None,
    "rollout_operator_health_check_configurations_observed": None,
    "fairlead_rollout_blocked": ("part", "namespace", "rollout", "reason"),
    "fairlead_certificate_not_after_timestamp_seconds": ("server",),
}
"""Metrics that functions of the operator register themselves: names and labels of the contract, None where it has
no labels to say."""

FROM_THE_SCRAPE = {"namespace", "service", "pod", "container", "instance", "le", "exported_namespace"}

DASHBOARD: dict[str, Any] = json.loads(text_of(chart_of("zones"), "dashboard.json"))


def alerts(chart: Path) -> dict[str, Any]:
    return {rule["alert"]: rule for group in data_of(chart, "alerts.yaml")["groups"] for rule in group["rules"]}


ALERTS = alerts(chart_of("zones"))
ALL_ALERTS = {
    name: alert
    for part in ("zones", "environments", "leaderworker", "plans", "apiversions")
    for name, alert in alerts(chart_of(part)).items()
}
QUERIES = {f"alert {name}": rule["expr"] for name, rule in ALERTS.items()} | {
    f"panel {panel['title']} {target['refId']}": target["expr"]
    for panel in DASHBOARD["panels"]
    for target in panel.get("targets", ())
}
RUNBOOKS = (Path(__file__).parents[4] / "docs" / "runbooks.md").read_text()


def metrics() -> dict[str, tuple[str, ...] | None]:
    """Labels by name, without what an exposition puts after the name."""
    return EXPECTED | {collector._name: tuple(collector._labelnames) for collector in registered()}


def registered() -> list[MetricWrapperBase]:
    """What the operator registers at its start."""
    metrics = Metrics()
    metrics.of(ZoneMetrics)
    found = list(metrics.registry._collector_to_names)
    assert found
    return [collector for collector in found if isinstance(collector, MetricWrapperBase)]


def base(name: str) -> str:
    return re.sub(r"_(total|bucket|count|sum)$", "", name)


@pytest.mark.parametrize("query", QUERIES)
def test_query_names_metrics_of_the_operator_with_their_labels(query: str) -> None:
    known = metrics()

    used = re.findall(r"\b((?:rollout_operator|fairlead|kube)_\w+|up)\b(?:\{([^}]*)\})?", QUERIES[query])

    assert used
    for name, matchers in used:
        if name == "up":
            continue
        assert base(name) in known, name
        labels = set(re.findall(r"(\w+)\s*=", matchers))
        assert "namespace" in labels, "operators of other namespaces are not meant"
        given = known[base(name)]
        assert given is None or labels - FROM_THE_SCRAPE <= set(given), name


@pytest.mark.parametrize("query", QUERIES)
def test_query_groups_by_labels_of_its_metrics(query: str) -> None:
    known = metrics()
    names = {base(name) for name in re.findall(r"\b(?:rollout_operator|fairlead|kube)_\w+", QUERIES[query])}
    given = [known[name] for name in sorted(names)]

    by = {
        label.strip() for found in re.findall(r"\bby \(([^)]*)\)", QUERIES[query]) for label in found.split(",")
    } - FROM_THE_SCRAPE

    if by:
        assert all(labels is not None and by <= set(labels) for labels in given)


def test_counters_and_histograms_are_asked_by_the_names_of_their_series() -> None:
    kinds = {collector._name: collector._type for collector in registered()}

    for query in QUERIES.values():
        for name in re.findall(r"\brollout_operator_\w+", query):
            match kinds.get(base(name)):
                case "counter":
                    assert name.endswith("_total"), name
                case "histogram":
                    assert name.endswith(("_bucket", "_count", "_sum")), name
                case "gauge":
                    assert name == base(name), name


def test_every_metric_has_a_panel() -> None:
    shown = {
        base(name) for key, query in QUERIES.items() if key.startswith("panel") for name in re.findall(r"\w+", query)
    }

    # Who leads is shown by `fairlead_leader`; the other is the name of API versions for it.
    unshown = {"rollout_operator_health_check_configurations_observed", "fairlead_is_leader"}
    assert metrics().keys() - shown == unshown


@pytest.mark.parametrize("name", ALL_ALERTS)
def test_alert_says_what_happened_and_has_its_page(name: str) -> None:
    alert = ALL_ALERTS[name]

    assert alert["labels"]["severity"] in ("warning", "critical")
    assert alert["annotations"]["summary"]
    assert alert["annotations"]["description"]
    assert alert["annotations"]["runbook"] == f"docs/runbooks.md#{name.lower()}"
    page = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", RUNBOOKS, re.MULTILINE | re.DOTALL)
    assert page, "no page"
    for part in ("How it works", "How to investigate", "How to fix"):
        assert f"**{part}**" in page[1], part


def test_every_page_of_the_runbooks_is_of_an_alert() -> None:
    assert re.findall(r"^## (\w+)$", RUNBOOKS, re.MULTILINE) == list(ALL_ALERTS)


@pytest.mark.parametrize("part", ["zones", "environments"])
def test_panels_lie_side_by_side(part: str) -> None:
    taken: set[tuple[int, int]] = set()
    panels = json.loads(text_of(chart_of(part), "dashboard.json"))["panels"]
    for panel in panels:
        place = panel["gridPos"]
        fields = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not fields & taken, panel["title"]
        assert max(x for x, _ in fields) < 24
        taken |= fields
    assert len({panel["id"] for panel in panels}) == len(panels)
