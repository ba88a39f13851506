"""Programs of scaling and evicting: by people, by an autoscaler, by a reference, with pods and operators in trouble."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from hypothesis import strategies as st

from fairlead.contracts.zones.kinds import FORCE_REPLICAS, NO_DOWNSCALE, PAUSED, ROTATE, ZONE_SOAK
from tests.chaos.endpoints import MANNERS, OK
from tests.chaos.scaled import ALONE, MOST_PODS, GroupPlan, Scaled, ScaledWorld
from tests.chaos.steps import (
    DEPLOYMENTS,
    MOST_STEPS,
    NUMBERS,
    SETTLED,
    SOON,
    TROUBLE,
    DieAt,
    KillPod,
    Program,
    StepIn,
    Wait,
    in_time,
    one_in_turn,
    pod_of,
)
from tests.chaos.world import World, play
from tests.chaos.zone_plans import ZonePlan

WAYS = ("patch", "put", "scale", "patch-scale")


class ScaledStep(StepIn[ScaledWorld], frozen=True):
    in_world: ClassVar[type[World]] = ScaledWorld


def scalable_of(world: ScaledWorld, number: int) -> ZonePlan:
    """A zone, or a StatefulSet without a group."""
    found = (*world.setting.zones, *world.setting.loners)
    return found[number % len(found)]


class ScaleBy(ScaledStep, frozen=True):
    """Somebody asks for replicas in one of the ways that there are; several may ask at once."""

    zone: int
    how: str
    replicas: int
    dry_run: bool = False

    async def play_on(self, world: ScaledWorld) -> None:
        name = scalable_of(world, self.zone).name
        world.begin(world.scaled_by(self.how, name, self.replicas, dry_run=self.dry_run))


class Autoscale(ScaledStep, frozen=True):
    """An autoscaler that knows nothing of zones writes one number after the other."""

    zone: int
    numbers: tuple[int, ...]
    every: float

    async def play_on(self, world: ScaledWorld) -> None:
        async def writing() -> None:
            for number in self.numbers:
                await world.autoscaled(scalable_of(world, self.zone).name, number)
                await asyncio.sleep(self.every)

        world.begin(writing())


class Refer(ScaledStep, frozen=True):
    """The reference of a group asks for another number, if the group has one."""

    group: int
    replicas: int

    async def play_on(self, world: ScaledWorld) -> None:
        mirrored = [group.name for group in world.setting.groups if group.how == "mirrored"]
        if mirrored:
            await world.refer(mirrored[self.group % len(mirrored)], self.replicas)


class EvictPods(ScaledStep, frozen=True):
    """Pods are evicted at the same time, as when nodes are drained."""

    pods: tuple[int, ...]
    dry_run: str = ""

    async def play_on(self, world: ScaledWorld) -> None:
        for name in dict.fromkeys(filter(None, (pod_of(world, number) for number in self.pods))):
            world.begin(world.evicted(name, dry_run=self.dry_run))


class Behave(ScaledStep, frozen=True):
    """The endpoint of a pod, or of every pod of its zone, answers in another manner from now on."""

    pod: int
    manner: str
    whole_zone: bool = False

    async def play_on(self, world: ScaledWorld) -> None:
        if not (name := pod_of(world, self.pod)):
            return
        zone = name.rpartition("-")[0]
        for each in [f"{zone}-{ordinal}" for ordinal in range(MOST_PODS)] if self.whole_zone else [name]:
            world.pods_called.manners[each] = self.manner


class Mark(ScaledStep, frozen=True):
    """A zone is paused, forced to a number, must not shrink, or lets others wait; without a value none of it."""

    zone: int
    key: str
    value: str | None

    async def play_on(self, world: ScaledWorld) -> None:
        where = "labels" if self.key == NO_DOWNSCALE else "annotations"
        world.change(scalable_of(world, self.zone).name, {"metadata": {where: {self.key: self.value}}})


class Rotate(ScaledStep, frozen=True):
    """Somebody wants a pod replaced."""

    pod: int

    async def play_on(self, world: ScaledWorld) -> None:
        if name := pod_of(world, self.pod):
            world.label_pod(name, ROTATE, "true")


class ScaledProgram(Program, frozen=True):
    def play(self) -> ScaledWorld:
        """Raises Broken when an invariant does not hold at any moment, or when the end is not reached in time."""

        async def scenario(world: World) -> None:
            assert isinstance(world, ScaledWorld)
            world.start()
            await asyncio.sleep(SOON)
            for step in self.steps:
                await step.play(world)
                world.check()
            await world.idle()
            world.heal()
            await asyncio.sleep(SETTLED)
            world.heal_pods()
            await world.finish()

        world = play(self.setting, scenario, steps=MOST_STEPS, of=ScaledWorld)
        assert isinstance(world, ScaledWorld)
        return world


REPLICAS = st.integers(0, MOST_PODS - 1)
LONG_WAITS = st.sampled_from([0.01, 0.3, 1.0, 5.0, 20.0, 70.0, 200.0, 700.0]).map(Wait)
SCALES = st.one_of(
    st.builds(ScaleBy, NUMBERS, st.sampled_from(WAYS), REPLICAS, st.sampled_from([False, False, False, True])),
    st.builds(Refer, NUMBERS, REPLICAS),
    st.builds(
        Autoscale,
        NUMBERS,
        st.lists(REPLICAS, min_size=2, max_size=6).map(tuple),
        st.sampled_from([0.0, 1.0, 15.0, 60.0]),
    ),
)
EVICTIONS = st.builds(
    EvictPods,
    st.lists(NUMBERS, min_size=1, max_size=4).map(tuple),
    st.sampled_from(["", "", "", "query", "body"]),
)
OTHERS = st.one_of(
    st.builds(Behave, NUMBERS, st.sampled_from([*MANNERS, OK]), st.booleans()),
    st.builds(Behave, NUMBERS, st.sampled_from([*MANNERS, OK]), st.just(True)),
    st.builds(Behave, NUMBERS, st.sampled_from(["slow", "failing", "hanging"]), st.just(True)),
    st.builds(KillPod, NUMBERS, st.sampled_from([None, 0])),
    st.builds(Mark, NUMBERS, st.just(NO_DOWNSCALE), st.sampled_from(["true", None])),
    st.builds(Mark, NUMBERS, st.just(FORCE_REPLICAS), st.sampled_from(["0", "2", "5", "x", None])),
    st.builds(Mark, NUMBERS, st.just(PAUSED), st.sampled_from(["true", None])),
    st.builds(Mark, NUMBERS, st.just(ZONE_SOAK), st.sampled_from(["30s", "5m", None])),
    st.builds(Rotate, NUMBERS),
    DEPLOYMENTS,
)

DEATHS = st.builds(DieAt, NUMBERS, st.integers(1, 6), st.booleans())


@st.composite
def scaled_settings(draw: st.DrawFn) -> Scaled:
    """One or two groups of two or three zones, of up to five pods, and perhaps StatefulSets without a group."""
    zones: list[ZonePlan] = []
    groups: list[GroupPlan] = []
    for number in range(draw(st.integers(1, 2))):
        name, replicas = f"group-{number}", draw(st.integers(1, 4))
        budget = draw(st.sampled_from([None, "2"]))
        zones += [
            ZonePlan(name, f"zone-{number}-{letter}", replicas, budget) for letter in "abc"[: draw(st.integers(2, 3))]
        ]
        how = draw(st.sampled_from(["led", "mirrored", "led", "mirrored", ""]))
        prepares = draw(st.sampled_from([True, True, False]))
        # A follower without a minimum does not follow downwards once a time was noted (rule 24).
        leasts = ["2m", "10m"] if how == "led" and prepares else ["2m", "10m", ""]
        groups.append(
            GroupPlan(
                name,
                how,
                least=draw(st.sampled_from(leasts)),
                prepares=prepares,
                delay=draw(st.sampled_from(["", "1m", "10m"])) if how == "mirrored" else "",
                budget=draw(st.sampled_from(["", "zone", "partition"])),
                most=draw(st.sampled_from([1, 1, 2])),
            )
        )
    operators = draw(st.sampled_from([1, 2]))
    loners = draw(st.sampled_from([(), (3,), (1, 4)]))
    return Scaled(
        tuple(zones),
        seed=draw(st.integers(0, 2**32 - 1)),
        latency=draw(st.sampled_from([0.0, 0.02, 0.2])),
        lag=draw(st.sampled_from([0.0, 0.1, 1.0])),
        interval=draw(st.sampled_from([None, 1.0])),
        leased=operators > 1 or draw(st.booleans()),
        operators=operators,
        groups=tuple(groups),
        loners=tuple(ZonePlan(ALONE, f"loner-{number}", replicas) for number, replicas in enumerate(loners)),
        tracked=draw(st.sampled_from([False, False, True])),
    )


def scaled_programs(most_steps: int = 20) -> st.SearchStrategy[ScaledProgram]:
    """Everything may happen."""
    what = one_in_turn(SCALES, SCALES, EVICTIONS, OTHERS, TROUBLE, DEATHS)
    return st.builds(ScaledProgram, scaled_settings(), in_time(what, most_steps, LONG_WAITS))
