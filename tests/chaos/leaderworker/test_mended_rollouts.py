"""A revision whose groups do not become ready is followed by one that mends them, with and without the feature."""

from __future__ import annotations

import asyncio

import pytest

from kubesim.kinds.features import MAX_UNAVAILABLE
from kubesim.pods.behaviour import HOLD, IMAGE_PULL, PENDING
from kubesim.store.versions import Tree
from tests.chaos.leaderworker.world import GroupedSetting, GroupedWorld, SetPlan, a_template
from tests.chaos.steps import MOST_STEPS
from tests.chaos.world import World, play


@pytest.mark.parametrize("gates", [(), (MAX_UNAVAILABLE,)], ids=["usual", "several at once"])
@pytest.mark.parametrize(
    "plan",
    [
        SetPlan(replicas=3),
        SetPlan(replicas=4, unavailable=2, policy="None"),
        SetPlan(replicas=3, unavailable=0, surge=1),
        SetPlan(replicas=1),
    ],
    ids=["one", "two", "surge", "single"],
)
@pytest.mark.parametrize("trouble", [{IMAGE_PULL: "fail"}, {PENDING: "true"}, {HOLD: "true"}], ids=str)
def test_a_rollout_whose_groups_never_become_ready_gives_way_to_the_next(
    gates: tuple[str, ...], plan: SetPlan, trouble: dict[str, str]
) -> None:
    """leaderworker L1: nobody deletes a pod by hand."""

    async def scenario(world: World) -> None:
        assert isinstance(world, GroupedWorld)
        await world.begin_with_sets()
        await world.edit("a", _with(a_template(2, **trouble)))
        await asyncio.sleep(120)
        await world.edit("a", _with(a_template(3, **dict.fromkeys(trouble))))
        await world.finish(600)
        world.check()

    setting = GroupedSetting((), seed=3, feature_gates=gates, sets=(plan,))
    play(setting, scenario, steps=MOST_STEPS, of=GroupedWorld)


def _with(template: Tree) -> Tree:
    return {"spec": {"leaderWorkerTemplate": {"workerTemplate": template}}}
