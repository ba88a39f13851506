"""The referee objects when a safety of StatefulSets without a group is taken away, as it does for zones."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from fairlead.contracts.zones.decide.admission import downscale_marks
from tests.chaos.judge import Broken
from tests.chaos.scaled import ALONE, GroupPlan, Scaled, ScaledWorld
from tests.chaos.test_crash_at_every_effect import until_done
from tests.chaos.test_scaled_mutations import (
    Story,
    Take,
    a_guarded_zone_is_scaled,
    a_pod_fails,
    any_reply_is_good,
    dry_runs_taken_for_real,
    label_ignored,
    nothing_noted,
    nothing_undone,
    play_in_many_orders,
    somebody_tries,
    somebody_tries_again_at_once,
    started,
    the_operator_dies_while_pods_prepare,
    undone_after_the_answer,
)
from tests.chaos.world import play
from tests.chaos.zone_plans import ZonePlan

LONER = "loner"
ZONES = (ZonePlan("g", "zone-a", 2),)


def no_mark_of_its_own(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(downscale_marks, "in_progress", lambda *_: "")


async def somebody_tries_again_while_pods_hear_it(world: ScaledWorld) -> None:
    """A pod does not answer in the time of the request, so that it is told of the denial later; then it dawdles."""
    world.pods_called.manners |= {"loner-1": "hanging", "loner-2": "failing"}
    world.begin(world.scaled_by("patch", LONER, 1))
    await asyncio.sleep(7)
    world.pods_called.manners["loner-1"] = "slow"
    await world.idle()
    world.pods_called.manners.clear()
    await until_done(lambda: is_scaled(world), every=0.5)
    await asyncio.sleep(30)


async def is_scaled(world: ScaledWorld) -> bool:
    return await world.scaled_by("patch", LONER, 1) == 200


CASES: dict[str, tuple[Take, Story, str]] = {
    "every pod must prepare": (any_reply_is_good, partial(a_pod_fails, zone=LONER), "S10"),
    "a denial is undone": (nothing_undone, partial(a_pod_fails, zone=LONER), "S11"),
    "undoing comes before the denial": (
        undone_after_the_answer,
        partial(somebody_tries_again_at_once, zone=LONER),
        "B-4",
    ),
    "it has a mark of its own": (no_mark_of_its_own, somebody_tries_again_while_pods_hear_it, "B-4"),
    "who prepares is noted": (nothing_noted, partial(the_operator_dies_while_pods_prepare, zone=LONER), "B-4"),
    "the label guards": (label_ignored, partial(a_guarded_zone_is_scaled, zone=LONER), "S14"),
    "a dry run leaves no trace": (dry_runs_taken_for_real, partial(somebody_tries, zone=LONER), "S13"),
}


@pytest.mark.parametrize("case", CASES)
def test_without_the_safety_an_invariant_breaks(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of a few orders of what is simultaneous."""
    take, story, invariant = CASES[case]
    setting = Scaled(ZONES, groups=(GroupPlan("g", prepares=False),), latency=0.02, loners=(ZonePlan(ALONE, LONER, 3),))
    play(setting, started(story), of=ScaledWorld)

    take(monkeypatch)

    with pytest.raises(Broken, match=f"^{invariant} broken"):
        play_in_many_orders(setting, story)
