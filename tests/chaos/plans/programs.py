"""Programs of edits and trouble, as Hypothesis writes them."""

from __future__ import annotations

import asyncio

from hypothesis import strategies as st

from kubesim.faults import Fault
from kubesim.pods.behaviour import CRASH_AFTER, HOLD
from kubesim.store.versions import Tree
from tests.chaos.plans.app_world import world_of
from tests.chaos.plans.outside import GOOD
from tests.chaos.plans.steps import (
    Act,
    BadMetrics,
    BadPlan,
    DeleteRollout,
    DeleteSecond,
    DeleteWorkload,
    FailRollout,
    Flags,
    Gate,
    Hooks,
    LaterBatches,
    LoseMetrics,
    LosePod,
    Names,
    OverwriteRoute,
    Pause,
    Retarget,
    ScaleByHand,
    Second,
    TakeClaim,
    TroublePod,
)
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
)
from tests.chaos.world import World, play

SETTLED = 20.0
"""Seconds between the end of all trouble and a second look at what was made meanwhile."""


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

        assert isinstance(self.setting, RolledSetting)
        world = play(self.setting, scenario, steps=MOST_STEPS, of=world_of(self.setting))
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
OVERWRITTEN: tuple[dict[str, int], ...] = ({"d1": 100}, {"d1": 50, "d2": 50}, {"d2": 100}, {})
PEOPLE = one_in_turn(
    st.builds(Pause, st.booleans()),
    st.builds(Gate, st.sampled_from([None, 0, 1, 2]), st.sampled_from(["lastBatchToRollout", "batchPartition"])),
    st.builds(Gate, st.sampled_from([None, 0, 1, 2])),
    st.just(LaterBatches()),
    st.builds(Flags, st.sampled_from(FLAGS)),
    st.builds(Hooks, st.sampled_from([200, 403, 500, None])),
    st.builds(Names, st.sampled_from(["d1", "d2", "d3"])),
    st.builds(OverwriteRoute, st.sampled_from(OVERWRITTEN)),
    st.builds(LoseMetrics, st.sampled_from([GOOD, "", "NaN", 500, None])),
)
OF_REVISIONS = one_in_turn(PEOPLE, st.builds(Retarget, st.sampled_from([1, 2, 3]), st.booleans()))
HARMS = one_in_turn(
    st.builds(Act, st.sampled_from(["abort", "revert", "retry"])),
    st.builds(DeleteRollout, PROPAGATIONS, st.sampled_from([0.0, 1.0, 30.0]), st.sampled_from([False, False, True])),
    st.builds(ScaleByHand, st.integers(0, 2), st.sampled_from([0, 1, 2, 3, 9, 12])),
    st.builds(DeleteWorkload, st.integers(0, 2), PROPAGATIONS, st.sampled_from([0.0, 1.0, 20.0])),
    st.builds(TakeClaim, st.integers(0, 2)),
    st.just(Second()),
    st.builds(DeleteSecond, PROPAGATIONS),
    st.builds(BadPlan, st.sampled_from(BAD)),
    st.just(BadMetrics()),
)
PODS_IN_TROUBLE = one_in_turn(
    st.builds(TroublePod, NUMBERS, st.sampled_from([HOLD, CRASH_AFTER, CRASH_AFTER, None])),
    st.builds(LosePod, NUMBERS, st.sampled_from([None, None, 0])),
)
WRITES = ("made", "status", "status", "workload", "workload", "workload", "rollout", "lease", "event")
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
REVISED = one_in_turn(OF_REVISIONS, OF_REVISIONS, HARMS, PODS_IN_TROUBLE, OPERATORS_IN_TROUBLE, OPERATORS_IN_TROUBLE)
REVISED_QUIETLY = one_in_turn(OF_REVISIONS, OPERATORS_IN_TROUBLE, OPERATORS_IN_TROUBLE)
"""The same of AppRollouts, whose revisions change."""


@st.composite
def rolled_settings(draw: st.DrawFn, kinds: tuple[str, ...]) -> RolledSetting:
    kind = draw(st.sampled_from(kinds))
    return RolledSetting(
        (),
        kind=kind,
        routed=kind == "pair" and draw(st.booleans()),
        measured=draw(st.sampled_from([False, False, True])),
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
REVISIONS = ("revisions",)
IN_PLACE = ("ordinals", "partition", "scale", "nodes")


def rollout_programs(
    kinds: tuple[str, ...], what: st.SearchStrategy[Step] = EVERYTHING, most_steps: int = 16
) -> st.SearchStrategy[RolloutProgram]:
    return st.builds(RolloutProgram, rolled_settings(kinds), in_time(what, most_steps, WAITS))
