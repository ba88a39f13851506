"""Acceptance scenarios 19, 31 and 35: batches that metrics refuse, gates that they watch, and retries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec.structs import replace

from fairlead.contracts.plans.install.definitions import definitions as all_definitions
from fairlead.contracts.plans.kinds import (
    ACTION,
    BATCH_READY,
    BATCH_REFUSED,
    BATCH_VERIFYING,
    FAILED,
    FAILING,
    METRIC_TEMPLATES,
    ROLLING,
    ROLLOUT_TRAITS,
    SUCCEEDED,
    VERIFYING,
)
from fairlead.core.ask import Good
from kubeloop.calls import Call, Reply
from kubeloop.objects.core import SECRETS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.listeners import listening
from tests.e2e.plan_play import Play, a_pair, begin
from tests.e2e.plans import SETTINGS, with_traits
from tests.e2e.zones import change
from tests.prometheus_answers import value, vector

SLOW = "the metric request-duration is 5, above its max 1"


class Prometheus:
    """Answers every query with one value; None: there is no data."""

    def __init__(self, said: str | None = "0.5") -> None:
        self.said = said
        self.heard: list[Call] = []

    def __call__(self, call: Call) -> Reply:
        if self.query(call) == "vector(1)":
            return Reply(200, _body("1"))
        self.heard.append(call)
        return Reply(200, _body(self.said))

    @staticmethod
    def query(call: Call) -> str:
        return parse_qs(urlsplit(call.url).query)["query"][0]


def _body(said: str | None) -> bytes:
    answer = vector() if said is None else value(said)
    assert isinstance(answer, Good)
    return answer.value


def a_metric(**fields: object) -> Tree:
    return {"name": "request-duration", "interval": "1s", "metricsRange": {"max": 1}, **fields}


def a_plan(*metrics: Tree, **plan: object) -> Tree:
    """Batches of one and two, of which the first is measured."""
    return {"rolloutBatches": [{"replicas": 1, "canaryMetric": [*metrics]}, {"replicas": 2}], **plan}


@asynccontextmanager
async def measured(site: Site, prometheus: Prometheus) -> AsyncIterator[Play]:
    """An operator with this metric server."""
    async with listening(site, prometheus) as listener:
        settings = replace(SETTINGS, metrics_server=listener.address, mesh_provider="istio")
        play = await begin(site, settings, listener.caller)
        try:
            yield play
        finally:
            await play.kill()


@with_traits()
async def test_scenario_19_metric_gate_that_refuses(site: Site) -> None:
    """A value out of range refuses the batch: pods stay as they are, and nothing is claimed any more."""
    async with measured(site, Prometheus("5")) as play:
        target, source = await a_pair(site, 3)

        await play.roll(a_plan(a_metric()), target, source)
        await play.ends(FAILED)

        assert play.at() == (FAILED, BATCH_REFUSED, 0)
        assert SLOW in play.condition("RolloutFailed")["message"]
        assert SLOW in (await play.tells("MetricCheckFailed"))[0]
        assert play.states()[-2:] == [FAILING, FAILED]
        assert (play.sizes_of("d1"), play.sizes_of("d2")) == ([3, 2], [0, 1])
        assert play.owners("d1") == play.owners("d2") == []


@with_traits(long=True)
async def test_scenario_19_metric_gate_that_waits_for_data(site: Site) -> None:
    """Without data the batch waits, and a value in range lets it go."""
    prometheus = Prometheus(None)
    async with measured(site, prometheus) as play:
        target, source = await a_pair(site, 3)
        await play.roll(a_plan(a_metric()), target, source)
        await play.until(lambda: len(prometheus.heard) > 1)
        await play.until(lambda: "has no data" in play.condition("BatchVerifying").get("message", ""))
        assert play.at() == (ROLLING, BATCH_VERIFYING, 0)

        prometheus.said = "0.5"
        await play.ends(SUCCEEDED)

        assert "metrics" not in play.status()
        assert 'destination_workload="d2"' in prometheus.query(prometheus.heard[-1])


@with_traits(long=True)
async def test_scenario_31_watched_at_the_gate(site: Site) -> None:
    """A value that leaves its range while the plan waits at its partition fails the rollout."""
    prometheus = Prometheus()
    async with measured(site, prometheus) as play:
        target, source = await a_pair(site, 3)
        await play.roll(a_plan(a_metric(whileWaiting=True), lastBatchToRollout=0), target, source)
        await play.until(lambda: play.at() == (ROLLING, BATCH_READY, 0))
        before = len(prometheus.heard)
        await play.until(lambda: len(prometheus.heard) > before + 1)
        assert play.at() == (ROLLING, BATCH_READY, 0)

        prometheus.said = "5"
        await play.ends(FAILED)

        assert play.at() == (FAILED, BATCH_REFUSED, 0)
        assert SLOW in play.condition("BatchReady")["message"]


@with_traits(long=True)
async def test_scenario_35_retry(site: Site) -> None:
    """After the metric is mended the same rollout is asked to try again, and comes to its end with its size."""
    prometheus = Prometheus("5")
    async with measured(site, prometheus) as play:
        target, source = await a_pair(site, 3)
        await play.roll(a_plan(a_metric()), target, source)
        await play.ends(FAILED)

        prometheus.said = "0.5"
        asked = {"metadata": {"annotations": {ACTION: "retry@2026-03-01T12:00:00Z"}}}
        await change(site, ROLLOUT_TRAITS, "r", asked)
        await play.ends(SUCCEEDED)

        assert play.status()["rolloutTargetSize"] == 3
        assert (play.size("d1"), play.size("d2")) == (0, 3)


def _templates() -> tuple[Tree, ...]:
    """The definitions of rollouts, and of templates besides."""
    found = {each["metadata"]["name"]: each for each in all_definitions()}
    return tuple(found[f"{each.plural}.{each.group}"] for each in (ROLLOUT_TRAITS, METRIC_TEMPLATES))


@partial(everywhere, definitions=_templates)(long=True)
async def test_a_template_and_its_secret_are_read_when_they_are_needed(site: Site) -> None:
    """Until both are there the plan waits, and nothing is claimed; a restart in the batch changes nothing."""
    prometheus = Prometheus()
    await define(site, *_templates()[1:])
    async with measured(site, prometheus) as play:
        target, source = await a_pair(site, 3)
        metric = a_metric(name="errors", templateRef={"name": "errors"}, successCount=2)
        await play.roll(a_plan(metric), target, source)
        await play.until(lambda: "is not there" in play.condition("RolloutSpecVerifying").get("message", ""))
        assert (play.state(), play.owners("d1")) == (VERIFYING, [])
        await _put_template(site, play.operator._settings.metrics_server)
        await play.until(lambda: "Secret" in play.condition("RolloutSpecVerifying").get("message", ""))
        await site.create(SECRETS, {"metadata": {"name": "login"}, "data": {"token": "czNjcmV0"}})

        await play.until(lambda: any(each["successes"] for each in play.status().get("metrics", ())))
        await play.kill()
        play.start()
        await play.ends(SUCCEEDED)

        asked = [*map(prometheus.query, prometheus.heard)]
        assert asked == ['errors{pod=~"d2-.*"}[1s]'] * 2
        assert prometheus.heard[0].header("Authorization") == ["Bearer s3cret"]
        assert prometheus.heard[0].header("X-Scope-OrgID") == ["one"]
        stored = msgspec.json.encode([each.object for each in site.history.of(ROLLOUT_TRAITS, "MODIFIED")])
        assert b"s3cret" not in stored


async def _put_template(site: Site, address: str) -> None:
    provider = {
        "type": "prometheus",
        "address": address,
        "headers": {"X-Scope-OrgID": ["one"]},
        "secretRef": {"name": "login"},
    }
    query = """
        errors{pod=~"{{ target }}-.*"}[{{ interval }}]
    """
    await site.create(
        METRIC_TEMPLATES, {"metadata": {"name": "errors"}, "spec": {"provider": provider, "query": query}}
    )
