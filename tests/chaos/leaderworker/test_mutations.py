"""The referee objects when a safety of groups is taken away: each story is fine with it, and broken without."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import structs

from tests.chaos.judge import Broken
from tests.chaos.leaderworker import safeties, stories
from tests.chaos.leaderworker.facts import NODE_EACH
from tests.chaos.leaderworker.safeties import Take
from tests.chaos.leaderworker.stories import Story
from tests.chaos.leaderworker.world import GroupedSetting, GroupedWorld, SetPlan
from tests.chaos.world import Scenario, World, play, play_once

SEEDS = 20
FOUND_AT = {
    "surge groups stay while others are away": 7,
    "a rollout in a rollout counts who is away": 4,
    "who was told to go is waited for": 2,
    "who has gone is looked for": 4,
    "groups have a node each": 1,
    "who lost the lease writes nothing": 5,
}
"""Seeds to begin with, where the first ones show nothing."""

FOUR = SetPlan("a", replicas=4, size=2)
ALONE = SetPlan("a", replicas=4, size=1)
A_NODE_EACH = SetPlan("a", replicas=4, size=2, annotations=NODE_EACH)
SURGING = SetPlan("a", replicas=4, size=2, unavailable=2, surge=3)

CASES: dict[str, tuple[Take, Story, SetPlan, str]] = {
    "surge groups stay while others are away": (
        safeties.surge_reclaimed_unguarded,
        stories.surge_groups_ready_first,
        SURGING,
        "S1",
    ),
    "a rollout in a rollout counts who is away": (
        safeties.partition_lowered_unguarded,
        stories.a_second_rollout_in_the_middle,
        SURGING,
        "S1",
    ),
    "who was told to go is waited for": (
        safeties.the_controller_is_not_waited_for,
        stories.an_edit_as_the_partition_falls,
        FOUR,
        "S1",
    ),
    "who has gone is looked for": (
        safeties.leaders_as_they_were_seen,
        stories.an_edit_whose_group_goes_unseen,
        FOUR,
        "S1",
    ),
    "a group is ready with its workers": (safeties.all_that_is_ready_counts, stories.a_rollout, FOUR, "S[16]"),
    "a surge is bounded": (safeties.surge_unbounded, stories.a_rollout, FOUR, "S2"),
    "a partition is a person's": (
        safeties.partition_of_a_person_ignored,
        stories.a_rollout_down_to_a_partition,
        FOUR,
        "S3",
    ),
    "leaders are bound to a version": (
        safeties.leaders_bound_to_no_version,
        stories.a_partition_lowered_by_hand_meanwhile,
        FOUR,
        "S3",
    ),
    "groups are made of their own revision": (
        safeties.groups_of_the_live_spec,
        stories.an_old_leader_deleted_in_a_rollout,
        FOUR,
        "S4",
    ),
    "revisions are kept while somebody carries them": (
        safeties.truncated_whoever_carries_it,
        stories.an_orphan_and_a_rollout,
        FOUR,
        "S5",
    ),
    "revisions are kept for groups that are not seen": (
        safeties.truncated_by_the_view_of_pods,
        stories.there_and_back_unseen,
        ALONE,
        "S[56]",
    ),
    "revisions are kept until all is done": (safeties.truncated_before_it_is_done, stories.a_rollout, FOUR, "S[56]"),
    "revisions are reused": (safeties.always_recorded_anew, stories.there_and_back, FOUR, "S7"),
    "a revision comes before its key": (safeties.nothing_recorded_before, stories.a_rollout, FOUR, "S8"),
    "what is there already is not sent": (safeties.every_apply_is_sent, stories.rest, FOUR, "S9"),
    "revisions of others are left alone": (safeties.revisions_of_anybody, stories.a_revision_of_nobody, FOUR, "S10"),
    "leaders of others are left alone": (
        safeties.leaders_of_anybody,
        stories.a_set_replaced_beside_its_leaders,
        FOUR,
        "S10",
    ),
    "pods of others are left alone": (safeties.pods_of_anybody, stories.a_set_replaced_beside_its_leaders, FOUR, "S10"),
    "a deletion is bound to one leader": (
        safeties.deletions_bound_to_no_uid,
        stories.a_leader_replaced_while_its_deletion_travels,
        FOUR,
        "S11",
    ),
    "workers of an earlier leader mean nothing": (safeties.workers_by_name, stories.a_leader_deleted, FOUR, "S11"),
    "the policy is that of the group": (
        safeties.groups_of_the_live_spec,
        stories.another_policy_and_a_failure,
        FOUR,
        "S11",
    ),
    "own deletions are remembered": (
        safeties.own_writes_forgotten,
        stories.a_failure_that_is_not_seen_to_be_mended,
        FOUR,
        "S11",
    ),
    "groups have a node each": (safeties.groups_placed_anywhere, stories.a_rollout, A_NODE_EACH, "exclusive"),
    "conditions exclude one another": (safeties.conditions_exclude_nothing, stories.a_rollout, FOUR, "S13"),
    "recreations are counted": (safeties.recreations_uncounted, stories.a_group_that_always_fails, FOUR, "6.8"),
    "a pause holds": (safeties.pause_ignored, stories.a_pause, FOUR, "pause"),
    "who lost the lease writes nothing": (
        safeties.the_lease_is_not_minded,
        stories.the_leader_stands_still,
        FOUR,
        "lease",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_without_the_safety_an_invariant_breaks(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of a few orders of what is simultaneous."""
    take, story, plan, invariant = CASES[case]
    operators = 2 if story is stories.the_leader_stands_still else 1
    seed = FOUND_AT.get(case, 0)
    lag = 0.0 if story is stories.an_edit_as_the_partition_falls else 0.1
    setting = GroupedSetting((), sets=(plan,), seed=seed, latency=lag / 5, lag=lag, leased=True, operators=operators)
    if plan is A_NODE_EACH:
        setting = structs.replace(setting, nodes=plan.replicas + 1)  # else there are always nodes that nobody is on
    play_once(story, setting, started(story), of=GroupedWorld)

    with pytest.raises(Broken, match=f"^{invariant} broken"):
        play_in_many_orders(setting, started(story, lambda: take(monkeypatch)))


def play_in_many_orders(setting: GroupedSetting, scenario: Scenario) -> None:
    for seed in range(setting.seed, setting.seed + SEEDS):
        play(structs.replace(setting, seed=seed), scenario, of=GroupedWorld)


def started(story: Story, before: Callable[[], None] = lambda: None) -> Scenario:
    """The story of a set that is available."""

    async def scenario(world: World) -> None:
        assert isinstance(world, GroupedWorld)
        await world.begin_with_sets()
        before()
        await story(world)

    return scenario
