"""What rollouts lean on outside of their workloads: a route that somebody overwrites, and metrics that go wrong."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec import Struct

from kubeloop.calls import Call, Reply
from kubeloop.objects.meta import Resource
from kubesim.standins.route_rules import HTTP_ROUTES
from kubesim.store.versions import Tree

ROUTE = "shop"
ROUTES = HTTP_ROUTES.plural
METRIC_TEMPLATES = Resource("standard.oam.dev", "v1alpha1", "metrictemplates", "MetricTemplate")
TEMPLATE = "errors"
PROMETHEUS = "prometheus.example.test"
MOST = 1.0
"""Of errors, for a batch to be good."""
GOOD, BAD = "0.5", "7"
OTHER_RULE: Tree = {
    "matches": [{"path": {"type": "PathPrefix", "value": "/cart"}}],
    "backendRefs": [{"name": "cart", "port": 80, "weight": 1}],
}


def a_route(**weights: int) -> Tree:
    """To these Services, beside an entry that is somebody else's."""
    backends = [{"name": name, "port": 80, "weight": weight} for name, weight in weights.items()]
    return {"metadata": {"name": ROUTE}, "spec": {"rules": [OTHER_RULE, {"backendRefs": backends}]}}


def routing(source: str, target: str) -> Tree:
    services = {"sourceService": source, "targetService": target}
    return {"provider": "gatewayapi", "ingressRef": {"name": ROUTE}, **services}


def a_template() -> Tree:
    spec = {
        "provider": {"type": "prometheus", "address": f"http://{PROMETHEUS}"},
        "query": 'errors{rollout="{{ name }}"}',
    }
    return {"metadata": {"name": TEMPLATE}, "spec": spec}


def a_metric() -> Tree:
    return {
        "name": TEMPLATE,
        "interval": "2s",
        "metricsRange": {"max": int(MOST)},
        "templateRef": {"name": TEMPLATE},
    }


class Measured(Struct, frozen=True):
    """A look that was answered."""

    rollout: str
    value: str
    at: float

    @property
    def in_range(self) -> bool:
        try:
            return float(self.value) <= MOST
        except ValueError:
            return False


class FakePrometheus:
    """Answers as Prometheus does, or not at all."""

    def __init__(self) -> None:
        self.says: str | int | None = GOOD
        """A value, the empty text for no data, a status, or None: it hangs."""
        self.looks: list[Measured] = []

    async def answer(self, call: Call) -> Reply:
        query = parse_qs(urlsplit(call.url).query)["query"][0]
        if self.says is None:
            await asyncio.Event().wait()
        if isinstance(self.says, int):
            return Reply(self.says)
        value = "1" if query.startswith("vector") else str(self.says)
        if not query.startswith("vector"):
            name = query.partition('"')[2].rpartition('"')[0]
            self.looks.append(Measured(name, value, asyncio.get_running_loop().time()))
        result: list[Any] = [{"metric": {}, "value": [0, value]}] if value else []
        body = {"status": "success", "data": {"resultType": "vector", "result": result}}
        return Reply(200, msgspec.json.encode(body))


class RouteFact(Struct, frozen=True):
    """One version of the route."""

    weights: dict[str, int]
    """By Service, in the entry of the pair."""
    others: Any
    """Everything else of its spec."""


def route_fact(tree: Tree) -> RouteFact:
    rules: list[Tree] = tree["spec"].get("rules") or []
    pair = [each for each in rules if not _is_others(each)]
    weights = {each["name"]: each.get("weight", 1) for rule in pair for each in rule.get("backendRefs") or ()}
    return RouteFact(weights, [each for each in rules if _is_others(each)])


def _is_others(rule: Tree) -> bool:
    return any(each["name"] == "cart" for each in rule.get("backendRefs") or ())
