"""A plan to look at, one of whose batches is refused by what requests tell; and how `fairlead up` serves plans."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.install.access import webhooks
from fairlead.contracts.plans.install.values import WEBHOOK_SERVICE, Values
from fairlead.contracts.plans.kinds import ACTION, FAILED, ON_FAILURE_REVERT, ROLLING, ROLLOUT_TRAITS, SUCCEEDED
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.times import format_rfc3339
from fairlead.engine.demo import NAMESPACE, Demo, Hosted, Neighbour, Tell, WorstSeen, create_namespace
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import PODS, SERVICES, Pod
from kubeloop.objects.meta import Ref, Resource
from kubesim.pods.behaviour import ERROR_SHARE, READY_AFTER
from kubesim.standins import cloneset_definition, route_definitions
from kubesim.standins.cloneset import CloneSets
from kubesim.standins.gateway import FAILED_BY_POD, Gateway, is_ready
from kubesim.standins.gateway_visitors import REQUESTS, Visitors
from kubesim.standins.route_rules import HTTP_ROUTES

Tree = dict[str, Any]

SHOP, OLD, NEW = "shop", "shop-v1", "shop-v2"
OLD_IMAGE, BAD_IMAGE, GOOD_IMAGE = (f"example.test/shop:{version}" for version in ("1.0", "2.0", "2.1"))
SIZE, BATCHES = 10, (1, 2, 3, 4)
BAD_BATCH, FAILS_EVERY = 1, 5
"""From this batch on the bad image fails every so many of its requests."""
LEAST_SUCCESS = 99
PER_SECOND = 50
LOOK_EVERY = 0.1
READING_TIME = 2.0
"""Seconds in which a plan that has gone back can be looked at."""
WHY = "RolloutFailed"
"""The condition that says why a plan failed."""
PROMETHEUS = "prometheus.fairlead.svc"
"""Where the counts of the gateway are asked for."""


class _Condition(Struct, frozen=True):
    type: str
    message: str = ""


class _Status(Struct, frozen=True, rename="camel"):
    rolling_state: str = ""
    current_batch: int = 0
    conditions: tuple[_Condition, ...] = ()


class _Trait(Struct, frozen=True):
    status: _Status = _Status()


class _Play:
    """One play of the demo, and the gateway of the cluster, which knows what became of the requests."""

    def __init__(self) -> None:
        self._gateway: Gateway | None = None
        self._fewest_ready = SIZE

    async def neighbours(self, client: Client, is_copy: bool) -> Sequence[Neighbour]:
        """A gateway that answers in the place of Prometheus, and CloneSets, unless another controller made those."""
        await route_definitions.install(client)
        self._gateway = gateway = Gateway(client)
        found = [
            Neighbour(run=gateway.run, answers={PROMETHEUS: gateway.counts.handler}),
            Neighbour(run=Visitors(client, gateway).run),
        ]
        if not is_copy:
            await cloneset_definition.install(client)
            found.append(Neighbour(run=CloneSets(client).run))
        return found

    async def create(self, client: Client) -> None:
        """Both versions, and a route; a first plan brings the old one."""
        await create_namespace(client)
        for name, image in ((OLD, OLD_IMAGE), (NEW, BAD_IMAGE)):
            await _create(client, DEPLOYMENTS, name, _deployment(name, image))
            await _create(client, SERVICES, name, {"selector": {"app": name}, "ports": [{"port": 80}]})
        await _create(client, HTTP_ROUTES, SHOP, {"rules": [{"backendRefs": [{"name": OLD, "port": 80}]}]})
        plan = {"targetSize": SIZE, "numBatches": 1}
        await _create(client, ROLLOUT_TRAITS, SHOP, {"targetRef": _reference(OLD), "rolloutPlan": plan})

    async def change(self, client: Client, tell: Tell) -> None:
        """The new image is refused and goes back; the corrected one takes its place."""
        looking = asyncio.ensure_future(self._look(client))
        try:
            await _patch(client, HTTP_ROUTES, SHOP, {"metadata": {"annotations": {REQUESTS: str(PER_SECOND)}}})
            tell(f"{PER_SECOND} requests a second come in through the HTTPRoute {SHOP}")
            await _patch(client, ROLLOUT_TRAITS, SHOP, {"spec": _pair()})
            await _until(client, lambda status: status.current_batch >= BAD_BATCH and status.rolling_state == ROLLING)
            await self._spoil(client, tell)
            refused = await _until(client, lambda status: status.rolling_state == FAILED)
            tell(next((each.message for each in refused.conditions if each.type == WHY), FAILED))
            tell(f"all pods and requests are back at {OLD_IMAGE}")
            await asyncio.sleep(READING_TIME)
            await _correct(client)
            tell(f"{NEW} gets the corrected {GOOD_IMAGE}; the plan is tried again")
            await _until(client, lambda status: status.rolling_state == SUCCEEDED)
        finally:
            looking.cancel()

    async def _spoil(self, client: Client, tell: Tell) -> None:
        """The new pods answer with errors, once all of this batch are there."""
        wanted = sum(BATCHES[: BAD_BATCH + 1])
        spoilt = {"metadata": {"annotations": {ERROR_SHARE: str(1 / FAILS_EVERY)}}}
        pods: list[Pod] = []
        while len(pods) < wanted:
            await asyncio.sleep(LOOK_EVERY)
            pods = await _pods(client, f"app={NEW}")
        for pod in pods:
            await _patch(client, PODS, pod.metadata.name, spoilt)
        tell(f"one of {FAILS_EVERY} requests to {BAD_IMAGE} fails from now on")

    async def _look(self, client: Client) -> None:
        """Keeps how many pods were ready at the worst moment, of both versions."""
        while True:
            self._fewest_ready = min(self._fewest_ready, sum(map(is_ready, await _pods(client))))
            await asyncio.sleep(LOOK_EVERY)

    def summary(self, _: WorstSeen) -> str:
        gateway = self._gateway
        assert gateway is not None  # noqa: S101  whoever played it had a cluster with neighbours
        sent = gateway.counts.total() + gateway.unanswered
        failed = gateway.counts.total(workload=NEW, code=FAILED_BY_POD)
        return (
            f"the corrected {GOOD_IMAGE} runs in all {SIZE} pods.\n"
            f"  {sent} requests were sent, and {gateway.unanswered} of them lost by the rollouts;\n"
            f"  {failed} failed in pods of {BAD_IMAGE}, before it was taken back;\n"
            f"  {self._fewest_ready} of {SIZE} pods were ready at the worst moment."
        )


def _deployment(name: str, image: str) -> Tree:
    return {
        "replicas": 0,
        "paused": True,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}, "annotations": {READY_AFTER: "1s"}},
            "spec": {"containers": [{"name": SHOP, "image": image}]},
        },
    }


def _reference(name: str) -> Tree:
    return {"apiVersion": DEPLOYMENTS.api_version, "kind": DEPLOYMENTS.kind, "name": name}


def _pair() -> Tree:
    """Four batches, each of which is measured, and goes back when it is refused."""
    metric = {"name": "request-success-rate", "interval": "2s", "metricsRange": {"min": LEAST_SUCCESS}}
    return {
        "targetRef": _reference(NEW),
        "sourceRef": [_reference(OLD)],
        "rolloutPlan": {
            "targetSize": None,
            "numBatches": None,
            "rolloutBatches": [{"replicas": each, "canaryMetric": [metric]} for each in BATCHES],
            "onFailure": ON_FAILURE_REVERT,
            "trafficRouting": {
                "provider": "gatewayapi",
                "ingressRef": {"name": SHOP},
                "sourceService": OLD,
                "targetService": NEW,
            },
        },
    }


async def _correct(client: Client) -> None:
    containers = [{"name": SHOP, "image": GOOD_IMAGE}]
    await _patch(client, DEPLOYMENTS, NEW, {"spec": {"template": {"spec": {"containers": containers}}}})
    asked = f"retry@{format_rfc3339(clock.now().replace(microsecond=0))}"
    await _patch(client, ROLLOUT_TRAITS, SHOP, {"metadata": {"annotations": {ACTION: asked}}})


async def _create(client: Client, resource: Resource, name: str, spec: Tree) -> None:
    made = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
    await client.call(request.create(resource, NAMESPACE, msgspec.json.encode({**made, "spec": spec})))


async def _patch(client: Client, resource: Resource, name: str, patch: Tree) -> None:
    body = msgspec.json.encode(patch)
    await client.call(request.patch(Ref(resource, NAMESPACE, name), request.MERGE_PATCH, body))


async def _pods(client: Client, labels: str = "") -> list[Pod]:
    """Those that are not going."""
    found = await client.list(PODS, Pod, namespace=NAMESPACE, labels=labels)
    return [each for each in found.items if each.metadata.deletion_timestamp is None]


async def _until(client: Client, holds: Callable[[_Status], bool]) -> _Status:
    """Of the plan, once it is so."""
    while True:
        found = await client.read(Ref(ROLLOUT_TRAITS, NAMESPACE, SHOP), _Trait)
        if holds(found.status):
            return found.status
        await asyncio.sleep(LOOK_EVERY)


_PLAY = _Play()
ROLLOUT = Demo(
    NAMESPACE,
    SHOP,
    f"{SIZE} pods get a new image in {len(BATCHES)} batches, behind a route with live requests.\n"
    "It fails some of them in one batch: pods and requests go back by themselves,\n"
    "and a corrected image follows.",
    _PLAY.create,
    _PLAY.change,
    _PLAY.summary,
    tries=(f"fairlead history {SHOP} -n {NAMESPACE}", f"fairlead undo {SHOP} -n {NAMESPACE}"),
)
HOSTED = Hosted(
    settings=PlanSettings(metrics_server=f"http://{PROMETHEUS}", mesh_provider="istio"),
    webhooks=lambda namespace: webhooks(Values(namespace=namespace)),
    host=lambda namespace: f"{WEBHOOK_SERVICE}.{namespace}.svc",
    neighbours=_PLAY.neighbours,
)
