"""Programs of edits and trouble: what happens to rollouts, their workloads, their pods and their operators."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from fairlead.contracts.plans.kinds import ROLLOUT_TRAITS
from kubeloop.request import Request, place_of
from kubesim.faults import Fault
from kubesim.pods.behaviour import CRASH_AFTER, HOLD
from kubesim.store.versions import Tree
from tests.chaos.plans.facts import ACTION
from tests.chaos.plans.world import WATCHED, RolledSetting, RolledWorld
from tests.chaos.steps import (
    DELAYS,
    LATER,
    LOSSES,
    MOST_STEPS,
    READ_FAULTS,
    REFUSALS,
    REPLICAS,
    WATCH_FAULTS,
    Compact,
    Cut,
    DieAt,
    EndWatches,
    Freeze,
    Lag,
    Program,
    Restart,
    Step,
    Stop,
    Thaw,
    Wait,
    in_time,
    one_in_turn,
    pod_of,
    replica_of,
)
from tests.chaos.world import World, play

SETTLED = 20.0
"""Seconds between the end of all trouble and a second look at what was made meanwhile."""


class RolloutStep(Step, frozen=True):
    async def play(self, world: World) -> None:
        assert isinstance(world, RolledWorld)
        await self.play_on(world)

    async def play_on(self, world: RolledWorld) -> None:
        raise NotImplementedError


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
        found = {name: live for (_, name), (*_, live) in world.judge.record.workloads.items() if name != self.target}
        sources = [name for name, live in found.items() if live.size] or [*found]
        world.edit(
            {
                "targetRef": world.reference(self.target),
                "sourceRef": [world.reference(each) for each in sources],
            }
        )


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
        world.patch(ROLLOUT_TRAITS, "r", {"metadata": {"annotations": {ACTION: stamp}}})


class DeleteRollout(Harm, frozen=True):
    propagation: str
    after: float
    stripped: bool = False

    async def harm(self, world: RolledWorld) -> None:
        world.remove(ROLLOUT_TRAITS, "r", self.propagation)
        if self.stripped:
            fact = world.judge.record.rollout("r")
            if fact is not None:
                world.judge.stripped.add(fact.uid)
            world.patch(ROLLOUT_TRAITS, "r", {"metadata": {"finalizers": None}})
        await asyncio.sleep(self.after)
        world.roll()


class ScaleByHand(Harm, frozen=True):
    workload: int
    size: int

    async def harm(self, world: RolledWorld) -> None:
        name = world.setting.workloads[self.workload % len(world.setting.workloads)]
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
        world.remove(ROLLOUT_TRAITS, "s", self.propagation)


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
    "workload": _writes("deployments", "statefulsets", "clonesets"),
    "rollout": _writes("rollouttraits"),
    "event": _writes("events"),
    "lease": lambda sent: place_of(sent.path).plural == "leases",
    "read": lambda sent: sent.verb == "get",
    "list": lambda sent: sent.verb == "list",
    "watch": lambda sent: sent.verb == "watch",
}


class RolloutProgram(Program, frozen=True):
    """After its steps all trouble ends; then every rollout comes to its end, and a new one finishes what is left."""

    def play(self) -> RolledWorld:
        async def scenario(world: World) -> None:
            assert isinstance(world, RolledWorld)
            await world.begin()
            for step in self.steps:
                await step.play(world)
                world.check()
            await ended(world)

        world = play(self.setting, scenario, steps=MOST_STEPS, of=RolledWorld)
        assert isinstance(world, RolledWorld)
        return world


async def ended(world: RolledWorld) -> None:
    world.heal()
    await asyncio.sleep(SETTLED)
    world.heal()
    await world.finish()
    await world.rest()
    if world.harmed or world.judge.touched:
        await world.leave()
        world.heal_pods()
        await world.afresh()


NUMBERS = st.integers(0, 11)
PROPAGATIONS = st.sampled_from(["Background", "Foreground", "Orphan"])
FLAGS: tuple[Tree, ...] = (
    {"revertOnDelete": True},
    {"revertOnDelete": False},
    {"onFailure": "revert"},
    {"onFailure": "stop"},
    {"progressDeadlineSeconds": None},
)
BAD: tuple[Tree, ...] = (
    {"lastBatchToRollout": 0},
    {"rolloutBatches": [{"replicas": 1}, {}]},
    {"rolloutBatches": [{}]},
    {"rolloutBatches": [{"replicas": 9}, {"replicas": 9}]},
    {"targetSize": 6},
    {"rolloutStrategy": "DecreaseFirst"},
)
PEOPLE = one_in_turn(
    st.builds(Pause, st.booleans()),
    st.builds(Gate, st.sampled_from([None, 0, 1, 2]), st.sampled_from(["lastBatchToRollout", "batchPartition"])),
    st.builds(Gate, st.sampled_from([None, 0, 1, 2])),
    st.just(LaterBatches()),
    st.builds(Flags, st.sampled_from(FLAGS)),
    st.builds(Hooks, st.sampled_from([200, 403, 500, None])),
    st.builds(Names, st.sampled_from(["d1", "d2", "d3"])),
)
HARMS = one_in_turn(
    st.builds(Act, st.sampled_from(["abort", "revert", "retry"])),
    st.builds(DeleteRollout, PROPAGATIONS, st.sampled_from([0.0, 1.0, 30.0]), st.sampled_from([False, False, True])),
    st.builds(ScaleByHand, st.integers(0, 2), st.sampled_from([0, 1, 2, 3, 9, 12])),
    st.builds(DeleteWorkload, st.integers(0, 2), PROPAGATIONS, st.sampled_from([0.0, 1.0, 20.0])),
    st.builds(TakeClaim, st.integers(0, 2)),
    st.just(Second()),
    st.builds(DeleteSecond, PROPAGATIONS),
    st.builds(BadPlan, st.sampled_from(BAD)),
)
PODS_IN_TROUBLE = one_in_turn(
    st.builds(TroublePod, NUMBERS, st.sampled_from([HOLD, CRASH_AFTER, CRASH_AFTER, None])),
    st.builds(LosePod, NUMBERS, st.sampled_from([None, None, 0])),
)
WRITES = ("status", "status", "workload", "workload", "workload", "rollout", "lease", "event")
WRITE_FAULTS = st.one_of(REFUSALS, st.just(Fault("status", status=422)), LOSSES, DELAYS, LATER)
OPERATORS_IN_TROUBLE = one_in_turn(
    st.builds(FailRollout, REPLICAS, st.sampled_from(WRITES), st.sampled_from([1, 1, 2, 3]), WRITE_FAULTS),
    st.builds(FailRollout, REPLICAS, st.sampled_from(WRITES), st.sampled_from([1, 1, 2, 3]), WRITE_FAULTS),
    st.one_of(
        st.builds(FailRollout, REPLICAS, st.sampled_from(["read", "list"]), st.integers(1, 3), READ_FAULTS),
        st.builds(FailRollout, REPLICAS, st.just("watch"), st.integers(1, 3), WATCH_FAULTS),
    ),
    st.one_of(
        st.builds(Freeze, REPLICAS, st.sampled_from(WATCHED)),
        st.builds(Thaw, REPLICAS, st.sampled_from(WATCHED)),
        st.builds(Lag, REPLICAS, st.sampled_from([0.0, 0.2, 2.0])),
        st.builds(EndWatches),
        st.builds(Compact),
    ),
    st.one_of(
        st.builds(Restart, REPLICAS),
        st.builds(Stop, REPLICAS, st.sampled_from([0.5, 5.0, 30.0])),
        st.builds(Cut, REPLICAS, st.sampled_from([0.5, 5.0, 30.0])),
    ),
    st.builds(DieAt, REPLICAS, st.integers(1, 12), st.booleans()),
    st.builds(DieAt, REPLICAS, st.integers(1, 12), st.booleans()),
)
WAITS = st.sampled_from([0.01, 0.3, 1.0, 2.0, 3.0, 5.0, 8.0]).map(Wait)
EVERYTHING = one_in_turn(PEOPLE, PEOPLE, HARMS, PODS_IN_TROUBLE, OPERATORS_IN_TROUBLE, OPERATORS_IN_TROUBLE)
QUIET = one_in_turn(PEOPLE, OPERATORS_IN_TROUBLE, OPERATORS_IN_TROUBLE)
"""Nobody does what fails a rollout or troubles pods: whatever operators meet, it succeeds."""
DISTURBED = one_in_turn(PEOPLE, HARMS, HARMS, PODS_IN_TROUBLE)


@st.composite
def rolled_settings(draw: st.DrawFn, kinds: tuple[str, ...]) -> RolledSetting:
    return RolledSetting(
        (),
        kind=draw(st.sampled_from(kinds)),
        size=draw(st.sampled_from([5, 4, 6])),
        batches=draw(st.sampled_from([(1, 2, None), (0, 2, 1, None), (3, None), (None,)])),
        strategy=draw(st.sampled_from(["IncreaseFirst", "IncreaseFirst", "DecreaseFirst"])),
        gate=draw(st.sampled_from([None, None, 0, 1])),
        hooked=draw(st.booleans()),
        tolerance=draw(st.sampled_from([0, 0, 0, 1])),
        seed=draw(st.integers(0, 2**32 - 1)),
        latency=draw(st.sampled_from([0.0, 0.02, 0.2])),
        lag=draw(st.sampled_from([0.0, 0.1, 1.0])),
        leased=True,
        operators=draw(st.sampled_from([1, 2])),
        ready_after=draw(st.sampled_from([1.0, 0.2, 4.0])),
    )


PAIRS = ("pair",)
IN_PLACE = ("ordinals", "partition", "scale")


def rollout_programs(
    kinds: tuple[str, ...], what: st.SearchStrategy[Step] = EVERYTHING, most_steps: int = 16
) -> st.SearchStrategy[RolloutProgram]:
    return st.builds(RolloutProgram, rolled_settings(kinds), in_time(what, most_steps, WAITS))
