"""Alerts and dashboard of API versions speak of the metrics that there are."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fairlead.contracts.apiversions.install.values import CHART
from fairlead.engine.charts import data_of, text_of

METRICS: dict[str, set[str]] = {
    "up": set(),
    "fairlead_conversion_reviews_total": {"crd", "to", "result"},
    "fairlead_conversion_objects_total": {"crd", "from", "to", "result"},
    "fairlead_conversion_duration_seconds_bucket": {"crd", "from", "to", "le"},
    "fairlead_conversion_carry_bytes_bucket": {"crd", "to", "le"},
    "fairlead_conversion_carry_discarded_total": {"crd", "to"},
    "fairlead_conversion_rules": {"crd", "state"},
    "fairlead_conversion_probe": {"crd", "result"},
    "fairlead_storage_migration_objects": {"crd", "state"},
    "fairlead_crd_stored_version": {"crd", "version"},
    "fairlead_payload_mismatch_objects": {"crd", "kind"},
    "fairlead_webhook_cert_not_after_seconds": {"role"},
    "fairlead_is_leader": set(),
    "fairlead_right_missing": {"verb", "resource"},
    "fairlead_rollout_blocked": {"part", "rollout", "reason"},
    "fairlead_foreign_version_objects": {"crd", "reason"},
}
"""Those of section 2.8 that are spoken of, with their labels."""
FROM_THE_SCRAPE = {"namespace", "service", "pod"}
ALERTS = [rule for group in data_of(CHART, "alerts.yaml")["groups"] for rule in group["rules"]]
PANELS: list[Any] = json.loads(text_of(CHART, "dashboard.json"))["panels"]
QUERIES = {
    **{f"alert {rule['alert']}": rule["expr"] for rule in ALERTS},
    **{f"panel {panel['title']}": target["expr"] for panel in PANELS for target in panel["targets"]},
}


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_speaks_of_metrics_and_labels_that_there_are(query: str) -> None:
    text = QUERIES[query]
    spoken = re.findall(r"\b(up|fairlead_[a-z_]+)\{([^}]*)\}", text)

    assert spoken, text
    for metric, matchers in spoken:
        known = FROM_THE_SCRAPE | METRICS[metric]
        assert set(re.findall(r"([a-z_]+)(?:=|!=)", matchers)) <= known, metric
        for gathered in re.findall(r"by \(([^)]*)\)", text):
            assert {each.strip() for each in gathered.split(",")} <= known, (metric, gathered)
