"""Edits and trouble: what happens to rollouts, their workloads, their pods and their operators."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from kubeloop.request import Request, place_of
from kubesim.faults import Fault
from kubesim.standins.route_rules import HTTP_ROUTES
from tests.chaos.plans.app_world import AppRolledWorld
from tests.chaos.plans.facts import ACTION
from tests.chaos.plans.outside import BAD as BAD_VALUE
from tests.chaos.plans.outside import ROUTE, a_route, routing
from tests.chaos.plans.world import RolledWorld
from tests.chaos.steps import (
    StepIn,
    pod_of,
    replica_of,
)
from tests.chaos.world import World


class RolloutStep(StepIn[RolledWorld], frozen=True):
    in_world: ClassVar[type[World]] = RolledWorld


# What a plan allows.


class Pause(RolloutStep, frozen=True):
    paused: bool

    async def play_on(self, world: RolledWorld) -> None:
        world.edit({"rolloutPlan": {"paused": self.paused}})


class Gate(RolloutStep, frozen=True):
    """Opened, or set where the present batch is not behind it."""

    partition: int | None
    name: str = "lastBatchToRollout"

    async def play_on(self, world: RolledWorld) -> None:
        fact = world.judge.record.rollout("r")
        batch = 0 if fact is None else fact.batch
        other = "batchPartition" if self.name == "lastBatchToRollout" else "lastBatchToRollout"
        partition = None if self.partition is None else max(batch, self.partition)
        world.edit({"rolloutPlan": {self.name: partition, other: None}})


class LaterBatches(RolloutStep, frozen=True):
    """Those behind a closed gate become one."""

    async def play_on(self, world: RolledWorld) -> None:
        spec, fact = world.spec(), world.judge.record.rollout("r")
        if spec is None or fact is None or fact.partition is None:
            return
        batches = spec["rolloutPlan"].get("rolloutBatches") or []
        kept = batches[: max(fact.partition, fact.batch) + 1]
        if len(kept) + 1 < len(batches):
            world.edit({"rolloutPlan": {"rolloutBatches": [*kept, {**batches[-1], "replicas": None}]}})


class Names(RolloutStep, frozen=True):
    """Another target, the source again or a third one, for whatever has pods."""

    target: str

    async def play_on(self, world: RolledWorld) -> None:
        if world.setting.kind != "pair":
            return
        if world.setting.routed:
            self._turn(world)
            return
        found = {name: live for (_, name), (*_, live) in world.judge.record.workloads.items() if name != self.target}
        sources = [name for name, live in found.items() if live.size] or [*found]
        world.edit(
            {
                "targetRef": world.reference(self.target),
                "sourceRef": [world.reference(each) for each in sources],
            }
        )

    def _turn(self, world: RolledWorld) -> None:
        """Each side with its Service; there is none for a third."""
        if self.target == "d3":
            return
        other = "d1" if self.target == "d2" else "d2"
        world.edit(
            {
                "targetRef": world.reference(self.target),
                "sourceRef": [world.reference(other)],
                "rolloutPlan": {"trafficRouting": routing(other, self.target)},
            }
        )


class Retarget(RolloutStep, frozen=True):
    """Another revision, from the one that has the pods, whether it is named or not."""

    number: int
    named: bool

    async def play_on(self, world: RolledWorld) -> None:
        if isinstance(world, AppRolledWorld):
            world.retarget(self.number, named=self.named)


class OverwriteRoute(RolloutStep, frozen=True):
    """By somebody who knows nothing of the rollout; without weights it is deleted."""

    weights: dict[str, int]

    async def play_on(self, world: RolledWorld) -> None:
        if not world.setting.routed:
            return
        if self.weights:
            world.put(HTTP_ROUTES, a_route(**self.weights))
            world.patch(HTTP_ROUTES, ROUTE, {"spec": a_route(**self.weights)["spec"]})
        else:
            world.remove(HTTP_ROUTES, ROUTE)


class LoseMetrics(RolloutStep, frozen=True):
    """They hang, fail, or have no data; none of it decides anything."""

    says: str | int | None

    async def play_on(self, world: RolledWorld) -> None:
        world.metrics.says = self.says


class Flags(RolloutStep, frozen=True):
    change: dict[str, Any]

    async def play_on(self, world: RolledWorld) -> None:
        world.edit({"rolloutPlan": self.change})


class Hooks(RolloutStep, frozen=True):
    answer: int | None

    async def play_on(self, world: RolledWorld) -> None:
        world.answer = self.answer


# What makes a rollout fail, or ends it.


class Harm(RolloutStep, frozen=True):
    async def play_on(self, world: RolledWorld) -> None:
        world.harmed = True
        for each in list(world.judge.record.rollouts):
            world.judge.record.attempts[each].is_disturbed |= self.is_in_the_way
        await self.harm(world)

    @property
    def is_in_the_way(self) -> bool:
        return False

    async def harm(self, world: RolledWorld) -> None:
        raise NotImplementedError


class Act(Harm, frozen=True):
    what: str

    async def harm(self, world: RolledWorld) -> None:
        stamp = f"{self.what}@2026-01-01T00:00:00Z"
        world.patch(world.rollouts, "r", {"metadata": {"annotations": {ACTION: stamp}}})


class BadMetrics(Harm, frozen=True):
    """They tell of errors, true or not."""

    async def harm(self, world: RolledWorld) -> None:
        world.metrics.says = BAD_VALUE


class DeleteRollout(Harm, frozen=True):
    propagation: str
    after: float
    stripped: bool = False

    async def harm(self, world: RolledWorld) -> None:
        world.remove(world.rollouts, "r", self.propagation)
        if self.stripped:
            fact = world.judge.record.rollout("r")
            if fact is not None:
                world.judge.stripped.add(fact.uid)
            world.patch(world.rollouts, "r", {"metadata": {"finalizers": None}})
        await asyncio.sleep(self.after)
        world.roll()


class ScaleByHand(Harm, frozen=True):
    workload: int
    size: int

    async def harm(self, world: RolledWorld) -> None:
        name = world.setting.workloads[self.workload % len(world.setting.workloads)]
        if world.setting.kind != "nodes":
            world.patch(world.setting.resource, name, {"spec": {"replicas": self.size}})


class DeleteWorkload(Harm, frozen=True):
    workload: int
    propagation: str
    after: float

    async def harm(self, world: RolledWorld) -> None:
        name = world.setting.workloads[self.workload % len(world.setting.workloads)]
        world.remove(world.setting.resource, name, self.propagation)
        await asyncio.sleep(self.after)
        world.make(name)


class TakeClaim(Harm, frozen=True):
    workload: int

    async def harm(self, world: RolledWorld) -> None:
        name = world.setting.workloads[self.workload % len(world.setting.workloads)]
        world.patch(world.setting.resource, name, {"metadata": {"ownerReferences": None}})


class Second(Harm, frozen=True):
    """Another rollout wants the same workloads."""

    async def harm(self, world: RolledWorld) -> None:
        world.roll("s")


class DeleteSecond(Harm, frozen=True):
    propagation: str

    async def harm(self, world: RolledWorld) -> None:
        world.remove(world.rollouts, "s", self.propagation)


class BadPlan(Harm, frozen=True):
    """What webhooks refuse, where there are none."""

    change: dict[str, Any]

    @property
    def is_in_the_way(self) -> bool:
        return True

    async def harm(self, world: RolledWorld) -> None:
        world.edit({"rolloutPlan": self.change})


# Pods and operators.


class TroublePod(RolloutStep, frozen=True):
    pod: int
    behaviour: str | None

    async def play_on(self, world: RolledWorld) -> None:
        world.judge.touched = True
        if name := pod_of(world, self.pod):
            world.misbehave(name, self.behaviour)


class LosePod(RolloutStep, frozen=True):
    pod: int
    grace: int | None = None

    async def play_on(self, world: RolledWorld) -> None:
        world.judge.touched = True
        if name := pod_of(world, self.pod):
            world.kill_pod(name, grace=self.grace)


class FailRollout(RolloutStep, frozen=True):
    """The nth request of a kind from now on fails in some way."""

    replica: int
    what: str
    nth: int
    fault: Fault

    async def play_on(self, world: RolledWorld) -> None:
        if (process := replica_of(world, self.replica).process) is not None:
            process.wire.plan.fail(MEANS[self.what], self.nth, self.fault)


def _writes(*plurals: str) -> Callable[[Request], bool]:
    return lambda sent: sent.method != "GET" and place_of(sent.path).plural in plurals


MEANS: dict[str, Callable[[Request], bool]] = {
    "status": lambda sent: sent.method != "GET" and place_of(sent.path).subresource == "status",
    "workload": _writes("deployments", "statefulsets", "clonesets", "daemonsets", "pods"),
    "rollout": _writes("rollouttraits", "approllouts"),
    "made": _writes("components", "controllerrevisions", "applications", "applicationrevisions"),
    "event": _writes("events"),
    "lease": lambda sent: place_of(sent.path).plural == "leases",
    "read": lambda sent: sent.verb == "get",
    "list": lambda sent: sent.verb == "list",
    "watch": lambda sent: sent.verb == "watch",
}
