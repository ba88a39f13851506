"""Programs of edits and trouble for widgets and the versions of their operator."""

from __future__ import annotations

from typing import ClassVar

from hypothesis import strategies as st

from kubeloop import request
from kubeloop.objects.meta import Ref
from kubeloop.request import place_of
from kubesim.faults import Fault
from kubesim.store.versions import Tree
from tests.chaos.apiversions.handled import STAMP, WATCHED, WIDGETS, HandledSetting, HandledWorld
from tests.chaos.apiversions.world import NEW
from tests.chaos.steps import (
    DELAYS,
    LATER,
    LOSSES,
    MOST_STEPS,
    REFUSALS,
    REPLICAS,
    Compact,
    Cut,
    DieAt,
    EndWatches,
    Freeze,
    Lag,
    Program,
    Restart,
    StepIn,
    Stop,
    Thaw,
    Wait,
    in_time,
    one_in_turn,
    replica_of,
)
from tests.chaos.world import NAMESPACE, World, play


class HandledStep(StepIn[HandledWorld], frozen=True):
    in_world: ClassVar[type[World]] = HandledWorld


class Ask(HandledStep, frozen=True):
    """For another colour or size, with fields of one version or of both, under one of the two versions."""

    widget: int
    how: str
    colour: str
    size: int
    version: str = "v2"

    async def play_on(self, world: HandledWorld) -> None:
        spec: Tree = {"size": self.size, "paint": {"colour": self.colour}, "colour": None, "legacyMode": None}
        if self.how == "old":
            spec = {"size": self.size, "colour": self.colour, "paint": None, "legacyMode": True}
        name = f"w-{self.widget}"
        await world.put(name, spec, self.version)
        if self.how == "both":
            other = {"spec": {"colour": f"not {self.colour}"}, "metadata": {"managedFields": [{}]}}
            await world.change(name, other)
            await world.change(name, {"metadata": {"managedFields": [{}]}})


class Mark(HandledStep, frozen=True):
    """As another version of the operator would leave it, or a person who wants it left alone."""

    widget: int
    marks: tuple[tuple[str, str | None], ...]

    async def play_on(self, world: HandledWorld) -> None:
        await world.change(f"w-{self.widget}", {"metadata": {"annotations": dict(self.marks)}})


class Leave(HandledStep, frozen=True):
    widget: int

    async def play_on(self, world: HandledWorld) -> None:
        await world.send(request.delete(Ref(WIDGETS["v2"], NAMESPACE, f"w-{self.widget}")))


class Upgrade(HandledStep, frozen=True):
    replica: int

    async def play_on(self, world: HandledWorld) -> None:
        world.version = NEW
        replica_of(world, self.replica).kill()


class FailWrite(HandledStep, frozen=True):
    replica: int
    plural: str
    nth: int
    fault: Fault

    async def play_on(self, world: HandledWorld) -> None:
        process = replica_of(world, self.replica).process
        if process is not None:
            plural = self.plural
            process.wire.plan.fail(
                lambda sent: sent.method != "GET" and place_of(sent.path).plural == plural, self.nth, self.fault
            )


class HandledProgram(Program, frozen=True):
    def play(self) -> HandledWorld:
        async def scenario(world: World) -> None:
            assert isinstance(world, HandledWorld)
            await world.begin()
            for step in self.steps:
                await step.play(world)
                world.check()
            await world.finish()

        world = play(self.setting, scenario, steps=MOST_STEPS, of=HandledWorld)
        assert isinstance(world, HandledWorld)
        return world


WHICH = st.integers(0, 2)
MANAGED = f"{STAMP.partition('/')[0]}/managed"
PEOPLE = one_in_turn(
    st.builds(
        Ask,
        WHICH,
        st.sampled_from(["new", "new", "old", "both"]),
        st.sampled_from(["red", "green", "blue"]),
        st.integers(0, 3),
        st.sampled_from(["v2", "v2", "v1"]),
    ),
    st.builds(
        Mark,
        WHICH,
        st.sampled_from(
            [
                ((STAMP, "1.9.0"),),
                ((STAMP, "0.9.0"),),
                ((STAMP, "nonsense"),),
                ((STAMP, None), (MANAGED, None)),
                ((MANAGED, "false"),),
            ]
        ),
    ),
    st.builds(Leave, WHICH),
)
FAULTS = st.one_of(REFUSALS, LOSSES, DELAYS, LATER)
OPERATORS = one_in_turn(
    st.builds(FailWrite, REPLICAS, st.sampled_from([*WATCHED, "leases", "events"]), st.integers(1, 3), FAULTS),
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
    st.builds(DieAt, REPLICAS, st.integers(1, 8), st.booleans()),
    st.builds(Upgrade, REPLICAS),
)
HAPPENS = one_in_turn(PEOPLE, PEOPLE, OPERATORS)
WAITS = st.sampled_from([0.01, 0.3, 1.0, 3.0, 10.0]).map(Wait)


@st.composite
def handled_settings(draw: st.DrawFn) -> HandledSetting:
    return HandledSetting(
        (),
        seed=draw(st.integers(0, 2**32 - 1)),
        latency=draw(st.sampled_from([0.0, 0.02, 0.2])),
        lag=draw(st.sampled_from([0.0, 0.1, 1.0])),
        leased=True,
        operators=draw(st.sampled_from([1, 2])),
    )


def handled_programs(most_steps: int = 14) -> st.SearchStrategy[HandledProgram]:
    return st.builds(HandledProgram, handled_settings(), in_time(HAPPENS, most_steps, WAITS))
