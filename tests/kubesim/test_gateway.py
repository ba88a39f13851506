"""The stand-in gateway: requests reach ready pods by weights and headers, and are counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from kubeloop.calls import Call
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import PODS, SERVICES
from kubeloop.objects.meta import Resource
from kubesim.pods.behaviour import ERROR_SHARE, HOLD, LATENCY
from kubesim.standins.gateway import Gateway
from kubesim.standins.route_definitions import install
from kubesim.standins.route_rules import HTTP_ROUTES, TRAFFIC_SPLITS, GatewayRequest
from kubesim.virtual import VirtualCluster

Tree = dict[str, Any]
SHOP = GatewayRequest("shop")


def played(test: Callable[[VirtualCluster, Gateway], Coroutine[Any, Any, None]]) -> None:
    """With two Services of two ready pods each, and a route that gives them 80 and 20."""

    async def scenario(world: VirtualCluster) -> None:
        await install(world.client)
        for name in ("v1", "v2"):
            await put(world, DEPLOYMENTS, a_deployment(name))
            service = {"metadata": {"name": name}, "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}}
            await put(world, SERVICES, service)
        refs = [{"name": "v1", "port": 80, "weight": 80}, {"name": "v2", "port": 80, "weight": 20}]
        await put(world, HTTP_ROUTES, {"metadata": {"name": "shop"}, "spec": {"rules": [{"backendRefs": refs}]}})
        gateway = Gateway(world.client, namespace="default")
        async with world.beside(gateway.run()):
            await gateway.synced.wait()
            await world.until(lambda: ready(world, 4))
            await asyncio.sleep(0.1)
            await test(world, gateway)

    VirtualCluster(1).play(scenario)


async def put(world: VirtualCluster, resource: Resource, tree: Tree) -> None:
    await world.create(resource, "default", {"apiVersion": resource.api_version, "kind": resource.kind, **tree})


async def ready(world: VirtualCluster, count: int) -> bool:
    pods = await world.list(PODS, "default")
    return sum(_is_ready(each) for each in pods) == count


def _is_ready(pod: Tree) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)


def a_deployment(name: str) -> Tree:
    labels = {"app": name}
    annotations = {ERROR_SHARE: "0.25", LATENCY: "40ms"} if name == "v2" else {}
    template = {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": "example.test/main:1"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def test_requests_go_to_ready_pods_by_weights_and_in_turn() -> None:
    async def test(_world: VirtualCluster, gateway: Gateway) -> None:
        sent = [gateway.send(SHOP) for _ in range(100)]

        assert Counter(each.service for each in sent) == {"v1": 80, "v2": 20}
        assert sorted(Counter(each.pod for each in sent).values()) == [10, 10, 40, 40]
        assert Counter(each.workload for each in sent) == {"v1": 80, "v2": 20}
        assert gateway.failures == []

    played(test)


def test_a_pod_that_is_not_ready_or_going_gets_nothing() -> None:
    async def test(world: VirtualCluster, gateway: Gateway) -> None:
        pods = [each["metadata"]["name"] for each in await world.list(PODS, "default")]
        first = next(each for each in pods if each.startswith("v1"))
        await world.patch(PODS, "default", first, {"metadata": {"annotations": {HOLD: "true"}}})
        await world.until(lambda: ready(world, 3))
        await asyncio.sleep(0.1)

        assert first not in {gateway.send(SHOP).pod for _ in range(50)}
        await world.patch(DEPLOYMENTS, "default", "v1", {"spec": {"replicas": 0}})
        await asyncio.sleep(0.5)
        lost = [each for each in (gateway.send(SHOP) for _ in range(50)) if each.failure]
        assert {(each.code, each.failure) for each in lost} == {(503, "no pod of the Service v1 is ready")}
        assert len(lost) == len(gateway.failures) == 40

    played(test)


def test_what_has_no_way_fails_with_its_reason() -> None:
    async def test(world: VirtualCluster, gateway: Gateway) -> None:
        backends = [{"service": "v9", "weight": 1}]
        split = {"metadata": {"name": "cart"}, "spec": {"service": "cart", "backends": backends}}
        await put(world, TRAFFIC_SPLITS, split)
        refs = [{"name": "v1", "weight": 0}]
        spec = {"hostnames": ["shop"], "rules": [{"backendRefs": refs}]}
        await world.patch(HTTP_ROUTES, "default", "shop", {"spec": spec})
        await asyncio.sleep(0.1)

        found = [gateway.send(GatewayRequest(host)) for host in ("cart", "shop", "pay")]

        assert [(each.code, each.failure) for each in found] == [
            (500, "the Service v9 is not there"),
            (500, "HTTPRoute default/shop 0 gives no Service any weight"),
            (404, "no route for pay/"),
        ]

    played(test)


async def asked(gateway: Gateway, query: str) -> float:
    reply = await gateway.counts.handler(Call(method="GET", url=f"/api/v1/query?query={query}"))
    (sample,) = msgspec.json.decode(reply.body)["data"]["result"]
    return float(sample["value"][1])


def test_requests_are_counted_as_istio_counts_them() -> None:
    async def test(_world: VirtualCluster, gateway: Gateway) -> None:
        for _ in range(400):
            gateway.send(SHOP)
            await asyncio.sleep(0.005)
        text = (await gateway.counts.handler(Call(method="GET", url="/metrics"))).body.decode()
        new = 'destination_workload="v2",destination_workload_namespace="default",reporter="destination"'

        assert (gateway.counts.total(), gateway.counts.total(workload="v2", code=500)) == (400, 20)
        labels = f'destination_service_name="v2",destination_service_namespace="default",{new},response_code="500"'
        assert f"istio_requests_total{{{labels}}} 20\n" in text
        good = f'sum(rate(istio_requests_total{{{new},response_code!~"5.*"}}[1m]))'
        rate = await asked(gateway, f"100 * {good} / sum(rate(istio_requests_total{{{new}}}[1m]))")
        assert rate == 75
        buckets = f"sum by (le) (rate(istio_request_duration_milliseconds_bucket{{{new}}}[1m]))"
        assert 25 < await asked(gateway, f"histogram_quantile(0.99, {buckets})") <= 50
        await asyncio.sleep(120)
        assert await asked(gateway, f"sum(increase(istio_requests_total{{{new}}}[1m]))") == 0
        refused = await gateway.counts.handler(Call(method="GET", url="/api/v1/query?query=up"))
        assert (refused.status, msgspec.json.decode(refused.body)["error"]) == (400, "up is not known here")
        assert (await gateway.counts.handler(Call(method="GET", url="/"))).status == 404

    played(test)
