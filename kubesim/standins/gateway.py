"""A stand-in for a gateway or a mesh: it sends requests where routes say, to ready pods of their Services in turn.

It speaks to the API alone, so one code serves the embedded cluster and a real control plane. Nothing is sent over a
network: what a pod answers is said by its annotations, or by whoever plays the pods. A request that no ready pod can
answer fails, and says why. What became of all of them is counted as Istio counts it, see `gateway_counts`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from kubeloop.client import Client
from kubeloop.discovery import discover
from kubeloop.durations import parse_go
from kubeloop.informer import Informer
from kubeloop.objects.core import PODS, SERVICES, Pod
from kubeloop.objects.meta import Meta, Resource
from kubesim.pods.behaviour import ERROR_SHARE, LATENCY
from kubesim.standins.gateway_counts import GatewayCounts
from kubesim.standins.route_rules import KINDS, GatewayRequest, RouteRule, chosen

OK, FAILED_BY_POD, NO_ROUTE, NO_SERVICE, NO_POD = 200, 500, 404, 500, 503
DEFAULT_SECONDS = 0.005
KEPT_FAILURES = 1000
_HASH_LABEL = "pod-template-hash"


class RouteMeta(Meta, frozen=True, rename="camel"):
    annotations: dict[str, str] = {}


class Route(Struct, frozen=True):
    """A route of any kind, with all that it holds."""

    metadata: RouteMeta
    spec: Any = None


class ServiceSpec(Struct, frozen=True):
    selector: dict[str, str] = {}


class Service(Struct, frozen=True):
    metadata: Meta
    spec: ServiceSpec = ServiceSpec()


class PodAnswer(Struct, frozen=True):
    code: int = OK
    seconds: float = DEFAULT_SECONDS


class Sent(Struct, frozen=True):
    """What became of a request."""

    code: int
    service: str = ""
    pod: str = ""
    workload: str = ""
    failure: str = ""
    """Why nobody got it; empty where a pod did, whatever it answered."""


Pods = Callable[[Pod, int], PodAnswer]
"""What a pod answers to its n-th request."""


class Gateway:
    """Of a namespace, or of all; `answers` plays the pods."""

    def __init__(self, client: Client, *, namespace: str = "", answers: Pods | None = None) -> None:
        self._client = client
        self._namespace = namespace
        self._answers = answers or by_annotations
        self._pods = Informer(client, PODS, Pod, namespace=namespace)
        self._services = Informer(client, SERVICES, Service, namespace=namespace)
        self._routes: list[Informer[Route]] = []
        self._kinds: list[Resource] = []
        self._turns: dict[str, dict[tuple[str, str], int]] = {}
        self._next: dict[tuple[str, str], int] = defaultdict(int)
        self._heard: dict[str, int] = defaultdict(int)
        self.counts = GatewayCounts()
        self.failures: list[Sent] = []
        """What nobody could answer, the first of it; `unanswered` counts all."""
        self.unanswered = 0
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled; kinds of routes that nobody serves when it begins are not looked at."""
        for kind in KINDS:
            served = {
                each.resource.version: each.resource for each in await discover(self._client, kind.group, kind.kind)
            }
            if served:
                found = served.get(kind.version) or next(iter(served.values()))
                self._kinds.append(found)
                self._routes.append(Informer(self._client, found, Route, namespace=self._namespace))
        informers: list[Informer[Any]] = [self._pods, self._services, *self._routes]
        async with asyncio.TaskGroup() as tasks:
            for each in informers:
                tasks.create_task(each.run())
            await asyncio.gather(*(each.synced.wait() for each in informers))
            self.synced.set()

    def send(self, request: GatewayRequest) -> Sent:
        """Of one request; what nobody could answer is kept in `failures`."""
        found = self._sent(request)
        if found.failure:
            self.unanswered += 1
            if len(self.failures) < KEPT_FAILURES:
                self.failures.append(found)
        return found

    def routes(self) -> list[tuple[Resource, Route]]:
        """Those that are there, of all kinds."""
        informers = zip(self._kinds, self._routes, strict=True)
        return [(kind, route) for kind, informer in informers for route in informer.store.items()]

    def _sent(self, request: GatewayRequest) -> Sent:
        routes = [(kind, {"metadata": _named(route.metadata), "spec": route.spec}) for kind, route in self.routes()]
        rule = chosen(routes, request)
        if rule is None:
            return Sent(NO_ROUTE, failure=f"no route for {request.host}{request.path}")
        place = self._backend(rule)
        if place is None:
            return Sent(NO_SERVICE, failure=f"{rule.key} gives no Service any weight")
        service = self._services.store.get(*place)
        if service is None:
            return Sent(NO_SERVICE, place[1], failure=f"the Service {place[1]} is not there")
        return self._answered(place, service)

    def _answered(self, place: tuple[str, str], service: Service) -> Sent:
        selector = service.spec.selector
        ready = sorted(
            (each for each in self._pods.store.items() if _is_behind(each, place[0], selector)),
            key=lambda each: each.metadata.name,
        )
        if not ready:
            return Sent(NO_POD, place[1], failure=f"no pod of the Service {place[1]} is ready")
        pod = ready[self._next[place] % len(ready)]
        self._next[place] += 1
        name, workload = pod.metadata.name, workload_of(pod)
        answer = self._answers(pod, self._heard[name])
        self._heard[name] += 1
        self.counts.add(place, workload, answer.code, answer.seconds)
        return Sent(answer.code, place[1], name, workload)

    def _backend(self, rule: RouteRule) -> tuple[str, str] | None:
        """In turn by weights, as even as they allow: 80 and 20 are four of the one, then one of the other."""
        weights = {(namespace, name): weight for namespace, name, weight in rule.backends if weight > 0}
        if not weights:
            return None
        due = {place: self._turns.get(rule.key, {}).get(place, 0) + weight for place, weight in weights.items()}
        first = max(due, key=lambda place: due[place])
        due[first] -= sum(weights.values())
        self._turns[rule.key] = due
        return first


def by_annotations(pod: Pod, heard: int) -> PodAnswer:
    """An error for the share of requests that the pod's annotation says, spread evenly, and its latency."""
    annotations = pod.metadata.annotations
    share, seconds = 0.0, DEFAULT_SECONDS
    with suppress(ValueError):
        share = min(1.0, max(0.0, float(annotations.get(ERROR_SHARE, "0"))))
    with suppress(ValueError):
        seconds = parse_go(annotations[LATENCY]) if LATENCY in annotations else DEFAULT_SECONDS
    is_wrong = int((heard + 1) * share) > int(heard * share)
    return PodAnswer(FAILED_BY_POD if is_wrong else OK, seconds)


def workload_of(pod: Pod) -> str:
    """The Deployment of a ReplicaSet's pod, else whoever made it; a pod that nobody made is its own workload."""
    owner = next((each for each in pod.metadata.owner_references if each.controller), None)
    if owner is None:
        return pod.metadata.name
    hashed = pod.metadata.labels.get(_HASH_LABEL)
    return owner.name.removesuffix(f"-{hashed}") if hashed and owner.kind == "ReplicaSet" else owner.name


def _is_behind(pod: Pod, namespace: str, selector: Mapping[str, str]) -> bool:
    """Selected, ready and not going."""
    metadata = pod.metadata
    if metadata.namespace != namespace or metadata.deletion_timestamp is not None or not selector:
        return False
    return is_ready(pod) and selector.items() <= metadata.labels.items()


def is_ready(pod: Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)


def _named(metadata: Meta) -> dict[str, str]:
    return {"namespace": metadata.namespace, "name": metadata.name}
