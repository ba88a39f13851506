"""Acceptance scenarios 20, 29 and 32: traffic, shared batch by batch, given back by a revert, and sent by a header."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.kinds import FAILED, TRAFFIC_COPIES
from kubeloop.objects.apps import DEPLOYMENTS
from kubesim.pods.behaviour import ERROR_SHARE
from tests.e2e.clusters import Site, long
from tests.e2e.history import Tree
from tests.e2e.plan_play import batches
from tests.e2e.plan_routes import a_shop, backends_of, with_routes

AT_THE_GATE = ("rollingInBatches", "batchReady", 0)


@pytest.mark.parametrize("provider", ["gatewayapi", long("istio"), "smi"])
@with_routes()
async def test_scenario_20_traffic(site: Site, provider: str) -> None:
    """One pod of five gets a fifth of the requests; in the end only the target is left. Rules of others stay."""
    shop, target, source = await a_shop(site, provider)
    first = shop.entries()

    await shop.play.roll(batches(1, 4, lastBatchToRollout=0, trafficRouting=shop.routing), target, source)
    await shop.play.until(lambda: shop.play.at() == AT_THE_GATE)
    assert shop.weights() == {"shop-v1": 80, "shop-v2": 20}
    assert shop.entries()[:-1] == first[:-1]
    assert shop.send() == {"d1": 80, "d2": 20}
    assert shop.play.status()["trafficWeight"] == 20
    await shop.play.plan({"lastBatchToRollout": 1})
    await shop.play.ends()

    assert shop.weights() == {"shop-v2": 100}
    assert shop.entries()[:-1] == first[:-1]
    assert _bare(shop.entries()[-1]) == _bare(first[-1])
    assert shop.send() == {"d2": 100}


@with_routes()
async def test_scenario_29_automatic_revert(site: Site) -> None:
    """Errors of the new pods are seen where requests are counted: the old pods serve again before the new ones go."""
    shop, target, source = await a_shop(site, answers={ERROR_SHARE: "0.5"})
    metric = {"name": "request-success-rate", "interval": "1s", "metricsRange": {"min": 99}}
    plan = {"rolloutBatches": [{"replicas": 1}, {"replicas": 2, "canaryMetric": [metric]}, {}]}
    sending = site.start(shop.keep_sending(50))

    await shop.play.roll({**plan, "onFailure": "revert", "trafficRouting": shop.routing}, target, source)
    await shop.play.ends(FAILED)
    await site.stop(sending)

    assert shop.weights() == {"shop-v1": 100, "shop-v2": 0}
    assert (shop.play.size("d1"), shop.play.size("d2")) == (5, 0)
    assert len(shop.play.told("Rollout Reverted")) == 1
    assert shop.gateway.failures == []
    serving = 0
    for event in site.history.of(DEPLOYMENTS, "ADDED", "MODIFIED"):
        if event.name == "d1":
            serving = event.object.get("status", {}).get("readyReplicas", 0)
        elif event.object["spec"]["replicas"] == 0 and event.object.get("status", {}).get("replicas"):
            assert serving == 5
    assert shop.play.sizes_of("d1") == [5, 4, 2, 5]


@pytest.mark.parametrize("provider", [long("gatewayapi"), "istio"])
@with_routes()
async def test_scenario_32_header(site: Site, provider: str) -> None:
    """At weight 0 only requests with the header reach the target, also after a restart; afterwards nothing is left."""
    shop, target, source = await a_shop(site, provider, size=2)
    first = shop.route()
    entries = "rules" if provider == "gatewayapi" else "http"
    match = {"header": "X-Canary", "prefix": "al"}
    one = {"replicas": 1, "trafficWeight": 0, "trafficMatch": [match]}
    plan = {"rolloutBatches": [one, {}], "lastBatchToRollout": 0, "trafficRouting": shop.routing}

    await shop.play.roll(plan, target, source)
    await shop.play.until(lambda: shop.play.at() == AT_THE_GATE)
    assert (shop.send(), shop.send(x_canary="always"), shop.send(x_canary="no")) == (
        {"d1": 100},
        {"d2": 100},
        {"d1": 100},
    )
    await shop.play.kill()
    await shop.change_route({"spec": {entries: first["spec"][entries]}})
    shop.play.start()
    await shop.play.until(lambda: shop.send(10, x_canary="always") == {"d2": 10}, every=0.1)
    assert shop.send(10) == {"d1": 10}
    await shop.play.plan({"lastBatchToRollout": 1})
    await shop.play.ends()

    last = shop.route()
    assert TRAFFIC_COPIES not in last["metadata"].get("annotations", {})
    assert [_bare(each) for each in shop.entries()] == [_bare(each) for each in first["spec"][entries]]
    assert {**last["spec"], entries: []} == {**first["spec"], entries: []}
    assert shop.weights() == {"shop-v2": 100}
    assert shop.send(10, x_canary="always") == {"d2": 10}


def _bare(entry: Tree) -> Tree:
    """Without its backends."""
    return {key: value for key, value in entry.items() if value != backends_of(entry)}
