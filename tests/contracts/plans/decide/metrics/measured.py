"""Rollouts with metrics for tests: a Prometheus that answers from a table, with templates and Secrets beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from fairlead.contracts.plans.kinds import Json, MetricRecord
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.ask import Answer, Ask, Bad, Good, Http, Read, ReadSecret
from fairlead.engine.driver.secrets import without
from kubeloop.sealing import seal
from tests.contracts.plans.decide.cluster import Cluster, a_pair
from tests.prometheus_answers import value

SERVER = "http://prometheus:9090"
QUERY = 'errors{pod=~"{{ target }}-.*"}'


class Prometheus:
    """Answers queries, and live reads of what is needed for them."""

    def __init__(self) -> None:
        self.answer: Callable[[str], Answer] = lambda _query: value("0.5")
        self.online: Answer = value("1")
        self.templates: dict[tuple[str, str, str], Json] = {}
        """By group, namespace and name."""
        self.secrets: dict[tuple[str, str], dict[str, bytes]] = {}
        self.asked: list[str] = []
        self.asks: list[Ask] = []

    def __call__(self, ask: Ask) -> Answer | None:
        match ask.to:
            case Read(ref) as read:
                found = self.templates.get((ref.resource.group, ref.namespace, ref.name))
                return Bad("absent") if found is None else _read(found, read.sealed)
            case ReadSecret(ref):
                held = self.secrets.get((ref.namespace, ref.name))
                if held is None:
                    return Bad("absent")
                return Good(sealed=tuple((key, seal(content)) for key, content in held.items()))
            case Http(method="GET", url=url) if "/api/v1/query" in url:
                (query,) = parse_qs(urlsplit(url).query)["query"]
                if query == "vector(1)":
                    return self.online
                self.asked.append(query)
                self.asks.append(ask)
                return self.answer(query)
        return None

    def put(self, name: str = "errors", namespace: str = "ns", group: str = "standard.oam.dev", **spec: Any) -> None:
        provider = {"type": "prometheus", "address": SERVER, **spec.pop("provider", {})}
        self.templates[group, namespace, name] = {
            "metadata": {"name": name},
            "spec": {"provider": provider, "query": QUERY, **spec},
        }


def _read(tree: Json, sealed: str) -> Good:
    assert sealed == "spec.provider.headers"
    return without(msgspec.json.encode(tree), sealed)


def a_metric(name: str = "errors", **fields: Any) -> Json:
    """At most 1, looked at every ten seconds."""
    named = {} if name.startswith("request-") else {"templateRef": {"name": name}}
    return {"name": name, "interval": "10s", "metricsRange": {"max": 1}, **named, **fields}


def measured_pair(*metrics: Json, prometheus: Prometheus | None = None, **plan: Any) -> Cluster:
    """Batches of 2 and 3; the metrics are those of the first."""
    batches = [{"replicas": 2, "canaryMetric": [*metrics]}, {"replicas": 3}]
    cluster = a_pair({"rolloutBatches": batches, **plan})
    cluster.settings = PlanSettings(metrics_server=SERVER)
    if prometheus is None:
        prometheus = Prometheus()
        prometheus.put()
    cluster.outside = prometheus
    return cluster


def record(cluster: Cluster, name: str = "errors") -> MetricRecord:
    (found,) = (each for each in cluster.rollout.metrics if each.name == name)
    return found
