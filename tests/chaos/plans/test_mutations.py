"""The referee objects when a safety of rollouts is taken away: each story is fine with it, and broken without."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs

from tests.chaos.judge import Broken
from tests.chaos.plans import safeties, stories
from tests.chaos.plans.app_world import world_of
from tests.chaos.plans.safeties import Take
from tests.chaos.plans.stories import Story
from tests.chaos.plans.world import RolledSetting, RolledWorld
from tests.chaos.world import Scenario, World, play, play_once

SEEDS = 5
FIVE = RolledSetting((), leased=True, latency=0.02, lag=0.1)
HOOKED = structs.replace(FIVE, hooked=True)
ROUTED = structs.replace(FIVE, routed=True)
UNREADY = structs.replace(ROUTED, tolerance=5, ready_after=20.0)
MEASURED = structs.replace(FIVE, measured=True)
REVISIONS = structs.replace(FIVE, kind="revisions")
NODES = structs.replace(FIVE, kind="nodes")
CLONES = structs.replace(FIVE, kind="partition", batches=(None,), lag=1.0)

CASES: dict[str, tuple[Take, Story, RolledSetting, str]] = {
    "writes to workloads are bound to a version (R-4)": (
        safeties.writes_bound_to_no_version,
        stories.a_source_scaled_while_a_write_travels,
        FIVE,
        "R-4",
    ),
    "statuses are bound to a version (R-4)": (
        safeties.statuses_bound_to_no_version,
        stories.a_gate_closed_while_a_status_travels,
        FIVE,
        "R-4",
    ),
    "a status of an older spec means nothing (R-4)": (
        safeties.every_status_is_trusted,
        stories.a_template_just_written,
        CLONES,
        "I-3",
    ),
    "a template that is seen late is verified": (
        safeties.never_verified_again,
        stories.a_template_seen_late,
        CLONES,
        "I-3",
    ),
    "claims of others are respected": (safeties.claims_of_others_ignored, stories.two_rollouts, FIVE, "I-6"),
    "drift is not fought": (safeties.drift_ignored, stories.a_target_scaled_at_the_gate, FIVE, "R-21"),
    "new pods are ready before old ones go": (safeties.pods_are_always_ready, stories.a_rollout, FIVE, "I-4"),
    "a batch deletes its own old pods": (safeties.every_old_pod_is_deleted, stories.a_rollout, NODES, "I-3"),
    "pods that were deleted are ready again": (
        safeties.new_pods_of_nodes_are_always_ready,
        stories.a_rollout,
        NODES,
        "I-9",
    ),
    "traffic moves before old pods go": (
        safeties.old_pods_go_before_traffic_moves,
        stories.a_rollout,
        ROUTED,
        "R-32",
    ),
    "requests go where a pod is ready": (safeties.endpoints_not_looked_at, stories.a_rollout, UNREADY, "R-32"),
    "a route is the target's in the end": (safeties.routes_left_shared, stories.a_rollout, ROUTED, "R-32"),
    "metrics are good before a batch passes": (
        safeties.metrics_decide_nothing,
        stories.bad_metrics,
        MEASURED,
        "R-29",
    ),
    "a gate holds": (safeties.the_gate_is_open, stories.a_gate, FIVE, "I-3"),
    "a pause holds": (safeties.pause_ignored, stories.a_pause, FIVE, "I-5"),
    "workloads are written before the status": (safeties.status_before_workloads, stories.writes_that_fail, FIVE, "L"),
    "the finalizer comes first": (safeties.no_finalizer, stories.a_rollout, FIVE, "R-14"),
    "the guard keeps workloads": (
        safeties.no_guard,
        stories.deleted_with_its_finalizer_taken_off,
        FIVE,
        "I-7",
    ),
    "a target is made without pods": (safeties.targets_made_with_pods, stories.another_revision, REVISIONS, "B-3"),
    "pods of no revision are left beside": (
        safeties.pods_beside_ignored,
        stories.a_third_revision_after_an_abort,
        REVISIONS,
        "C-6",
    ),
    "hooks come before their batch": (safeties.hooks_uncalled, stories.hooks_that_refuse, HOOKED, "I-8"),
}


@pytest.mark.parametrize("case", CASES)
def test_without_the_safety_an_invariant_breaks(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of a few orders of what is simultaneous."""
    take, story, setting, invariant = CASES[case]
    play_once(story, setting, started(story), of=world_of(setting))

    with pytest.raises(Broken, match=f"^{invariant} broken"):
        play_in_many_orders(setting, started(story, lambda: take(monkeypatch)))


def play_in_many_orders(setting: RolledSetting, scenario: Scenario) -> None:
    for seed in range(setting.seed, setting.seed + SEEDS):
        play(structs.replace(setting, seed=seed), scenario, of=world_of(setting))


def started(story: Story, before: Callable[[], None] = lambda: None) -> Scenario:
    """The story of workloads that are settled."""

    async def scenario(world: World) -> None:
        assert isinstance(world, RolledWorld)
        await world.settle()
        before()
        await story(world)

    return scenario
