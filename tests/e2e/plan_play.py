"""The operator of plans at work on a site: its rollouts, their workloads, what it wrote and what it told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fairlead.contracts.plans.kinds import EVENT_SOURCE, ROLLOUT_TRAITS, SUCCEEDED
from fairlead.contracts.plans.settings import PlanSettings
from kubeloop.calls import Caller
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Transport, delete
from kubesim.pods.behaviour import HOLD
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.leaderworker_play import Noted, Sent
from tests.e2e.plans import Operator, definitions
from tests.e2e.resting import rests
from tests.e2e.zones import change

OLD, NEW = "example.test/main:1", "example.test/main:2"
LOOK_EVERY = 0.02
FOLLOWED = (ROLLOUT_TRAITS, DEPLOYMENTS, EVENTS)


class Play:
    """One operator after the other on a site; `sent` is what all of them wrote."""

    kind: Resource = ROLLOUT_TRAITS
    """Of its rollouts."""

    def __init__(self, site: Site, settings: PlanSettings | None = None, caller: Caller | None = None) -> None:
        self.site = site
        self.sent: list[Sent] = []
        self.operator = Operator(site, settings, caller)
        self.task: asyncio.Task[None] | None = None
        self._settings, self._caller = settings, caller

    def start(self, through: Callable[[Transport], Transport] = lambda transport: transport) -> None:
        self.operator = Operator(self.site, self._settings, self._caller)
        wire = Noted(self.site.ground.transport("admin"), self.sent)
        self.task = self.site.start(self.operator(through(wire)))

    async def kill(self) -> None:
        assert self.task is not None
        await self.site.stop(self.task)

    # What people do.

    async def roll(self, plan: Tree, target: Tree, *sources: Tree, name: str = "r") -> Tree:
        """A RolloutTrait of this plan."""
        spec = {"targetRef": target, "sourceRef": list(sources), "rolloutPlan": plan}
        return await self.site.create(ROLLOUT_TRAITS, {"metadata": {"name": name}, "spec": spec})

    async def change(self, spec: Tree, name: str = "r") -> Tree:
        return await change(self.site, self.kind, name, {"spec": spec})

    async def plan(self, plan: Tree, name: str = "r") -> Tree:
        return await self.change({"rolloutPlan": plan}, name)

    async def delete(self, name: str = "r", propagation: str = "") -> None:
        await self.site.client.call(delete(Ref(self.kind, self.site.namespace, name), propagation=propagation))

    async def hold(self, *pods: Tree) -> None:
        """These pods are no longer ready."""
        for each in pods:
            await change(self.site, PODS, each["metadata"]["name"], {"metadata": {"annotations": {HOLD: "true"}}})

    async def release(self, *pods: Tree) -> None:
        for each in pods:
            await change(self.site, PODS, each["metadata"]["name"], {"metadata": {"annotations": {HOLD: None}}})

    # What is there.

    def object(self, resource: Resource, name: str) -> Tree:
        return self.site.history.objects(resource).get(name, {})

    def trait(self, name: str = "r") -> Tree:
        return self.object(self.kind, name)

    def status(self, name: str = "r") -> Tree:
        status: Tree = self.trait(name).get("status", {})
        return status

    def state(self, name: str = "r") -> str:
        return str(self.status(name).get("rollingState", ""))

    def at(self, name: str = "r") -> tuple[str, str, int]:
        """State, state of the batch, and which batch."""
        status = self.status(name)
        return self.state(name), str(status.get("batchRollingState", "")), int(status.get("currentBatch", 0))

    def condition(self, kind: str, name: str = "r") -> Tree:
        found = self.status(name).get("conditions", ())
        return next((each for each in found if each["type"] == kind), {})

    def size(self, name: str, resource: Resource = DEPLOYMENTS) -> int:
        return int(self.object(resource, name).get("spec", {}).get("replicas", -1))

    def ready(self, name: str, resource: Resource = DEPLOYMENTS) -> int:
        return int(self.object(resource, name).get("status", {}).get("readyReplicas", 0))

    def pods(self, app: str) -> list[Tree]:
        found = self.site.history.objects(PODS).values()
        return [each for each in found if each["metadata"].get("labels", {}).get("app") == app]

    def owners(self, name: str, resource: Resource = DEPLOYMENTS) -> list[str]:
        found = self.object(resource, name)["metadata"].get("ownerReferences", ())
        return [each["kind"] for each in found]

    def told(self, reason: str = "") -> list[str]:
        """Notes of Events, in the order of their first time."""
        found = self.site.history.of(EVENTS, "ADDED")
        ours = [each.object for each in found if each.object.get("reportingController") == EVENT_SOURCE]
        return [each["note"] for each in ours if each["reason"] == reason or not reason]

    # What is waited for.

    async def until(self, holds: Callable[[], Any], **given: Any) -> None:
        await self.site.until(holds, **given)

    async def ends(self, state: str = SUCCEEDED, name: str = "r", **given: Any) -> None:
        await self.site.until(lambda: self.state(name) == state, **given)
        await self.site.history.caught_up()

    async def tells(self, reason: str) -> list[str]:
        """Notes of this reason, once there are any: Events are sent beside passes."""
        return await self.site.until(lambda: self.told(reason))

    async def at_rest(self) -> None:
        """The operator has decided on what the cluster shows now, and has nothing left to do."""
        await self.site.until(lambda: rests(self.site, self.operator.manager), every=LOOK_EVERY)
        await self.site.history.caught_up()

    async def stays(self, seconds: float) -> None:
        """Nothing is written for so long; in real time, by the next passes."""
        await self.at_rest()
        before, sizes = self.site.history.objects(self.kind), self.sizes()
        if not self.site.real:
            await asyncio.sleep(seconds)
        manager = self.operator.manager
        assert manager is not None
        for lane in manager._lanes:
            lane.wake_all()
        await self.at_rest()
        assert self.site.history.objects(self.kind) == before
        assert self.sizes() == sizes

    # What happened.

    def sizes(self, resource: Resource = DEPLOYMENTS) -> list[dict[str, int]]:
        """The sizes of all workloads of the kind, each time that one of them changed."""
        found: list[dict[str, int]] = [{}]
        for event in self.site.history.of(resource, "ADDED", "MODIFIED"):
            now = {**found[-1], event.name: int(event.object["spec"].get("replicas", 1))}
            if now != found[-1]:
                found.append(now)
        return found[1:]

    def sizes_of(self, name: str, resource: Resource = DEPLOYMENTS) -> list[int]:
        """The sizes of one workload, each time that it changed."""
        found: list[int] = []
        for each in self.sizes(resource):
            if name in each and (not found or found[-1] != each[name]):
                found.append(each[name])
        return found

    def sums(self) -> list[int]:
        """Of the sizes of both Deployments, each time that one of them changed."""
        return [sum(each.values()) for each in self.sizes() if len(each) > 1]

    def states(self, name: str = "r") -> list[str]:
        """The states that were stored, in their order."""
        found: list[str] = []
        for event in self.site.history.of(self.kind, "ADDED", "MODIFIED"):
            state = event.object.get("status", {}).get("rollingState", "")
            if event.name == name and state and (not found or found[-1] != state):
                found.append(state)
        return found

    def writes(self, plural: str = "", verb: str = "") -> list[Sent]:
        return [each for each in self.sent if plural in ("", each.plural) and verb in ("", each.verb)]


async def begin(site: Site, settings: PlanSettings | None = None, caller: Caller | None = None, **kubelet: Any) -> Play:
    """The kinds are there, pods come and go, and the operator runs."""
    await define(site, *definitions())
    for each in FOLLOWED:
        await site.history.follow(each)
    site.start_kubelet(**{"ready_after": 0.05, "gone_after": 0.05, **kubelet})
    play = Play(site, settings, caller)
    play.start()
    return play


async def a_pair(site: Site, size: int = 5, *, paused: bool = True) -> tuple[Tree, Tree]:
    """`d1` with so many ready pods, and `d2` without any; their references, the newer first."""
    await site.create(DEPLOYMENTS, a_deployment("d1", size, OLD))
    await site.create(DEPLOYMENTS, a_deployment("d2", 0, NEW, paused=paused))

    def is_ready() -> bool:
        found = site.history.objects(DEPLOYMENTS)
        observed = all(each.get("status", {}).get("observedGeneration") == 1 for each in found.values())
        return len(found) == 2 and observed and found["d1"]["status"].get("readyReplicas", 0) == size

    await site.until(is_ready)
    return reference("d2"), reference("d1")


def reference(name: str, resource: Resource = DEPLOYMENTS) -> Tree:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "name": name}


def a_deployment(name: str, replicas: int, image: str, *, paused: bool = False) -> Tree:
    return {"metadata": {"name": name}, "spec": {"replicas": replicas, "paused": paused, **pods_of(name, image)}}


def pods_of(app: str, image: str) -> Tree:
    """Selector and template."""
    labels = {"app": app}
    pod = {"containers": [{"name": "main", "image": image}], "terminationGracePeriodSeconds": 0}
    return {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}


def batches(*replicas: int | str, **plan: Any) -> Tree:
    return {"rolloutBatches": [{"replicas": each} for each in replicas], **plan}
