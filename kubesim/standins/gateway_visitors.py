"""Requests that nobody has to send: a route says by an annotation how many a second come to it through the gateway."""

from __future__ import annotations

import asyncio

from kubeloop import clock
from kubeloop.client import Client
from kubeloop.events import Recorder
from kubeloop.objects.meta import Ref, Resource
from kubesim.pods.behaviour import PREFIX
from kubesim.standins.gateway import Gateway, Route
from kubesim.standins.route_rules import HTTP_ROUTES, TRAFFIC_SPLITS, GatewayRequest

REQUESTS = f"{PREFIX}requests"
"""On a route: how many requests a second are sent to its host."""
MOST = 1000
"""More than these are not sent."""
TICK, IDLE_TICK = 0.05, 0.5
"""Seconds between two looks, while there are requests to send and while there are none."""
LATEST = 1.0
"""Seconds: what should have been sent longer ago, before the process stood still, is not sent any more."""


class Visitors:
    """Whoever sends requests to the routes of a gateway."""

    def __init__(self, client: Client, gateway: Gateway) -> None:
        self._gateway = gateway
        self._recorder = Recorder(client, "kubesim", "kubesim")
        self._due: dict[tuple[str, str, str], float] = {}
        self._told: set[tuple[str, str]] = set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._visits())

    async def _visits(self) -> None:
        await self._gateway.synced.wait()
        before = clock.monotonic()
        while True:
            now = clock.monotonic()
            is_busy = self._visit(min(now - before, LATEST))
            before = now
            await asyncio.sleep(TICK if is_busy else IDLE_TICK)

    def _visit(self, seconds: float) -> bool:
        """Sends what is due after so many seconds; whether there is anything to send at all."""
        wanted: dict[tuple[str, str, str], tuple[str, float]] = {}
        for kind, route in self._gateway.routes():
            rate = rate_of(route)
            if rate is None:
                self._complain(kind, route)
            elif rate > 0:
                wanted[kind.kind, route.metadata.namespace, route.metadata.name] = host_of(kind, route), rate
        for gone in self._due.keys() - wanted:
            del self._due[gone]
        for key, (host, rate) in wanted.items():
            due = self._due[key] + rate * seconds if key in self._due else 0.0
            for _ in range(int(due)):
                self._gateway.send(GatewayRequest(host))
            self._due[key] = due - int(due)
        return bool(wanted)

    def _complain(self, kind: Resource, route: Route) -> None:
        """Once of each value."""
        meta, said = route.metadata, route.metadata.annotations[REQUESTS]
        if (meta.uid, said) in self._told:
            return
        self._told.add((meta.uid, said))
        text = f"{REQUESTS} is {said!r}: no requests are sent; write how many a second, from 0 to {MOST}, such as 50"
        self._recorder.tell(Ref(kind, meta.namespace, meta.name, meta.uid), True, "BadAnnotation", text)


def rate_of(route: Route) -> float | None:
    """Requests a second; None where the annotation says nothing usable."""
    try:
        found = float(route.metadata.annotations.get(REQUESTS, "0"))
    except ValueError:
        return None
    return found if 0 <= found <= MOST else None


def host_of(kind: Resource, route: Route) -> str:
    """The first that the route is about; one that is about all of them is called by its name."""
    spec = route.spec or {}
    if kind.kind == TRAFFIC_SPLITS.kind:
        return str(spec.get("service", ""))
    names = spec.get("hostnames" if kind.kind == HTTP_ROUTES.kind else "hosts") or ["*"]
    return str(names[0]).replace("*", route.metadata.name)
