"""Requests that nobody has to send: a route says by an annotation how many a second come to it through the gateway."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from kubeloop import clock
from kubeloop.objects.meta import Resource
from kubesim.pods.behaviour import PREFIX
from kubesim.standins.gateway import Gateway, Route
from kubesim.standins.route_rules import HTTP_ROUTES, TRAFFIC_SPLITS, GatewayRequest

REQUESTS = f"{PREFIX}requests"
"""On a route: how many requests a second are sent to its host."""
MOST = 1000.0
"""What is more than this, or no number, is not sent."""
TICK, IDLE_TICK = 0.05, 0.5
"""Seconds between two looks, while there are requests to send and while there are none."""
LATEST = 1.0
"""Seconds: what should have been sent longer ago, before the process stood still, is not sent any more."""


class Visitors:
    """Whoever sends requests to the routes of a gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._due: dict[tuple[str, str, str], float] = defaultdict(float)

    async def run(self) -> None:
        """Until cancelled."""
        await self._gateway.synced.wait()
        before = clock.monotonic()
        while True:
            now = clock.monotonic()
            is_busy = self._visit(min(now - before, LATEST))
            before = now
            await asyncio.sleep(TICK if is_busy else IDLE_TICK)

    def _visit(self, seconds: float) -> bool:
        """Sends what is due after so many seconds; whether there is anything to send at all."""
        wanted = {
            (kind.kind, route.metadata.namespace, route.metadata.name): (host_of(kind, route), rate)
            for kind, route in self._gateway.routes()
            if (rate := rate_of(route)) > 0
        }
        for gone in self._due.keys() - wanted:
            del self._due[gone]
        for key, (host, rate) in wanted.items():
            due = self._due[key] + rate * seconds if key in self._due else 0.0
            for _ in range(int(due)):
                self._gateway.send(GatewayRequest(host))
            self._due[key] = due - int(due)
        return bool(wanted)


def rate_of(route: Route) -> float:
    """Requests a second; 0 where the annotation is missing or says nothing usable."""
    try:
        found = float(route.metadata.annotations.get(REQUESTS, "0"))
    except ValueError:
        return 0.0
    return found if 0 < found <= MOST else 0.0


def host_of(kind: Resource, route: Route) -> str:
    """The first that the route is about; one that is about all of them is called by its name."""
    spec = route.spec or {}
    if kind.kind == TRAFFIC_SPLITS.kind:
        return str(spec.get("service", ""))
    names = spec.get("hostnames" if kind.kind == HTTP_ROUTES.kind else "hosts") or ["*"]
    return str(names[0]).replace("*", route.metadata.name)
