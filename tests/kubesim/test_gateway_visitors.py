"""Requests that come by themselves, as an annotation of a route says."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop import clock
from kubeloop.objects.core import EVENTS
from kubesim.standins.gateway import KEPT_FAILURES, Gateway, Route, RouteMeta
from kubesim.standins.gateway_visitors import LATEST, REQUESTS, Visitors, host_of, rate_of
from kubesim.standins.route_rules import HTTP_ROUTES, TRAFFIC_SPLITS, VIRTUAL_SERVICES, GatewayRequest
from kubesim.virtual import VirtualCluster
from tests.kubesim.test_gateway import Tree, played


def a_route(spec: Tree | None = None, requests: str = "") -> Route:
    return Route(RouteMeta("shop", "uid", "1", annotations={REQUESTS: requests}), spec)


def test_as_many_as_the_route_says_are_sent_by_its_weights_until_it_says_otherwise() -> None:
    async def scenario(world: VirtualCluster, gateway: Gateway) -> None:
        async def say(value: str | None) -> None:
            await world.patch(HTTP_ROUTES, "default", "shop", {"metadata": {"annotations": {REQUESTS: value}}})
            await asyncio.sleep(1)

        async with world.beside(Visitors(world.client, gateway).run()):
            await asyncio.sleep(10)
            assert gateway.counts.total() == 0

            await say("20")
            before = gateway.counts.total()
            await asyncio.sleep(10)
            assert gateway.counts.total() - before == pytest.approx(200, abs=2)
            assert gateway.counts.total(workload="v2") == pytest.approx(gateway.counts.total() / 5, abs=1)

            await say(None)
            before = gateway.counts.total()
            await asyncio.sleep(10)
            assert (gateway.counts.total(), gateway.unanswered) == (before, 0)

    played(scenario)


def test_what_was_due_while_the_process_stood_still_is_not_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: VirtualCluster, gateway: Gateway) -> None:
        await world.patch(HTTP_ROUTES, "default", "shop", {"metadata": {"annotations": {REQUESTS: "20"}}})
        async with world.beside(Visitors(world.client, gateway).run()):
            await asyncio.sleep(1)
            before, shift = gateway.counts.total(), clock.monotonic
            monkeypatch.setattr(clock, "monotonic", lambda: shift() + 3600)
            await asyncio.sleep(0.2)
            assert gateway.counts.total() - before <= 20 * (LATEST + 0.3)

    played(scenario)


@pytest.mark.parametrize("said", ["", "many", "-1", "nan", "inf", "1001"])
def test_what_is_no_usable_number_is_none(said: str) -> None:
    assert rate_of(a_route(requests=said)) is None
    assert (rate_of(a_route(requests="0")), rate_of(a_route(requests="0.5"))) == (0, 0.5)


def test_an_annotation_that_cannot_be_read_is_told_once_with_what_to_write() -> None:
    async def scenario(world: VirtualCluster, gateway: Gateway) -> None:
        await world.patch(HTTP_ROUTES, "default", "shop", {"metadata": {"annotations": {REQUESTS: "many"}}})
        async with world.beside(Visitors(world.client, gateway).run()):
            await asyncio.sleep(30)

        (event,) = [each for each in await world.list(EVENTS, "default") if each["reason"] == "BadAnnotation"]
        assert event["regarding"]["name"] == "shop"
        assert "'many': no requests are sent; write how many a second, from 0 to 1000" in event["note"]
        assert event.get("series") is None
        assert gateway.counts.total() == 0

    played(scenario)


def test_requests_go_to_the_first_host_that_the_route_is_about() -> None:
    assert host_of(HTTP_ROUTES, a_route({"hostnames": ["a.test", "b.test"]})) == "a.test"
    assert host_of(HTTP_ROUTES, a_route({"hostnames": ["*.test"]})) == "shop.test"
    assert host_of(HTTP_ROUTES, a_route()) == "shop"
    assert host_of(VIRTUAL_SERVICES, a_route({"hosts": ["web"]})) == "web"
    assert host_of(TRAFFIC_SPLITS, a_route({"service": "cart"})) == "cart"


def test_all_failures_are_counted_and_the_first_of_them_kept() -> None:
    async def scenario(world: VirtualCluster, gateway: Gateway) -> None:
        await world.patch(HTTP_ROUTES, "default", "shop", {"spec": {"rules": []}})
        await asyncio.sleep(1)

        for _ in range(KEPT_FAILURES + 5):
            gateway.send(GatewayRequest("shop"))

        assert (gateway.unanswered, len(gateway.failures)) == (KEPT_FAILURES + 5, KEPT_FAILURES)

    played(scenario)
