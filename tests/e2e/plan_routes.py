"""Rollouts behind a route: the definitions that projects publish, Services of both sides, and a gateway that sends."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from msgspec.structs import replace

from fairlead.plane.build import module_folder
from kubeloop.calls import Call, Reply
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Resource
from kubesim.standins.gateway import Gateway
from kubesim.standins.route_definitions import TRAFFIC_SPLIT_DEFINITION
from kubesim.standins.route_rules import HTTP_ROUTES, TRAFFIC_SPLITS, VIRTUAL_SERVICES, GatewayRequest
from tests.e2e import plans
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.plan_play import Play, a_pair, begin
from tests.e2e.zones import change

GATEWAY_API = "sigs.k8s.io/gateway-api@v1.6.3"
ISTIO_API = "istio.io/api@v1.31.1"
ROUTES = {"gatewayapi": HTTP_ROUTES, "istio": VIRTUAL_SERVICES, "smi": TRAFFIC_SPLITS}
SHOP = "shop"
PROMETHEUS = "http://prometheus.test"


@cache
def route_definitions() -> tuple[Tree, ...]:
    """HTTPRoutes and VirtualServices as their projects define them, found where Go keeps modules."""
    folder = module_folder(GATEWAY_API) / "config" / "crd" / "standard"
    (http,) = _documents(folder / "gateway.networking.k8s.io_httproutes.yaml", HTTP_ROUTES)
    (virtual,) = _documents(
        module_folder(ISTIO_API) / "kubernetes" / "customresourcedefinitions.gen.yaml", VIRTUAL_SERVICES
    )
    return http, virtual, TRAFFIC_SPLIT_DEFINITION


def definitions() -> tuple[Tree, ...]:
    return (*plans.definitions(), *route_definitions())


def _documents(file: Path, resource: Resource) -> list[Tree]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = [each for each in file.read_text().split("\n---\n") if f"kind: {resource.kind}\n" in each]
    return [yaml.load(each, loader) for each in found]  # noqa: S506  a safe loader, in C where there is one


with_routes = partial(everywhere, definitions=definitions)


class Shop:
    """A pair of Deployments behind one route, and requests to it."""

    def __init__(self, play: Play, provider: str) -> None:
        self.play = play
        self.site = play.site
        self.provider = provider
        self.resource = ROUTES[provider]
        self.gateway = Gateway(self.site.client_as("admin"), namespace=self.site.namespace)

    @property
    def routing(self) -> Tree:
        return {
            "provider": self.provider,
            "ingressRef": {"name": SHOP},
            "sourceService": "shop-v1",
            "targetService": "shop-v2",
        }

    def route(self) -> Tree:
        return self.play.object(self.resource, SHOP)

    def entries(self) -> list[Tree]:
        spec = self.route()["spec"]
        found: list[Tree] = spec.get("rules") or spec.get("http") or [spec]
        return found

    def weights(self) -> dict[str, int]:
        """Of the last entry, which is that of the pair."""
        return dict(map(_weighed, backends_of(self.entries()[-1])))

    def send(self, count: int = 100, **headers: str) -> Counter[str]:
        """How many requests got to which workload."""
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return Counter(self.gateway.send(GatewayRequest(SHOP, headers=named)).workload for _ in range(count))

    async def keep_sending(self, per_second: float) -> None:
        """Until cancelled."""
        while True:
            self.gateway.send(GatewayRequest(SHOP))
            await asyncio.sleep(1 / per_second)

    async def told_prometheus(self, call: Call) -> Reply:
        """What the gateway counted, asked as if Prometheus had scraped it."""
        parts = urlsplit(call.url)
        return await self.gateway.counts.handler(replace(call, url=f"{parts.path}?{parts.query}"))

    async def turn_round(self) -> None:
        trait = self.play.trait()
        routing = {**self.routing, "sourceService": "shop-v2", "targetService": "shop-v1"}
        await self.play.change(
            {
                "targetRef": trait["spec"]["sourceRef"][0],
                "sourceRef": [trait["spec"]["targetRef"]],
                "rolloutPlan": {"trafficRouting": routing},
            }
        )

    async def change_route(self, patch: Tree) -> None:
        await change(self.site, self.resource, SHOP, patch)


def backends_of(entry: Tree) -> list[Tree]:
    found: list[Tree] = entry.get("backendRefs") or entry.get("route") or entry["backends"]
    return found


def _weighed(backend: Tree) -> tuple[str, int]:
    named = backend.get("name") or backend.get("service") or backend["destination"]["host"]
    return str(named), int(backend.get("weight", 100))


async def a_shop(
    site: Site, provider: str = "gatewayapi", size: int = 5, *, answers: Tree | None = None, **kubelet: Any
) -> tuple[Shop, Tree, Tree]:
    """With pods, Services and a route to the source; and the references of target and source.

    `answers` are annotations of the new pods.
    """
    await define(site, *route_definitions())
    shop: Shop | None = None

    async def measured(call: Call) -> Reply:
        assert shop is not None
        return await shop.told_prometheus(call)

    settings = replace(plans.SETTINGS, metrics_server=PROMETHEUS, mesh_provider="istio")
    play = await begin(site, settings, measured, **kubelet)
    shop = Shop(play, provider)
    await site.history.follow(shop.resource)
    target, source = await a_pair(site, size)
    if answers:
        await change(site, DEPLOYMENTS, "d2", {"spec": {"template": {"metadata": {"annotations": answers}}}})
    for name, app in (("shop-v1", "d1"), ("shop-v2", "d2")):
        spec = {"selector": {"app": app}, "ports": [{"port": 80}]}
        await site.create(SERVICES, {"metadata": {"name": name}, "spec": spec})
    await site.create(shop.resource, {"metadata": {"name": SHOP}, "spec": _spec(provider)})
    site.start(shop.gateway.run())
    await shop.gateway.synced.wait()
    await site.until(lambda: bool(shop.route()))
    return shop, target, source


def _spec(provider: str) -> Tree:
    """The last entry is for the pair; those before it are somebody else's."""
    if provider == "gatewayapi":
        cart = {"matches": [{"path": {"value": "/cart"}}], "backendRefs": [{"name": "cart", "port": 80}]}
        timeouts = {"request": "3s"}
        return {"rules": [cart, {"backendRefs": [{"name": "shop-v1", "port": 80}], "timeouts": timeouts}]}
    if provider == "istio":
        cart = {"match": [{"uri": {"prefix": "/cart"}}], "route": [{"destination": {"host": "cart"}}]}
        rest = {"name": "rest", "retries": {"attempts": 3}, "route": [{"destination": {"host": "shop-v1"}}]}
        return {"hosts": [SHOP], "http": [cart, rest]}
    return {"service": SHOP, "backends": [{"service": "shop-v1", "weight": 100}]}
